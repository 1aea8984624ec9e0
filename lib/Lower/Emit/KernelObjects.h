//===- KernelObjects.h - machine code of all roles --------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_KERNELOBJECTS_H
#define PIPEMESH_LIB_LOWER_EMIT_KERNELOBJECTS_H

#include "KernelEntries.h"
#include "pipemesh/Lower/Kernels/KernelBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pipemesh {

/// Builds the kernels of a module once, whatever role calls them, spread over a
/// fixed number of object files that are compiled at the same time.
class KernelObjects : public KernelEntries {
public:
  KernelObjects(mlir::ModuleOp module, const CpuTarget &target);
  ~KernelObjects() override;

  /// Builds the code of all kernels that a role calls. On failure a diagnostic
  /// names the op that has no code.
  mlir::LogicalResult build();

  KernelEntry lookup(llvm::StringRef function) const override;
  bool areOnDevice() const override { return false; }

  /// The LLVM modules, each in a context of its own. The kernels are visible to
  /// what is linked with them only.
  llvm::ArrayRef<std::unique_ptr<llvm::Module>> getModules() const {
    return modules;
  }

private:
  mlir::ModuleOp module;
  const CpuTarget &target;
  llvm::StringMap<KernelInfo> infos;
  std::vector<std::unique_ptr<llvm::LLVMContext>> contexts;
  std::vector<std::unique_ptr<llvm::Module>> modules;
};

/// Writes object files at the same time, `modules[i]` to `paths[i]`; no two
/// modules may share a context.
llvm::Error emitObjects(llvm::ArrayRef<llvm::Module *> modules,
                        llvm::ArrayRef<std::string> paths,
                        const CpuTarget &target);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_KERNELOBJECTS_H
