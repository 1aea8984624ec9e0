//===- ByteSize.h - bytes of a tensor ---------------------------*- C++ -*-===//

#ifndef PIPEMESH_SUPPORT_BYTESIZE_H
#define PIPEMESH_SUPPORT_BYTESIZE_H

#include "mlir/IR/BuiltinTypes.h"

namespace pipemesh {

/// Bytes of a statically shaped tensor: an element takes whole bytes, an i1 one.
/// 0 for what has no size.
inline int64_t byteSizeOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  mlir::Type element = tensor.getElementType();
  int64_t parts = 1;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element)) {
    element = complex.getElementType();
    parts = 2;
  }
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 8;
  return tensor.getNumElements() * parts * ((bits + 7) / 8);
}

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_BYTESIZE_H
