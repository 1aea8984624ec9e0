#include "KernelCode.h"
mlir::LogicalResult pipemesh::emitAttentionKernel(KernelCode &, mlir::Operation *op, KernelInfo &) { return op->emitError("none"); }
