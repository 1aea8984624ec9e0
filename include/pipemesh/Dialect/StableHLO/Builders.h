// Short forms for building stablehlo ops. Shapes are static; dimension numbers
// are those of the value that is given.
#ifndef PIPEMESH_DIALECT_STABLEHLO_BUILDERS_H
#define PIPEMESH_DIALECT_STABLEHLO_BUILDERS_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh::stablehlo {

/// A constant of `type` with every element equal to `value`, rounded to the
/// element type; integers are truncated towards zero, a boolean is `value != 0`.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, double value);

/// A rank-0 constant of `elementType`.
mlir::Value scalar(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Type elementType, double value);

/// `value` with its dimensions put at `dims` of a tensor of shape `shape`.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> dims);

/// The sum or maximum of `value` over `dims`, starting from 0 or the lowest
/// value of the element type.
mlir::Value reduceSum(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> dims);
mlir::Value reduceMax(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> dims);

} // namespace pipemesh::stablehlo

#endif // PIPEMESH_DIALECT_STABLEHLO_BUILDERS_H
