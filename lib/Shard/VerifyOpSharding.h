//===- VerifyOpSharding.h - does a sharded op follow its rule ---*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_VERIFYOPSHARDING_H
#define PIPEMESH_LIB_SHARD_VERIFYOPSHARDING_H

#include "ShardingAlgebra.h"

namespace pipemesh {

/// Checks that the operands and results of an op lie as its rule allows, from
/// the shardings alone. It shares no code with propagation: every dimension is
/// read as cuts of its factors, and what the values say of one factor must be
/// the same. Axes of one member make no difference.
mlir::LogicalResult
verifyOpSharding(mlir::Operation *op, const MeshAxes &mesh,
                 llvm::ArrayRef<const ValueSharding *> operands,
                 llvm::ArrayRef<const ValueSharding *> results);

/// Whether two shardings are the same, but for axes of one member.
bool lieAlike(const ValueSharding &a, const ValueSharding &b,
              const MeshAxes &mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_VERIFYOPSHARDING_H
