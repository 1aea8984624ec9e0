//===- Passes.h - lowering to the runtime program ---------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_PASSES_H
#define PIPEMESH_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"
#include "pipemesh/Lower/Backend.h"
#include <memory>
#include <optional>

namespace mlir::func {
class FuncOp;
}

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Lower/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Lower/Passes.h.inc"

/// From a scheduled program to fragments of kernels and matrix products that a
/// backend has: `pm-kernel-pipeline`.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         Backend backend = Backend::Host);
/// From there to the runtime program: `pm-runtime-pipeline`. Buckets of
/// gradients are closed at `bucketBytes`, 0 for none (pm-overlap-collectives).
void buildRuntimePipeline(mlir::OpPassManager &manager,
                          std::optional<int64_t> bucketBytes = std::nullopt);
void registerLowerPipelines();

} // namespace pipemesh

#endif // PIPEMESH_LOWER_PASSES_H
