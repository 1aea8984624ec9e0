//===- RoleTables.h - the constant tables of a role -------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H
#define PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H

#include "DeviceCode.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
}

namespace pipemesh {

/// Adds the tables of runtime/include/pmrt/pmrt.h for `role` to `target`. The
/// kernels that the role calls are declared there, and defined elsewhere; those on
/// a GPU are in the `images`.
mlir::LogicalResult addRoleTables(llvm::Module &target, pmrt::RoleOp role,
                                  pm::MeshOp mesh, const KernelEntries &kernels,
                                  const RoleMemory &memory,
                                  llvm::ArrayRef<DeviceImage> images,
                                  llvm::StringRef hash);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H
