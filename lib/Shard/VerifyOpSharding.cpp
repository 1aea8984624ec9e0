//===- VerifyOpSharding.cpp - does a sharded op follow its rule -----------===//

#include "VerifyOpSharding.h"

using namespace mlir;
using namespace pipemesh;

static Axes cuttingAxes(ArrayRef<StringAttr> axes, const MeshAxes &mesh) {
  Axes list(axes);
  llvm::erase_if(list, [&](StringAttr a) { return mesh.sizeOf(a) == 1; });
  return list;
}

bool pipemesh::lieAlike(const ValueSharding &a, const ValueSharding &b,
                        const MeshAxes &mesh) {
  if (a.dims.size() != b.dims.size())
    return false;
  for (auto [x, y] : llvm::zip(a.dims, b.dims)) {
    Axes axes = cuttingAxes(x.axes, mesh);
    if (axes != cuttingAxes(y.axes, mesh) ||
        (!axes.empty() && x.block != y.block))
      return false;
  }
  Axes partial = cuttingAxes(a.partial, mesh);
  return partial == cuttingAxes(b.partial, mesh) &&
         (partial.empty() || a.kind == b.kind);
}

namespace {
/// How one factor is cut: member i has the elements from i * block on.
struct FactorCut {
  Axes axes;
  int64_t block = 0;

  bool operator==(const FactorCut &other) const {
    return axes == other.axes && (axes.empty() || block == other.block);
  }
};

class OpCheck {
public:
  OpCheck(Operation *op, const MeshAxes &mesh,
          ArrayRef<const ValueSharding *> operands,
          ArrayRef<const ValueSharding *> results)
      : op(op), mesh(mesh), operands(operands), results(results) {
    bool hasRule;
    rule = getRule(op, hasRule);
    rule.operands.resize(operands.size());
    rule.results.resize(results.size());
    cuts.resize(rule.factors.size());
  }

  LogicalResult run();

private:
  bool readDim(const DimCut &dim, ArrayRef<int64_t> factors, int64_t size,
               SmallVectorImpl<std::pair<int64_t, FactorCut>> &found) const;
  void decide(Type type, const ValueSharding &sharding,
              ArrayRef<DimFactors> dims);
  DimCut dimOf(ArrayRef<int64_t> factors, int64_t size) const;
  ValueSharding wantedOf(Type type, ArrayRef<DimFactors> dims) const;
  bool mayFlow(StringAttr axis) const;
  int64_t piecesOf(ArrayRef<StringAttr> axes) const {
    int64_t pieces = 1;
    for (StringAttr axis : axes)
      pieces *= mesh.sizeOf(axis);
    return pieces;
  }

  Operation *op;
  const MeshAxes &mesh;
  ArrayRef<const ValueSharding *> operands, results;
  ShardingRule rule;
  SmallVector<std::optional<FactorCut>> cuts;
};
} // namespace

/// Reads a dimension as cuts of its factors; false where it is none.
bool OpCheck::readDim(
    const DimCut &dim, ArrayRef<int64_t> factors, int64_t size,
    SmallVectorImpl<std::pair<int64_t, FactorCut>> &found) const {
  Axes axes = cuttingAxes(dim.axes, mesh);
  for (int64_t factor : factors)
    found.push_back({factor, FactorCut()});
  if (axes.empty())
    return true;
  int64_t block = dim.block ? dim.block
                            : llvm::divideCeil(size, piecesOf(axes));
  int64_t inner = size;
  unsigned next = 0;
  for (auto &[factor, cut] : found) {
    int64_t own = rule.factors[factor].size;
    // Sizes of an exchanged factor may differ: each has its own blocks, and
    // those of another size tell nothing of them.
    if (found.size() == 1 && own != size) {
      cut = {axes, dim.block ? dim.block : -1};
      return true;
    }
    inner = own == 0 ? 0 : inner / own;
    ArrayRef<StringAttr> rest = ArrayRef(axes).drop_front(next);
    if (rest.empty())
      return true;
    // Blocks of whole elements of this factor: the rest of the axes cut it.
    if ((own != 1 || found.size() == 1) &&
        (inner > 0 || found.size() == 1) &&
        (inner == 0 || block % inner == 0)) {
      inner = std::max<int64_t>(1, inner);
      cut = {Axes(rest), block / inner};
      return true;
    }
    // Else it must be cut into its elements.
    int64_t pieces = 1;
    while (next < axes.size() && pieces < own) {
      pieces *= mesh.sizeOf(axes[next]);
      cut.axes.push_back(axes[next++]);
    }
    cut.block = 1;
    if (pieces != own)
      return false;
  }
  return next == axes.size();
}

/// The first value that tells of a factor decides what the others must be.
void OpCheck::decide(Type type, const ValueSharding &sharding,
                     ArrayRef<DimFactors> dims) {
  auto tensor = cast<RankedTensorType>(type);
  for (auto [number, factors] : llvm::enumerate(dims)) {
    SmallVector<std::pair<int64_t, FactorCut>, 4> found;
    if (!readDim(sharding.dims[number], factors, tensor.getDimSize(number),
                 found))
      continue;
    for (auto &[factor, cut] : found)
      if (!cuts[factor] ||
          (cuts[factor]->block < 0 && cuts[factor]->axes == cut.axes))
        cuts[factor] = cut;
  }
}

/// The cut of a dimension whose factors are cut as decided.
DimCut OpCheck::dimOf(ArrayRef<int64_t> factors, int64_t size) const {
  DimCut dim;
  int64_t block = size;
  bool isOpen = true;
  for (int64_t factor : factors) {
    int64_t own = rule.factors[factor].size;
    if (!isOpen || !cuts[factor])
      break;
    const FactorCut &cut = *cuts[factor];
    if (factors.size() == 1 && own != size) {
      dim.axes = cut.axes;
      return dim;
    }
    dim.axes.append(cut.axes);
    if (!cut.axes.empty())
      block = own == 0 ? 0 : block / own * cut.block;
    else if (own != 1)
      isOpen = false;
    isOpen &= piecesOf(cut.axes) == own && (cut.axes.empty() || cut.block == 1);
  }
  if (!dim.axes.empty() && block != static_cast<int64_t>(llvm::divideCeil(
                                        size, piecesOf(dim.axes))))
    dim.block = block;
  return dim;
}

ValueSharding OpCheck::wantedOf(Type type, ArrayRef<DimFactors> dims) const {
  auto tensor = cast<RankedTensorType>(type);
  ValueSharding wanted(tensor.getRank());
  for (auto [number, factors] : llvm::enumerate(dims))
    wanted.dims[number] = dimOf(factors, tensor.getDimSize(number));
  return wanted;
}

/// Whether exactly the operands of one linear set are partial sums over the
/// axis; a zero counts as one.
bool OpCheck::mayFlow(StringAttr axis) const {
  auto isPartial = [&](unsigned index) {
    return llvm::is_contained(operands[index]->partial, axis);
  };
  for (unsigned index = 0; index < operands.size(); ++index)
    if (isPartial(index) && operands[index]->kind != pm::ReductionKind::Sum)
      return false;
  return llvm::any_of(rule.linearSets, [&](ArrayRef<unsigned> set) {
    for (unsigned index = 0; index < operands.size(); ++index) {
      bool isMember = llvm::is_contained(set, index);
      if (isPartial(index) != isMember &&
          !(isMember && isKnownZero(op->getOperand(index))))
        return false;
    }
    return true;
  });
}

LogicalResult OpCheck::run() {
  for (auto [index, sharding] : llvm::enumerate(results))
    decide(op->getResult(index).getType(), *sharding, rule.results[index]);
  for (auto [index, sharding] : llvm::enumerate(operands))
    decide(op->getOperand(index).getType(), *sharding, rule.operands[index]);
  llvm::SmallDenseMap<StringAttr, int64_t, 4> used;
  pm::ReductionKind kind = pm::ReductionKind::Sum;
  for (auto [number, cut] : llvm::enumerate(cuts)) {
    if (!cut)
      cut = FactorCut();
    const Factor &factor = rule.factors[number];
    if (cut->block < 0)
      cut->block = llvm::divideCeil(factor.size, piecesOf(cut->axes));
    if (factor.kind == FactorKind::NeedsReplication)
      cut = FactorCut();
    for (StringAttr axis : cut->axes)
      if (!used.try_emplace(axis, number).second)
        return op->emitError("axis '")
               << axis.getValue()
               << "' cuts two dimensions that the op keeps apart";
    if (factor.kind == FactorKind::Reduction && !cut->axes.empty())
      kind = static_cast<pm::ReductionKind>(factor.reduction);
  }
  Axes flows;
  for (auto [index, sharding] : llvm::enumerate(operands)) {
    ValueSharding wanted =
        wantedOf(op->getOperand(index).getType(), rule.operands[index]);
    wanted.kind = sharding->kind;
    for (StringAttr axis : sharding->partial) {
      if (mesh.sizeOf(axis) > 1 &&
          (used.count(axis) || kind != pm::ReductionKind::Sum ||
           !mayFlow(axis)))
        continue;
      wanted.partial.push_back(axis);
      if (!llvm::is_contained(flows, axis))
        flows.push_back(axis);
    }
    if (!lieAlike(*sharding, wanted, mesh))
      return op->emitError("operand ")
             << index << " is " << sharding->toAttr(mesh)
             << ", but the op needs " << wanted.toAttr(mesh)
             << "; a pm.reshard must stand between";
  }
  for (auto [index, sharding] : llvm::enumerate(results)) {
    ValueSharding made =
        wantedOf(op->getResult(index).getType(), rule.results[index]);
    made.kind = kind;
    for (StringAttr axis : mesh.all()) {
      auto place = used.find(axis);
      bool isSummed =
          place != used.end() &&
          rule.factors[place->second].kind == FactorKind::Reduction &&
          llvm::none_of(rule.results[index], [&](const DimFactors &dim) {
            return llvm::is_contained(dim, place->second);
          });
      if (isSummed || llvm::is_contained(flows, axis))
        made.partial.push_back(axis);
    }
    if (!lieAlike(*sharding, made, mesh))
      return op->emitError("result ")
             << index << " is " << sharding->toAttr(mesh)
             << ", but the op makes " << made.toAttr(mesh);
  }
  return success();
}

LogicalResult
pipemesh::verifyOpSharding(Operation *op, const MeshAxes &mesh,
                           ArrayRef<const ValueSharding *> operands,
                           ArrayRef<const ValueSharding *> results) {
  return OpCheck(op, mesh, operands, results).run();
}
