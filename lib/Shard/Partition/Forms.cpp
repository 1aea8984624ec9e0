//===- Forms.cpp - a value under several shardings ------------------------===//
//
// What was gathered for one op is there for the next one, and what an op made
// under another sharding than its result has may be what its users want.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

static constexpr double kNever = std::numeric_limits<double>::infinity();

ValueSharding Partitioner::onlyCutting(RankedTensorType global,
                                       const ValueSharding &sharding) {
  ValueSharding list = sharding;
  for (auto [size, dim] : llvm::zip(global.getShape(), list.dims)) {
    Cut cut = cutOf(size, dim);
    bool isCeiling = cut.axes.empty() ||
                     cut.block == int64_t(llvm::divideCeil(size, cut.blocks));
    dim = {cut.axes, isCeiling ? 0 : cut.block};
  }
  list.partial = cutting(list.partial);
  return list;
}

void Partitioner::keep(Value original, const ValueSharding &sharding,
                       Value value) {
  forms[original].push_back({sharding, value, phase});
}

SmallVector<Partitioner::Form, 2>
Partitioner::formsOf(Value original, const ValueSharding &to) {
  SmallVector<Form, 2> list;
  const ValueSharding &own = shardingOf(original);
  if (Value value = values.lookup(original))
    list.push_back({own, value, phase});
  auto found = forms.find(original);
  if (found == forms.end())
    return list;
  // Padding that counts as zero is zero in the own form, and where a slice
  // makes it.
  ArrayRef<int64_t> shape = globalTypeOf(original).getShape();
  auto keepsPadding = [&](const Form &form) {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (cutOf(shape[dim], to.dims[dim]).isUneven() &&
          !cutting(form.sharding.dims[dim].axes).empty() &&
          form.sharding.dims[dim] != own.dims[dim])
        return false;
    return true;
  };
  Region *here = builder.getInsertionBlock()->getParent();
  for (const Form &form : found->second)
    if (form.phase == phase &&
        Value(form.value).getParentRegion()->isAncestor(here) &&
        keepsPadding(form))
      list.push_back(form);
  return list;
}

double Partitioner::secondsBetween(RankedTensorType global,
                                   const ValueSharding &from,
                                   const ValueSharding &to) {
  ValueSharding source = onlyCutting(global, from),
                target = onlyCutting(global, to);
  if (source == target)
    return 0;
  std::string error;
  auto steps = reshards.find(global, source, target, error);
  return failed(steps) ? kNever : secondsOf(**steps);
}

/// Every rank can make a constant itself, whole.
static bool isGenerated(Value original, const ValueSharding &to) {
  return to.partial.empty() &&
         isa_and_nonnull<stablehlo::ConstantOp, stablehlo::IotaOp>(
             original.getDefiningOp());
}

Value Partitioner::bring(Operation *op, Value original,
                         const ValueSharding &to) {
  RankedTensorType type = globalTypeOf(original);
  if (isGenerated(original, to) &&
      secondsBetween(type, shardingOf(original), to) > 0) {
    SmallVector<Cut> cuts;
    for (auto [size, dim] : llvm::zip(type.getShape(), to.dims))
      cuts.push_back(cutOf(size, dim));
    Operation *made = copy(original.getDefiningOp(), {}, type);
    return sliceBlock(op->getLoc(), made->getResult(0), cuts);
  }
  SmallVector<Form, 2> list = formsOf(original, to);
  // Nothing reads it as it is, and of what there is the padding is lost.
  bool isGarbage = list.empty();
  if (isGarbage) {
    Region *here = builder.getInsertionBlock()->getParent();
    for (const Form &form : forms.lookup(original))
      if (Value(form.value).getParentRegion()->isAncestor(here))
        list.push_back(form);
  }
  const Form *best = &list.front();
  if (list.size() > 1) {
    double least = kNever;
    for (const Form &form : list)
      if (double seconds = secondsBetween(type, form.sharding, to);
          seconds < least) {
        least = seconds;
        best = &form;
      }
  }
  Value value = reshard(op, best->value, type, best->sharding, to);
  for (unsigned dim = 0; value && isGarbage && dim < to.dims.size(); ++dim)
    if (Cut cut = cutOf(type.getDimSize(dim), to.dims[dim]); cut.isUneven())
      value = mask(op->getLoc(), value, dim, cut, ReductionKind::Sum);
  if (value && value != best->value)
    keep(original, to, value);
  return value;
}

double Partitioner::secondsToBring(Operation *op, Value original,
                                   const ValueSharding &to) {
  if (isGenerated(original, to))
    return 0;
  RankedTensorType type = globalTypeOf(original);
  ValueSharding target = onlyCutting(type, to);
  for (Operation *user : original.getUsers())
    if (auto reshard = dyn_cast<pm::ReshardOp>(user))
      if (user->getBlock() == op->getBlock() &&
          onlyCutting(type, ValueSharding(reshard.getTarget())) == target)
        return 0;
  double least = kNever;
  for (const Form &form : formsOf(original, to))
    least = std::min(least, secondsBetween(type, form.sharding, to));
  return least;
}

bool Partitioner::isReadAsItIs(Value original) {
  return llvm::any_of(original.getUsers(), [&](Operation *user) {
    return !isa<pm::ReshardOp>(user) || user->hasAttr(pm::kPhaseAttr) ||
           user->getBlock() != original.getParentBlock();
  });
}

double Partitioner::secondsToUsers(Value original, const ValueSharding &made) {
  RankedTensorType type = globalTypeOf(original);
  SmallVector<ValueSharding, 2> wanted;
  if (isReadAsItIs(original))
    wanted.push_back(onlyCutting(type, shardingOf(original)));
  for (Operation *user : original.getUsers())
    if (auto reshard = dyn_cast<pm::ReshardOp>(user)) {
      ValueSharding target =
          onlyCutting(type, ValueSharding(reshard.getTarget()));
      if (!llvm::is_contained(wanted, target))
        wanted.push_back(target);
    }
  double seconds = 0;
  for (const ValueSharding &sharding : wanted)
    seconds += secondsBetween(type, made, sharding);
  return seconds;
}
