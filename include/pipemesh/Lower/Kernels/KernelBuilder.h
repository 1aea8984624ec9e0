//===- KernelBuilder.h - machine code of fused kernels ----------*- C++ -*-===//
//
// Turns `pmrt.fused` ops into functions of the ABI of
// runtime/include/pmrt/pmrt.h:
//
//   void kernel(void *const *operands, int64_t begin, int64_t end,
//               void *scratch, const pmrt_kernel_context *context)
//
// `operands` are the buffers of the op's operands, then of its results; each is
// dense and row-major. A result that takes over an operand's buffer is given
// the same pointer.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LOWER_KERNELS_KERNELBUILDER_H
#define PIPEMESH_LOWER_KERNELS_KERNELBUILDER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/CpuTarget.h"
#include "pipemesh/Lower/Kernels/KernelSignature.h"
#include <map>
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace pipemesh {

/// What a `pmrt_kernel` table says of a kernel; the sizes as documented there.
struct KernelInfo {
  int64_t index = 0;
  /// The symbol of the function, which is unique and readable
  /// (`rms_norm_8x20x32_0`).
  std::string name;
  int64_t extent = 1;
  int64_t grain = 1;
  uint64_t scratchBytes = 0;
  uint64_t flops = 0;
  uint64_t bytes = 0;
};

/// Operations of one run of a kernel, a function such as exp counting as ten.
uint64_t countOperations(pmrt::FusedOp op);

class KernelBuilder {
public:
  /// Where several builders make the kernels of one program, `part` of `parts`
  /// keeps the names of their functions apart.
  KernelBuilder(mlir::MLIRContext *context, const CpuTarget &target,
                unsigned part = 0, unsigned parts = 1);

  /// The kernel of a fused op. Equal bodies get one kernel, whatever their
  /// values and locations are called. On failure a diagnostic names the op that
  /// has no code.
  mlir::FailureOr<KernelInfo> getOrCreate(pmrt::FusedOp op);

  /// All kernels so far, in the order of their index.
  llvm::ArrayRef<KernelInfo> getKernels() const { return kernels; }

  /// The module of the kernels before it is lowered to LLVM.
  mlir::ModuleOp getModule() { return *module; }

  /// Lowers all kernels to one LLVM module. Nothing can be added afterwards.
  mlir::FailureOr<std::unique_ptr<llvm::Module>>
  finish(llvm::LLVMContext &llvmContext);

private:
  CpuTarget target;
  unsigned part, parts;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<KernelInfo> kernels;
  std::map<KernelSignature, int64_t> indexOfKey;
};

} // namespace pipemesh

#endif // PIPEMESH_LOWER_KERNELS_KERNELBUILDER_H
