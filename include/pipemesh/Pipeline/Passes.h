//===- Passes.h - stages, fragments and schedules ---------------*- C++ -*-===//

#ifndef PIPEMESH_PIPELINE_PASSES_H
#define PIPEMESH_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Pipeline/Passes.h.inc"

/// From a sharded graph to fragments, with the verifier of the level.
void buildFragmentPipeline(mlir::OpPassManager &manager);

/// From a sharded graph that is no training step to the program of one fragment,
/// with the verifier of the level.
void buildFunctionPipeline(mlir::OpPassManager &manager);

/// Fills the roles by the schedule of that name, and verifies them.
void buildSchedulePipeline(mlir::OpPassManager &manager, llvm::StringRef name);

/// Registers `pm-fragment-pipeline`, `pm-function-pipeline` and
/// `pm-schedule-pipeline`.
void registerPipelinePipelines();

} // namespace pipemesh

#endif // PIPEMESH_PIPELINE_PASSES_H
