//===- Models.h - gradients as external models ------------------*- C++ -*-===//
//
// One file for each kind of op. A gradient is a function
//
//   Value gradient(Op op, GradientBuilder &g, unsigned operand,
//                  ValueRange cotangents);
//
// and GradientModel<Op, gradient> is the model that is attached to the op.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_DIFFERENTIATE_MODELS_H
#define PIPEMESH_LIB_DIFFERENTIATE_MODELS_H

#include "GradientBuilder.h"
#include "pipemesh/Interfaces/Interfaces.h"

namespace pipemesh {

/// The gradient flows from floating-point results to floating-point operands.
template <typename Op, auto Gradient>
struct GradientModel
    : DifferentiableOpInterface::ExternalModel<GradientModel<Op, Gradient>,
                                               Op> {
  bool isDifferentiable(mlir::Operation *op, unsigned operand) const {
    return carriesGradient(op->getOperand(operand).getType()) &&
           llvm::any_of(op->getResultTypes(), carriesGradient);
  }
  mlir::FailureOr<mlir::Value>
  buildCotangent(mlir::Operation *op, mlir::OpBuilder &builder,
                 unsigned operand, mlir::ValueRange cotangents) const {
    GradientBuilder g(builder, op->getLoc());
    return Gradient(mlir::cast<Op>(op), g, operand, cotangents);
  }
};

/// The derivative is zero almost everywhere (a step function).
template <typename Op>
struct StepFunctionModel
    : DifferentiableOpInterface::ExternalModel<StepFunctionModel<Op>, Op> {
  bool isDifferentiable(mlir::Operation *, unsigned) const { return false; }
  mlir::FailureOr<mlir::Value> buildCotangent(mlir::Operation *,
                                              mlir::OpBuilder &, unsigned,
                                              mlir::ValueRange) const {
    return mlir::Value();
  }
};

/// The cotangent of one operand of an op with DecomposableOpInterface, from the
/// gradients of the ops of its decomposition.
mlir::FailureOr<mlir::Value>
buildCotangentByDecomposition(mlir::OpBuilder &builder, mlir::Operation *op,
                              unsigned operand, mlir::ValueRange cotangents);

void attachElementwiseGradients(mlir::MLIRContext *context);
void attachShapeGradients(mlir::MLIRContext *context);
void attachContractionGradients(mlir::MLIRContext *context);
void attachReductionGradients(mlir::MLIRContext *context);
void attachIndexingGradients(mlir::MLIRContext *context);
void attachCHLOGradients(mlir::MLIRContext *context);
void attachPMGradients(mlir::MLIRContext *context);

} // namespace pipemesh

#endif // PIPEMESH_LIB_DIFFERENTIATE_MODELS_H
