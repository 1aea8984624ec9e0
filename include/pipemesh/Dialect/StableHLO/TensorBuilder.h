//===- TensorBuilder.h - short names for building stablehlo -----*- C++ -*-===//
//
// Used where a computation is written out by hand: the decompositions of fused
// ops, gradients, the loss.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_DIALECT_STABLEHLO_TENSORBUILDER_H
#define PIPEMESH_DIALECT_STABLEHLO_TENSORBUILDER_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh::stablehlo {

class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  using Value = mlir::Value;

  static mlir::RankedTensorType typeOf(Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static llvm::ArrayRef<int64_t> shapeOf(Value value) {
    return typeOf(value).getShape();
  }

  Value add(Value a, Value b) { return binary<AddOp>(a, b); }
  Value sub(Value a, Value b) { return binary<SubtractOp>(a, b); }
  Value mul(Value a, Value b) { return binary<MulOp>(a, b); }
  Value div(Value a, Value b) { return binary<DivOp>(a, b); }
  Value max(Value a, Value b) { return binary<MaxOp>(a, b); }
  Value min(Value a, Value b) { return binary<MinOp>(a, b); }
  Value pow(Value a, Value b) { return binary<PowOp>(a, b); }
  Value neg(Value a) { return NegOp::create(builder, loc, a); }
  Value exp(Value a) { return ExpOp::create(builder, loc, a); }
  Value log(Value a) { return LogOp::create(builder, loc, a); }
  Value sqrt(Value a) { return SqrtOp::create(builder, loc, a); }
  Value rsqrt(Value a) { return RsqrtOp::create(builder, loc, a); }

  /// A rank-0 constant of the element type.
  Value scalar(double value, mlir::Type elementType);
  /// A constant of the type of `like`, every element `value`.
  Value splat(double value, Value like);
  /// A splat constant of this type.
  Value splat(double value, mlir::RankedTensorType type);

  /// Dimension i of `value` becomes dimension dims[i] of the result.
  Value broadcast(Value value, llvm::ArrayRef<int64_t> dims,
                  llvm::ArrayRef<int64_t> shape);
  /// Broadcasts along new trailing dimensions up to `like`'s shape.
  Value broadcastLeading(Value value, Value like);
  /// Broadcasts along new leading dimensions up to `like`'s shape.
  Value broadcastTrailing(Value value, Value like);

  Value reduceSum(Value value, llvm::ArrayRef<int64_t> dims);
  Value reduceMax(Value value, llvm::ArrayRef<int64_t> dims);
  /// Sum over the last dimension divided by its size.
  Value meanLast(Value value);
  Value sumLast(Value value) {
    return reduceSum(value, {typeOf(value).getRank() - 1});
  }

  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);
  Value transpose(Value value, llvm::ArrayRef<int64_t> permutation);
  Value slice(Value value, int64_t dim, int64_t start, int64_t limit);
  Value concat(llvm::ArrayRef<Value> values, int64_t dim);
  Value convert(Value value, mlir::Type elementType);
  Value compare(Value a, Value b, ComparisonDirection direction);
  Value select(Value predicate, Value onTrue, Value onFalse);
  Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
             int64_t dim);
  Value dot(Value lhs, Value rhs, llvm::ArrayRef<int64_t> lhsBatching,
            llvm::ArrayRef<int64_t> rhsBatching,
            llvm::ArrayRef<int64_t> lhsContracting,
            llvm::ArrayRef<int64_t> rhsContracting);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }
};

} // namespace pipemesh::stablehlo

#endif // PIPEMESH_DIALECT_STABLEHLO_TENSORBUILDER_H
