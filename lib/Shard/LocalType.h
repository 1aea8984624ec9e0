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

/// The global type with each dimension divided by its active axes, rounded up:
/// the last blocks may be short or empty. Micro-batches must be equal; where
/// they are not, reports it at `loc`.
mlir::FailureOr<mlir::RankedTensorType>
localTypeOf(mlir::Location loc, mlir::RankedTensorType global,
            const ValueSharding &sharding, const MeshAxes &mesh, bool temporal);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_LOCALTYPE_H
