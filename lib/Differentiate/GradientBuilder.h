//===- GradientBuilder.h - builds small tidy gradients ----------*- C++ -*-===//
//
// Gradients are full of factors of one, sums of what was just broadcast, and
// zeros. The functions here leave them out when they are built, so that no
// later pass has to find them.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_DIFFERENTIATE_GRADIENTBUILDER_H
#define PIPEMESH_LIB_DIFFERENTIATE_GRADIENTBUILDER_H

#include "mlir/IR/Builders.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <optional>

namespace pipemesh {

/// The number that every element of a constant (also a broadcast one) has.
std::optional<double> getSplat(mlir::Value value);

/// Whether tensors of this type take part in a gradient: floating-point ones.
bool carriesGradient(mlir::Type type);

class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// A constant of the type of `like`.
  mlir::Value splat(mlir::Type like, double value);
  mlir::Value zeros(mlir::Type like) { return splat(like, 0.0); }

  /// A null operand counts as zero.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, double b);
  mlir::Value divide(mlir::Value a, mlir::Value b);
  mlir::Value negate(mlir::Value a);
  mlir::Value compare(stablehlo::ComparisonDirection direction, mlir::Value a,
                      mlir::Value b);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue,
                     mlir::Value onFalse);
  mlir::Value convert(mlir::Value a, mlir::Type elementType);

  /// `broadcast_in_dim` of `a` to `shape`, its dimensions becoming `dims`.
  mlir::Value broadcast(mlir::Value a, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// A value of rank 0, or of the type of `like` already, as that type's shape.
  mlir::Value broadcastLike(mlir::Value a, mlir::Value like);
  mlir::Value reshape(mlir::Value a, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value a, llvm::ArrayRef<int64_t> permutation);
  /// The sum over `dims`, which are left out of the result.
  mlir::Value reduceSum(mlir::Value a, llvm::ArrayRef<int64_t> dims);
  /// The sum over all dimensions.
  mlir::Value reduceSum(mlir::Value a);
  /// The cotangent of an operand that counted for every index because it has
  /// rank 0: the sum of `a` when `operand` has rank 0 and `a` has not.
  mlir::Value unbroadcastScalar(mlir::Value a, mlir::Value operand);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_DIFFERENTIATE_GRADIENTBUILDER_H
