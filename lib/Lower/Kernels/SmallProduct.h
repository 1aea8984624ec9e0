//===- SmallProduct.h - matrix products inside of a kernel ------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_SMALLPRODUCT_H
#define PIPEMESH_LIB_LOWER_KERNELS_SMALLPRODUCT_H

#include "KernelCode.h"

namespace pipemesh {

/// C[i, j] = alpha * scale[i] * sum over l of A[i, l] B[l, j], added to what C
/// holds with `accumulate`. Each element is summed in the order of l, so that
/// its bits do not depend on how the loops are tiled.
struct SmallProduct {
  mlir::Value m, n, k;
  /// Element (i, l) is a[i * aRow + l * aColumn].
  mlir::Value a;
  int64_t aRow = 0, aColumn = 1;
  /// Element (l, j) is b[l * bRow + j].
  mlir::Value b;
  int64_t bRow = 0;
  mlir::Value c;
  int64_t cRow = 0;
  double alpha = 1;
  /// A factor for each row, or null.
  mlir::Value scale;
  bool accumulate = false;
  /// Rows of B and C are readable, and those of C may be overwritten, up to the
  /// next multiple of `getProductColumns` behind column n.
  bool padded = false;
};

/// The columns that one step of the widest loop computes.
int64_t getProductColumns(const KernelCode &code);

/// Builds the loops, float32 throughout.
void emitSmallProduct(KernelCode &code, const SmallProduct &product);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_SMALLPRODUCT_H
