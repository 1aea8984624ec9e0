//===- DeviceCode.h - what a role for GPUs has besides ----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_DEVICECODE_H
#define PIPEMESH_LIB_LOWER_EMIT_DEVICECODE_H

#include "KernelEntries.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Cuda/CudaKernels.h"

namespace pipemesh {

/// A part of the arena for what a stream's instructions need while they run.
struct Workspace {
  uint64_t offset = 0, bytes = 0;
};

/// The arena of a role. On the host it is that of the program; on a GPU workspaces
/// lie behind it, one for each stream of the instructions.
struct RoleMemory {
  uint64_t arenaBytes = 0;
  llvm::SmallVector<Workspace> workspaces;
};

/// Code of all kernels for a processor (90 for sm_90); 0 for text, which ends with
/// a zero byte.
struct DeviceImage {
  unsigned processor = 0;
  std::string content;
};

/// GPU kernels as the tables see them.
class DeviceKernels : public KernelEntries {
public:
  explicit DeviceKernels(const CudaKernels &kernels) : kernels(kernels) {}
  KernelEntry lookup(llvm::StringRef function) const override;
  bool areOnDevice() const override { return true; }

private:
  const CudaKernels &kernels;
};

/// The arena with the workspaces of a role for GPUs: the scratch of its kernels
/// and of cuBLASLt and cuDNN, and what NCCL takes packed: gathers and scatters
/// of several rows or of short blocks, and exchanges.
RoleMemory layOutDevice(pmrt::RoleOp role, pm::MeshOp mesh,
                        const KernelEntries &kernels);

/// The images of a bundle's roles: machine code where there is some, and text.
llvm::SmallVector<DeviceImage> makeImages(const CudaKernels &kernels);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_DEVICECODE_H
