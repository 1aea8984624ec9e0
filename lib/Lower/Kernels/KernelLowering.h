//===- KernelLowering.h - from loops over vectors to LLVM -------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_KERNELLOWERING_H
#define PIPEMESH_LIB_LOWER_KERNELS_KERNELLOWERING_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Lower/Kernels/CpuTarget.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace pipemesh {

/// Merges equal arithmetic, so that a kernel's text is about as long as its
/// work.
mlir::LogicalResult optimizeKernel(mlir::Operation *function);

/// Expands functions of float32 into polynomials, and expects that no others are
/// left. `expandHalf`: the processor does not know half precision either.
mlir::LogicalResult expandMath(mlir::Operation *module, bool expandHalf);

/// Expands functions into polynomials, lowers everything to the LLVM dialect
/// and translates it.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
lowerKernels(mlir::ModuleOp module, const CpuTarget &target,
             llvm::LLVMContext &llvmContext);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_KERNELLOWERING_H
