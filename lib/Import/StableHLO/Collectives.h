// Collectives of manual computations, over mesh axes.
#ifndef PIPEMESH_LIB_IMPORT_STABLEHLO_COLLECTIVES_H
#define PIPEMESH_LIB_IMPORT_STABLEHLO_COLLECTIVES_H

#include "MeshMap.h"

namespace pipemesh {

/// Turns `op` into collectives of `pm` over the axes `manual`, if it is one of
/// stablehlo's (or `partition_id`, `replica_id`). Fails, after a diagnostic, where
/// its groups are not those of such axes.
mlir::LogicalResult importCollective(mlir::Operation *op, const MeshMap &mesh,
                                     llvm::ArrayRef<mlir::StringAttr> manual);

/// Whether it is one of these ops.
bool isCollective(mlir::Operation *op);

/// Axes, outermost first, along which the members of each group lie in order,
/// where every device is in one group. None where there are no such axes. Groups
/// of one member have no axes.
std::optional<llvm::SmallVector<ImportedAxis>>
findGroupAxes(llvm::ArrayRef<llvm::SmallVector<int64_t>> groups,
              const MeshMap &mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_STABLEHLO_COLLECTIVES_H
