//===- Storage.h - parameters and moments kept in pieces --------*- C++ -*-===//
//
// ZeRO (Rajbhandari et al. 2020, section 5) as shardings of where state is
// kept: moments (stage 1) or parameters too (stage 3) are cut over "dp". The
// computation does not see it: a parameter is whole over dp where it is used,
// and a gradient is brought to the pieces before anything reads it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_STORAGE_H
#define PIPEMESH_LIB_SHARD_STORAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"

namespace pipemesh {

/// `sharding` with a dimension of `type` cut over `axis` of size `ranks`, too:
/// the first one that is whole and divides, else the first whose pieces divide,
/// else the longest whole one of at least as many elements as ranks. The
/// sharding itself where there is none.
pm::ShardingAttr cutStorage(mlir::RankedTensorType type,
                            pm::ShardingAttr sharding, mlir::StringAttr axis,
                            int64_t ranks, const pm::MeshOp &mesh);

/// Cuts the state of a training step over dp: of the arguments' shardings in
/// `shardings`, those of moments (zero >= 1) and parameters (zero = 3). Puts
/// constraints where a parameter is used and behind the gradients. Gradient
/// results get their shardings in `results`.
void cutState(mlir::func::FuncOp function, int64_t zero, pm::MeshOp mesh,
              llvm::MutableArrayRef<mlir::Attribute> shardings,
              llvm::MutableArrayRef<mlir::Attribute> results);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_STORAGE_H
