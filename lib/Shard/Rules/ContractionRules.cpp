//===- ContractionRules.cpp - sharding rules of dot_general and reduce ----===//

#include "Monoids.h"
#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <optional>

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// b, m, n parallel, k summed; linear in either side.
static ShardingRule dotGeneral(DotGeneralOp op) {
  RuleBuilder builder(op);
  DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs());
  ArrayRef<int64_t> rhsShape = shapeOf(op.getRhs());
  unsigned out = 0;
  for (auto [lhs, rhs] : llvm::zip(dims.getLhsBatchingDimensions(),
                                   dims.getRhsBatchingDimensions())) {
    int64_t factor = builder.parallel(lhsShape[lhs]);
    builder.operand(0, lhs, factor).operand(1, rhs, factor);
    builder.result(0, out++, factor);
  }
  for (auto [lhs, rhs] : llvm::zip(dims.getLhsContractingDimensions(),
                                   dims.getRhsContractingDimensions())) {
    int64_t factor = builder.reduction(lhsShape[lhs]);
    builder.operand(0, lhs, factor).operand(1, rhs, factor);
  }
  auto free = [&](unsigned operand, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (llvm::is_contained(batching, dim) ||
          llvm::is_contained(contracting, dim))
        continue;
      int64_t factor = builder.parallel(size);
      builder.operand(operand, dim, factor).result(0, out++, factor);
    }
  };
  free(0, lhsShape, dims.getLhsBatchingDimensions(),
       dims.getLhsContractingDimensions());
  free(1, rhsShape, dims.getRhsBatchingDimensions(),
       dims.getRhsContractingDimensions());
  builder.linear({0}).linear({1});
  return builder.take();
}

/// How partial results are joined, where a collective can and the initial value
/// is neutral: each shard starts from it, so any other would be counted once for
/// each of them.
static std::optional<ReductionKind> getPartialKind(ReduceOp op) {
  Operation *body = getAppliedOp(op.getBody());
  if (op.getInputs().size() != 1 || !body ||
      !isNeutral(op.getInitValues()[0], body))
    return std::nullopt;
  return getMonoidKind(body, elementOf(op.getInputs()[0]));
}

/// A reduction whose results cannot be joined by a collective (the pairs of an
/// argmax) gathers them, and reduces them again.
static ShardingRule reduce(ReduceOp op) {
  RuleBuilder builder(op);
  std::optional<ReductionKind> kind = getPartialKind(op);
  unsigned inputs = op.getInputs().size();
  unsigned out = 0;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getInputs()[0]))) {
    bool reduced = llvm::is_contained(op.getDimensions(), dim);
    int64_t factor = !reduced ? builder.parallel(size)
                     : kind   ? builder.reduction(size, *kind)
                              : builder.exchanged(size);
    for (unsigned index = 0; index < inputs; ++index) {
      builder.operand(index, dim, factor);
      if (!reduced)
        builder.result(index, out, factor);
    }
    out += !reduced;
  }
  if (kind == ReductionKind::Sum)
    builder.linear({0});
  return builder.take();
}

void pipemesh::attachContractionRules(MLIRContext *context) {
  attachRule<DotGeneralOp, dotGeneral>(context);
  attachRule<ReduceOp, reduce>(context);
}
