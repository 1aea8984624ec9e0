//===- RoleTables.h - the constant tables of a role -------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H
#define PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/KernelBuilder.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
}

namespace pipemesh {

/// Adds the tables of runtime/include/pmrt/pmrt.h for `role` to `target`, which
/// holds the code of the kernels. `kernelOf` maps a kernel function's name to
/// what the builder said of it.
mlir::LogicalResult
addRoleTables(llvm::Module &target, pmrt::RoleOp role, pm::MeshOp mesh,
              llvm::ArrayRef<KernelInfo> kernels,
              const llvm::StringMap<int64_t> &kernelOf, llvm::StringRef hash);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_ROLETABLES_H
