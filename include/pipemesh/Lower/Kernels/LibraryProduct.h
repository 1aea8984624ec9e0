//===- LibraryProduct.h - products that a library computes ------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_KERNELS_LIBRARYPRODUCT_H
#define PIPEMESH_LOWER_KERNELS_LIBRARYPRODUCT_H

#include "mlir/IR/Operation.h"

namespace pipemesh {

/// Whether a library of matrix products computes the op: a product of float32,
/// or of one half precision to itself or to float32. The host's has float32
/// only, so pm-prepare-gemms widens the others for it.
bool isLibraryProduct(mlir::Operation *op);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_KERNELS_LIBRARYPRODUCT_H
