//===- Passes.h - kernels for GPUs ------------------------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_CUDA_PASSES_H
#define PIPEMESH_LOWER_CUDA_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace pipemesh {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pipemesh/Lower/Cuda/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_LOWER_CUDA_PASSES_H
