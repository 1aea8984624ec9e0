//===- SequenceParallel.h - the residual stream cut over tp -----*- C++ -*-===//
//
// Sequence parallelism (Korthikanti et al. 2022, section 4.2.2): between the
// tensor-parallel blocks a rank of tp holds a piece of the sequence, so that
// norms and residual sums are divided too, and each all-reduce becomes a
// reduce-scatter and an all-gather.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_SEQUENCEPARALLEL_H
#define PIPEMESH_LIB_SHARD_SEQUENCEPARALLEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"

namespace pipemesh {

/// Constrains the inputs of norms over [batch, sequence, hidden] to
/// `pieces` of the sequence, and what products read of the norms' results and of
/// the stream's gradient to the whole of it. Returns how many norms there are.
unsigned cutSequence(mlir::func::FuncOp function, pm::ShardingAttr pieces,
                     pm::ShardingAttr whole);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_SEQUENCEPARALLEL_H
