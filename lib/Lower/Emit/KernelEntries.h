//===- KernelEntries.h - what a role's tables say of kernels ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_KERNELENTRIES_H
#define PIPEMESH_LIB_LOWER_EMIT_KERNELENTRIES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace pipemesh {

/// One `pmrt_kernel`, and its `pmrt_launch` where it is for GPUs.
struct KernelEntry {
  std::string name;
  int64_t extent = 1, grain = 1;
  uint64_t scratchBytes = 0, flops = 0, bytes = 0;
  unsigned blocks = 0, threads = 0;
};

/// The kernels that the roles of a module call.
class KernelEntries {
public:
  virtual ~KernelEntries() = default;
  /// The kernel of a function that a `pmrt.call` names. Equal ones have one name.
  virtual KernelEntry lookup(llvm::StringRef function) const = 0;
  /// Whether they are launched on GPUs, and the tables have no functions.
  virtual bool areOnDevice() const = 0;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_KERNELENTRIES_H
