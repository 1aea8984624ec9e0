// Custom calls, and the shardings that older exports write as strings.
#ifndef PIPEMESH_LIB_IMPORT_STABLEHLO_CUSTOMCALLS_H
#define PIPEMESH_LIB_IMPORT_STABLEHLO_CUSTOMCALLS_H

#include "MeshMap.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh {

/// Removes a call that marks a sharding, which then is a constraint; refuses any
/// other by name.
mlir::LogicalResult importCustomCall(stablehlo::CustomCallOp call,
                                     MeshMap &mesh);

/// Writes the `mhlo.sharding` strings of arguments, results and `@Sharding` calls
/// as shardings of sdy over a mesh that fits all of them, in a module that has no
/// mesh. Fails, after a diagnostic, at a string that is not understood.
mlir::LogicalResult addShardingsOfStrings(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_STABLEHLO_CUSTOMCALLS_H
