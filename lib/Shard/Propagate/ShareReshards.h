//===- ShareReshards.h - what is resharded once arrives once ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_SHARERESHARDS_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_SHARERESHARDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pipemesh {

/// A reshard of a transposed value, where the value itself is resharded to the
/// same blocks in front of it, becomes the transpose of that: a tied vocabulary
/// is gathered once for the lookup and for the head.
void shareReshards(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_SHARERESHARDS_H
