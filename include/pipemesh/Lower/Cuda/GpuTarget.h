//===- GpuTarget.h - from GPU functions to machine code ---------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_CUDA_GPUTARGET_H
#define PIPEMESH_LOWER_CUDA_GPUTARGET_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace pipemesh {

/// The oldest processor that the text is for; drivers compile it for newer ones.
constexpr unsigned kOldestGpu = 80;

/// Where NVIDIA's assembler and device library are.
struct CudaToolkit {
  /// The toolkit's folder; empty where none is known.
  std::string root;

  /// CUDA_HOME where that has an assembler, else the one that the build found.
  static CudaToolkit find();

  std::string getProgram(llvm::StringRef name) const;
  /// The file of the device library, or "".
  std::string getDeviceLibrary() const;
};

/// Expands functions of float32 into polynomials, lowers the module's functions
/// to LLVM, optimises them and writes them as PTX for the oldest processor. The
/// other functions of the C library are those of the device library, which is
/// then needed. The module is consumed.
llvm::Expected<std::string> compileToPtx(mlir::gpu::GPUModuleOp module,
                                         const CudaToolkit &toolkit);

/// What the assembler says of a kernel on one processor.
struct GpuResources {
  unsigned registers = 0, sharedBytes = 0, stackBytes = 0;
  unsigned spillStoreBytes = 0, spillLoadBytes = 0;
};

struct Cubin {
  unsigned processor = 0;
  std::string image;
  std::map<std::string, GpuResources> resources;
};

/// Assembles PTX for a processor such as 90.
llvm::Expected<Cubin> assemble(llvm::StringRef ptx, unsigned processor,
                               const CudaToolkit &toolkit);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_CUDA_GPUTARGET_H
