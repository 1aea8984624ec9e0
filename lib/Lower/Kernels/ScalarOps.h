//===- ScalarOps.h - elementwise ops on registers ---------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_SCALAROPS_H
#define PIPEMESH_LIB_LOWER_KERNELS_SCALAROPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace pipemesh {

/// The type in registers: signless, i1 for booleans, a vector of the two parts
/// for complex numbers.
mlir::Type getRegisterType(mlir::Type element);

/// The type in memory: a boolean takes a byte.
mlir::Type getMemoryType(mlir::Type element);

unsigned getElementBytes(mlir::Type element);

/// The same type with `width` elements; the scalar itself when width is 1.
mlir::Type getVectorType(mlir::Type scalar, unsigned width);

/// Applies an elementwise stablehlo op to one element (width 1) or `width`
/// elements of each operand. Null when there is no code for the op on these
/// types.
mlir::Value emitElementwise(mlir::OpBuilder &builder, mlir::Operation *op,
                            mlir::ValueRange operands, unsigned width);

/// The same for complex numbers, one of each operand; in ComplexOps.cpp.
mlir::Value emitComplex(mlir::OpBuilder &builder, mlir::Operation *op,
                        mlir::ValueRange operands);

/// A number of element type `from` as one of element type `to`, rounded as
/// stablehlo.convert says.
mlir::Value emitCast(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, mlir::Type from, mlir::Type to);

/// A call of a function of the C library's mathematical part on float32 or
/// float64, for each element of a vector by itself. `name` is that of the
/// function on double.
mlir::Value emitLibraryCall(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::StringRef name, mlir::ValueRange operands);

/// The special functions of chlo that the C library lacks, computed in float64;
/// in SpecialOps.cpp. Null for other ops.
mlir::Value emitSpecial(mlir::OpBuilder &builder, mlir::Operation *op,
                        mlir::Value x);

/// The neutral element of a reduction by `combiner`.
mlir::TypedAttr getNeutralElement(mlir::Operation *combiner,
                                  mlir::Type element);

/// Adds up (multiplies, ...) the elements of a vector by halves, in a fixed
/// order.
mlir::Value emitHorizontal(mlir::OpBuilder &builder, mlir::Operation *combiner,
                           mlir::Value vector);

/// A constant of a register type, repeated over a vector type.
mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, double value);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_SCALAROPS_H
