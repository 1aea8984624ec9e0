// Checks of dimension lists that several verifiers share. Private to the
// dialect's library.
#ifndef PIPEMESH_LIB_DIALECT_STABLEHLO_DIMS_H
#define PIPEMESH_LIB_DIALECT_STABLEHLO_DIMS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace pipemesh::stablehlo {

/// Refuses a dimension outside of [0, rank) and one that is given twice.
/// `name` is the list's name in messages.
mlir::LogicalResult checkDims(std::optional<mlir::Location> location,
                              llvm::StringRef name,
                              llvm::ArrayRef<int64_t> dims, int64_t rank);

/// Refuses a list that has another length than `count`.
mlir::LogicalResult checkCount(std::optional<mlir::Location> location,
                               llvm::StringRef name,
                               llvm::ArrayRef<int64_t> list, int64_t count);

/// Refuses a list that does not ascend.
mlir::LogicalResult checkSorted(std::optional<mlir::Location> location,
                                llvm::StringRef name,
                                llvm::ArrayRef<int64_t> dims);

/// Whether results of the types `actual` may stand for the inferred ones: of the
/// same shape, and of the same element type or a wider one of the same kind.
bool arePromotable(mlir::TypeRange inferred, mlir::TypeRange actual);

/// Refuses a region that is not one block with arguments of the types
/// `arguments`, ending in a stablehlo.return of values of the types `results`.
/// `name` is the region's name in messages.
mlir::LogicalResult checkRegion(mlir::Operation *op, llvm::StringRef name,
                                mlir::Region &region,
                                mlir::TypeRange arguments,
                                mlir::TypeRange results);

} // namespace pipemesh::stablehlo

#endif // PIPEMESH_LIB_DIALECT_STABLEHLO_DIMS_H
