//===- LocalType.h - the shapes of one rank and micro-batch -----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_LOCALTYPE_H
#define PIPEMESH_LIB_SHARD_LOCALTYPE_H

#include "ShardingAlgebra.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace pipemesh {

/// Whether temporal axes cut the values of a function: in fragments that run
/// once for each micro-batch.
bool isPerMicroBatch(mlir::FunctionOpInterface function);

/// The axes of a dimension that cut it here.
Axes activeAxes(llvm::ArrayRef<mlir::StringAttr> axes, const MeshAxes &mesh,
                bool temporal);

/// How much of a dimension of that size a rank has here: a block, the last of
/// which may be short or empty, or the blocks of all its micro-batches, which
/// lie one behind the other.
int64_t blockOf(int64_t size, const DimCut &cut, const MeshAxes &mesh,
                bool temporal);

/// The type of what a rank has of a value here. A spatial axis cannot cut within
/// a micro-batch; where one does, reports it at `loc`.
mlir::FailureOr<mlir::RankedTensorType>
localTypeOf(mlir::Location loc, mlir::RankedTensorType global,
            const ValueSharding &sharding, const MeshAxes &mesh, bool temporal);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_LOCALTYPE_H
