//===- ShardingAlgebra.cpp - shardings under an op's rule -----------------===//

#include "ShardingAlgebra.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "mlir/IR/Matchers.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/SmallSet.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

MeshAxes::MeshAxes(pm::MeshOp mesh)
    : name(FlatSymbolRefAttr::get(mesh.getSymNameAttr())) {
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    info[axis.getName()] = axis;
    order.push_back(axis.getName());
  }
  auto places = pm::placeMesh(mesh);
  if (!places)
    llvm::consumeError(places.takeError()); // pm-verify-sharded tells.
  else
    for (auto [axis, place] : llvm::zip(order, *places))
      links[axis] = place.link;
}

int64_t MeshAxes::sizeOf(StringAttr axis) const {
  auto found = info.find(axis);
  return found == info.end() ? 1 : found->second.getSize();
}

bool MeshAxes::isTemporal(StringAttr axis) const {
  auto found = info.find(axis);
  return found != info.end() &&
         found->second.getKind() == pm::AxisKind::Temporal;
}

bool MeshAxes::isStage(StringAttr axis) const {
  auto found = info.find(axis);
  return found != info.end() && found->second.getKind() == pm::AxisKind::Stage;
}

ValueSharding::ValueSharding(pm::ShardingAttr attr)
    : partial(attr.getPartialAxes()), kind(attr.getPartialKind()) {
  for (pm::DimShardingAttr dim : attr.getDims())
    dims.push_back({Axes(dim.getAxes()), dim.getBlockSize()});
}

pm::ShardingAttr ValueSharding::toAttr(const MeshAxes &mesh) const {
  MLIRContext *context = mesh.symbol().getContext();
  SmallVector<pm::DimShardingAttr> attrs;
  for (const DimCut &dim : dims)
    attrs.push_back(pm::DimShardingAttr::get(context, dim.axes, /*open=*/false,
                                             /*priority=*/0, dim.block));
  return pm::ShardingAttr::get(context, mesh.symbol(), attrs, partial,
                               partial.empty() ? pm::ReductionKind::Sum : kind);
}

int64_t pipemesh::byteSizeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  Type element = tensor.getElementType();
  int64_t bits = 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  return tensor.getNumElements() * ((bits + 7) / 8);
}

bool pipemesh::isKnownZero(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
            stablehlo::ConvertOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    Attribute constant;
    if (!matchPattern(op, m_Constant(&constant)))
      return false;
    auto elements = dyn_cast<DenseElementsAttr>(constant);
    if (!elements || !elements.isSplat())
      return false;
    if (isa<FloatType>(elements.getElementType()))
      return elements.getSplatValue<APFloat>().isZero();
    if (isa<IntegerType>(elements.getElementType()))
      return elements.getSplatValue<APInt>().isZero();
    return false;
  }
}

ShardingRule pipemesh::getRule(Operation *op, bool &hasRule) {
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = interface.getShardingRule();
    if (!rule.empty()) {
      hasRule = true;
      return rule;
    }
  }
  hasRule = false;
  ShardingRule rule;
  auto replicate = [](TypeRange types) {
    SmallVector<SmallVector<DimFactors>> lists;
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      lists.emplace_back(tensor ? tensor.getRank() : 0);
    }
    return lists;
  };
  rule.operands = replicate(op->getOperandTypes());
  rule.results = replicate(op->getResultTypes());
  return rule;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static bool isPrefix(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return a.size() <= b.size() && a == b.take_front(a.size());
}

static int64_t productOf(ArrayRef<StringAttr> axes, const MeshAxes &mesh) {
  int64_t product = 1;
  for (StringAttr axis : axes)
    product *= mesh.sizeOf(axis);
  return product;
}

static bool anyTemporal(ArrayRef<StringAttr> axes, const MeshAxes &mesh) {
  return llvm::any_of(axes, [&](StringAttr a) { return mesh.isTemporal(a); });
}

namespace {
/// What the values of an op say about one factor.
struct Candidate {
  Axes axes;
  int64_t bytes;
};
} // namespace

/// The factors that are a dimension by themselves wherever they occur: these
/// may be cut unevenly, since the pieces are the same elements in every value.
static SmallVector<bool> findUnmerged(const ShardingRule &rule) {
  SmallVector<bool> unmerged(rule.factors.size(), true);
  for (const auto *values : {&rule.operands, &rule.results})
    for (const SmallVector<DimFactors> &dims : *values)
      for (const DimFactors &dim : dims)
        if (dim.size() > 1)
          for (int64_t factor : dim)
            unmerged[factor] = false;
  return unmerged;
}

/// Reads the axes of a dimension as axes of its factors, as far as they divide;
/// an unmerged factor need not be divided, as long as no piece is in time.
static void readDim(ArrayRef<StringAttr> axes, ArrayRef<int64_t> dimFactors,
                    const ShardingRule &rule, ArrayRef<bool> unmerged,
                    const MeshAxes &mesh, int64_t bytes,
                    MutableArrayRef<SmallVector<Candidate, 4>> candidates) {
  if (axes.empty() || dimFactors.empty())
    return;
  bool mayBeUneven =
      unmerged[dimFactors[0]] &&
      productOf(axes, mesh) <= rule.factors[dimFactors[0]].size &&
      !anyTemporal(axes, mesh);
  unsigned position = 0;
  int64_t rest = rule.factors[dimFactors[0]].size;
  SmallVector<Axes> found(dimFactors.size());
  for (StringAttr axis : axes) {
    int64_t size = mesh.sizeOf(axis);
    while (size > 1 && rest == 1 && position + 1 < dimFactors.size())
      rest = rule.factors[dimFactors[++position]].size;
    if (mayBeUneven) {
      found[position].push_back(axis);
      continue;
    }
    if (rest % size != 0)
      break;
    rest /= size;
    found[position].push_back(axis);
  }
  for (auto [factor, list] : llvm::zip(dimFactors, found))
    if (!list.empty() &&
        rule.factors[factor].kind != FactorKind::NeedsReplication)
      candidates[factor].push_back({list, bytes});
}

/// The candidate that most bytes agree with, extended as far as all of these
/// agree. One in time comes before others: micro-batches cannot be gathered.
static Candidate choose(ArrayRef<Candidate> candidates, const MeshAxes &mesh) {
  Candidate best{{}, -1};
  bool isBestInTime = false;
  for (const Candidate &candidate : candidates) {
    bool isInTime = anyTemporal(candidate.axes, mesh);
    if (isBestInTime && !isInTime)
      continue;
    if (isInTime && !isBestInTime)
      best = {{}, -1};
    isBestInTime = isInTime;
    int64_t bytes = 0;
    for (const Candidate &other : candidates)
      if (isPrefix(other.axes, candidate.axes) ||
          isPrefix(candidate.axes, other.axes))
        bytes += other.bytes;
    if (bytes > best.bytes ||
        (bytes == best.bytes && candidate.axes.size() > best.axes.size() &&
         isPrefix(best.axes, candidate.axes)))
      best = {candidate.axes, bytes};
  }
  return best;
}

SmallVector<DimCut> pipemesh::dimsOfFactors(ArrayRef<DimFactors> dims,
                                          const ShardingRule &rule,
                                          const FactorAxes &factors,
                                          const MeshAxes &mesh) {
  SmallVector<DimCut> result;
  for (const DimFactors &dim : dims) {
    Axes &axes = result.emplace_back().axes;
    for (int64_t factor : dim) {
      axes.append(factors[factor]);
      if (productOf(factors[factor], mesh) != rule.factors[factor].size)
        break;
    }
  }
  return result;
}

/// Drops the axes of minor factors whose major neighbours are not wholly cut.
/// Returns whether any was dropped.
static bool dropInexpressible(ArrayRef<SmallVector<DimFactors>> values,
                              const ShardingRule &rule, const MeshAxes &mesh,
                              FactorAxes &factors) {
  bool dropped = false;
  for (const SmallVector<DimFactors> &dims : values)
    for (const DimFactors &dim : dims) {
      bool whole = true;
      for (int64_t factor : dim) {
        if (!whole && !factors[factor].empty()) {
          factors[factor].clear();
          dropped = true;
        }
        whole &= productOf(factors[factor], mesh) == rule.factors[factor].size;
      }
    }
  return dropped;
}

FactorAxes pipemesh::chooseFactorAxes(Operation *op, const ShardingRule &rule,
                                      const MeshAxes &mesh,
                                      ArrayRef<const ValueSharding *> operands,
                                      ArrayRef<const ValueSharding *> results,
                                      const FactorAxes &bound) {
  SmallVector<SmallVector<Candidate, 4>> candidates(rule.factors.size());
  SmallVector<bool> unmerged = findUnmerged(rule);
  auto read = [&](ArrayRef<const ValueSharding *> values,
                  ArrayRef<SmallVector<DimFactors>> dims, TypeRange types) {
    for (unsigned index = 0; index < values.size(); ++index)
      for (unsigned dim = 0; dim < values[index]->dims.size(); ++dim)
        readDim(values[index]->dims[dim].axes, dims[index][dim], rule, unmerged,
                mesh, byteSizeOf(types[index]), candidates);
  };
  read(operands, rule.operands, op->getOperandTypes());
  read(results, rule.results, op->getResultTypes());

  FactorAxes factors(rule.factors.size());
  // (not in time, -bytes, factor)
  SmallVector<std::tuple<bool, int64_t, int64_t>> order;
  for (auto [factor, list] : llvm::enumerate(candidates)) {
    Candidate best{{}, -1};
    if (!bound.empty() && !bound[factor].empty()) {
      llvm::erase_if(list, [&, &own = bound[factor]](const Candidate &other) {
        return !isPrefix(own, other.axes);
      });
      best = {bound[factor], std::numeric_limits<int64_t>::max()};
      if (!list.empty())
        best.axes = choose(list, mesh).axes;
    } else if (!list.empty()) {
      best = choose(list, mesh);
    } else {
      continue;
    }
    factors[factor] = best.axes;
    order.emplace_back(!anyTemporal(best.axes, mesh), -best.bytes, factor);
  }
  // An axis cuts one factor: one in time, then the one that more bytes ask for.
  llvm::sort(order);
  llvm::SmallDenseSet<StringAttr, 4> used;
  for (auto [isInSpace, bytes, factor] : order) {
    Axes &axes = factors[factor];
    for (unsigned index = 0; index < axes.size(); ++index)
      if (!used.insert(axes[index]).second) {
        axes.truncate(index);
        break;
      }
  }
  while (dropInexpressible(rule.operands, rule, mesh, factors) ||
         dropInexpressible(rule.results, rule, mesh, factors)) {
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// Partial values
//===----------------------------------------------------------------------===//

/// Whether the operands that are partial over `axis` are those of one linear
/// set; an operand of the set that is zero counts as partial over anything.
static bool mayFlow(Operation *op, const ShardingRule &rule, StringAttr axis,
                    ArrayRef<const ValueSharding *> operands) {
  auto isPartial = [&](unsigned index) {
    return llvm::is_contained(operands[index]->partial, axis);
  };
  for (unsigned index = 0; index < operands.size(); ++index)
    if (isPartial(index) && operands[index]->kind != pm::ReductionKind::Sum)
      return false;
  if (isSeeded(Fault::PartialNonlinear))
    return true;
  return llvm::any_of(rule.linearSets, [&](ArrayRef<unsigned> set) {
    for (unsigned index = 0; index < operands.size(); ++index)
      if (isPartial(index) && !llvm::is_contained(set, index))
        return false;
    return llvm::all_of(set, [&](unsigned index) {
      return isSeeded(Fault::PartialProduct) || isPartial(index) || isKnownZero(op->getOperand(index));
    });
  });
}

static pm::ReductionKind toPM(ReductionKind kind) {
  return static_cast<pm::ReductionKind>(kind);
}

static bool containsFactor(ArrayRef<DimFactors> dims, int64_t factor) {
  return llvm::any_of(dims, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

OpShardings pipemesh::inferOpShardings(
    Operation *op, const ShardingRule &rule, const FactorAxes &factors,
    const MeshAxes &mesh, ArrayRef<const ValueSharding *> operands,
    llvm::function_ref<bool(unsigned, StringAttr)> isBlocked) {
  llvm::SmallDenseSet<StringAttr, 4> used;
  pm::ReductionKind kind = pm::ReductionKind::Sum;
  for (auto [factor, axes] : llvm::zip(rule.factors, factors)) {
    used.insert(axes.begin(), axes.end());
    if (factor.kind == FactorKind::Reduction && !axes.empty())
      kind = toPM(factor.reduction);
  }

  Axes flows;
  if (kind == pm::ReductionKind::Sum)
    for (StringAttr axis : mesh.all()) {
      bool anyPartial = false, anyBlocked = false;
      for (auto [index, operand] : llvm::enumerate(operands))
        if (llvm::is_contained(operand->partial, axis)) {
          anyPartial = true;
          anyBlocked |= isBlocked(index, axis);
        }
      if (anyPartial && !anyBlocked && !used.contains(axis) &&
          mayFlow(op, rule, axis, operands))
        flows.push_back(axis);
    }

  OpShardings shardings;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    ValueSharding &needed = shardings.operands.emplace_back();
    needed.dims = dimsOfFactors(rule.operands[index], rule, factors, mesh);
    for (StringAttr axis : operand->partial)
      if (llvm::is_contained(flows, axis))
        needed.partial.push_back(axis);
    needed.kind = operand->kind;
  }
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    ValueSharding &given = shardings.results.emplace_back();
    given.dims = dimsOfFactors(rule.results[index], rule, factors, mesh);
    // Each result is partial over the summed factors that it does not contain.
    llvm::SmallDenseSet<StringAttr, 4> made;
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Reduction &&
          !containsFactor(rule.results[index], number))
        made.insert(factors[number].begin(), factors[number].end());
    for (StringAttr axis : mesh.all())
      if (made.contains(axis) || llvm::is_contained(flows, axis))
        given.partial.push_back(axis);
    given.kind = kind;
  }
  return shardings;
}
