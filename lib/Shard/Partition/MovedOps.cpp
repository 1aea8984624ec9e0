//===- MovedOps.cpp - ops whose elements move along dimensions ------------===//

#include "MovedOps.h"
#include "IndexMath.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// How the values of an op lie, while it runs.
class MovedShardings {
public:
  MovedShardings(Partitioner &p, Operation *op) : p(p), op(op), rule(p.ruleOf(op)) {
    for (Value operand : op->getOperands())
      operands.push_back(p.shardingOf(operand));
    for (Value result : op->getResults())
      results.push_back(p.shardingOf(result));
  }

  /// Takes the axes off exchanged dimensions.
  void makeWhole();

  SmallVector<ValueSharding> operands, results;

private:
  struct Place {
    Value value;
    ValueSharding *sharding;
    const SmallVector<DimFactors> *factors;
    bool isResult;
  };
  SmallVector<Place> places();
  /// The dimension that is this factor and no other one, or -1.
  static int64_t findDim(const Place &place, int64_t factor);
  int64_t bytesOf(const Place &place) {
    return byteSizeOf(p.localTypeOf(Partitioner::globalTypeOf(place.value),
                                    *place.sharding));
  }
  /// A parallel factor of every value that has `exchanged`, to be cut over
  /// `members` more ranks; -1 where there is none.
  int64_t findOther(int64_t exchanged, int64_t members);
  void remark(int64_t factor, ArrayRef<StringAttr> axes);

  Partitioner &p;
  Operation *op;
  ShardingRule rule;
};
} // namespace

SmallVector<MovedShardings::Place> MovedShardings::places() {
  SmallVector<Place> list;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    list.push_back({operand, &operands[index], &rule.operands[index], false});
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    list.push_back({result, &results[index], &rule.results[index], true});
  return list;
}

int64_t MovedShardings::findDim(const Place &place, int64_t factor) {
  for (auto [dim, factors] : llvm::enumerate(*place.factors))
    if (factors.size() == 1 && factors[0] == factor)
      return dim;
  return -1;
}

int64_t MovedShardings::findOther(int64_t exchanged, int64_t members) {
  int64_t best = -1, bestSize = 0;
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Parallel)
      continue;
    bool fits = true;
    int64_t size = 0;
    for (const Place &place : places()) {
      int64_t dim = findDim(place, number);
      if (dim < 0) {
        fits &= !place.isResult && findDim(place, exchanged) < 0;
        continue;
      }
      const DimCut &old = place.sharding->dims[dim];
      Cut cut = p.cutOf(Partitioner::globalTypeOf(place.value).getDimSize(dim),
                        old);
      // Blocks within blocks are blocks of the whole where all are equal.
      size = cut.block;
      fits &= old.block == 0 && size % members == 0 && !cut.isUneven();
    }
    if (fits && size > bestSize) {
      best = number;
      bestSize = size;
    }
  }
  return best;
}

void MovedShardings::remark(int64_t factor, ArrayRef<StringAttr> axes) {
  for (auto [index, dims] : llvm::enumerate(rule.operands))
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (llvm::is_contained(factors, factor)) {
        InFlightDiagnostic remark = op->emitRemark("op '");
        remark << op->getName() << "': dimension " << dim << " of operand "
               << index << ", cut over ";
        llvm::interleaveComma(axes, remark, [&](StringAttr axis) {
          remark << "'" << axis.getValue() << "'";
        });
        remark << ", is gathered: its elements move along it, and no other "
                  "dimension is divided by the ranks";
        return;
      }
}

void MovedShardings::makeWhole() {
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Exchanged)
      continue;
    Axes axes, given;
    int64_t gathered = 0, moved = 0, members = 1;
    for (const Place &place : places())
      if (int64_t dim = findDim(place, number); dim >= 0 && axes.empty()) {
        given = place.sharding->dims[dim].axes;
        axes = p.cutting(given);
        members = p.cutOf(1, place.sharding->dims[dim]).blocks;
      }
    if (axes.empty())
      continue;
    for (const Place &place : places()) {
      bool isCut = findDim(place, number) >= 0;
      if (isCut && !place.isResult)
        gathered += bytesOf(place) * (members - 1);
      // A result that lacks the dimension is gathered afterwards.
      if (isCut || place.isResult)
        moved += bytesOf(place) / members * (members - 1);
    }
    int64_t other = findOther(number, members);
    for (const Place &place : places())
      if (int64_t dim = findDim(place, number); dim >= 0)
        place.sharding->dims[dim] = {};
    if (other < 0 || gathered <= moved) {
      if (gathered > 0)
        remark(number, axes);
      continue;
    }
    for (const Place &place : places())
      if (int64_t dim = findDim(place, other); dim >= 0)
        place.sharding->dims[dim].axes.append(given);
  }
}

LogicalResult pipemesh::convertMoved(Partitioner &p, Operation *op,
                                     SmallVector<Value> operands,
                                     BuildMoved build) {
  MovedShardings moved(p, op);
  moved.makeWhole();
  for (auto [value, original, sharding] :
       llvm::zip(operands, op->getOperands(), moved.operands)) {
    const ValueSharding &now = p.shardingOf(original);
    if (now != sharding)
      value = p.reshard(op, value, Partitioner::globalTypeOf(original), now,
                        sharding);
    if (!value)
      return failure();
  }
  SmallVector<Type> types;
  for (auto [result, sharding] : llvm::zip(op->getResults(), moved.results))
    types.push_back(
        p.localTypeOf(Partitioner::globalTypeOf(result), sharding));
  SmallVector<Value> results = build(operands, moved.operands, types);
  for (auto [value, original, sharding] :
       llvm::zip(results, op->getResults(), moved.results)) {
    const ValueSharding &wanted = p.shardingOf(original);
    if (wanted != sharding)
      value = p.reshard(op, value, Partitioner::globalTypeOf(original),
                        sharding, wanted);
    if (!value)
      return failure();
    p.define(original, value);
  }
  return success();
}

LogicalResult pipemesh::convertMovedByCopy(Partitioner &p, Operation *op) {
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](ArrayRef<Value> operands, ArrayRef<ValueSharding>, TypeRange types) {
        return SmallVector<Value>(p.copy(op, operands, types)->getResults());
      });
}

void pipemesh::registerMovedHandlers(OpHandlers &handlers) {
  handlers.add<stablehlo::ReverseOp, convertMovedByCopy>();
  handlers.add<stablehlo::ConcatenateOp, convertMovedByCopy>();
  handlers.add<stablehlo::PadOp, convertMovedByCopy>();
  handlers.add<stablehlo::SortOp, convertMovedByCopy>();
}
