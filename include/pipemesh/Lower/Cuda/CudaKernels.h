//===- CudaKernels.h - the GPU kernels of a program -------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_CUDA_CUDAKERNELS_H
#define PIPEMESH_LOWER_CUDA_CUDAKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Lower/Cuda/GpuKernelBuilder.h"
#include "pipemesh/Lower/Cuda/GpuTarget.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace pipemesh {

/// The GPU code of all kernels that a runtime program calls (`pmrt.role`s and their
/// functions), each distinct one once.
class CudaKernels {
public:
  explicit CudaKernels(mlir::ModuleOp module);

  /// Builds the functions. On failure diagnostics name the ops without code and
  /// the number of kernels that hold one.
  mlir::LogicalResult build();

  /// Compiles them: text, and machine code for sm_80 and sm_90 where a toolkit has
  /// an assembler. Consumes the functions.
  mlir::LogicalResult compile();

  /// What is launched for a function of the program.
  const GpuKernelInfo &lookup(llvm::StringRef function) const {
    return kernelOf.find(function)->second;
  }
  bool isAttention(llvm::StringRef function) const {
    return attention.contains(function);
  }
  llvm::ArrayRef<GpuKernelInfo> getKernels() const {
    return builder.getKernels();
  }

  /// The functions in the gpu dialect, before they are compiled.
  mlir::ModuleOp getFunctions() { return *own; }
  const std::string &getPtx() const { return ptx; }
  llvm::ArrayRef<Cubin> getCubins() const { return cubins; }

private:
  mlir::ModuleOp module;
  mlir::OwningOpRef<mlir::ModuleOp> own;
  GpuKernelBuilder builder;
  llvm::StringMap<GpuKernelInfo> kernelOf;
  llvm::StringSet<> attention;
  std::string ptx;
  std::vector<Cubin> cubins;
};

/// Writes the kernels of a runtime program (`pmrt.role`s and the functions that
/// they call) into a folder, each distinct one once:
///
///   kernels.mlir          functions of the gpu dialect
///   kernels.ptx           text for any processor from sm_80 on
///   kernels.sm_80.cubin   machine code, and kernels.sm_90.cubin; where a toolkit
///                         has an assembler
///   kernels.json          how each is launched, what it takes, and the launches of
///                         each body
///
/// On failure a diagnostic names the ops without code and their number, or what
/// went wrong.
mlir::LogicalResult writeCudaKernels(mlir::ModuleOp module,
                                     const std::string &folder);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_CUDA_CUDAKERNELS_H
