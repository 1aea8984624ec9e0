//===- ShardedWork.h - how much of a graph runs sharded ---------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_SHARDEDWORK_H
#define PIPEMESH_TOOLS_PMC_SHARDEDWORK_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace pipemesh {

/// Of a sharded graph, a list with an entry for each spatial axis longer than 1:
/// `axis`, `ops` and `flops`, the shares of the ops and of the operations whose
/// work is divided over it, and `whole`, the ops that are not and cost most. An op
/// is divided over an axis that cuts one of its operands or results. Constants,
/// reshards and ops on single elements do not count; what a loop holds counts
/// once for each of its trips.
llvm::json::Array measureShardedWork(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_SHARDEDWORK_H
