//===- StageCosts.h - what the stages of a program cost ---------*- C++ -*-===//

#ifndef PIPEMESH_PIPELINE_STAGECOSTS_H
#define PIPEMESH_PIPELINE_STAGECOSTS_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Schedule/Costs.h"
#include <vector>

namespace pipemesh {

/// What a program's stages cost on one rank.
struct StageMeasure {
  /// Of each stage in the order of the model; seconds, and bytes of a
  /// micro-batch. The reduce and the update of a rank are the U of its first
  /// stage.
  std::vector<schedule::StageCosts> stages;
  /// Of each pipeline rank, what lies there all the time: parameters, moments,
  /// gradients and other sums.
  std::vector<double> stateBytes;
};

/// Measures the fragments of a module (the level before pm-partition): each op
/// by CostOpInterface for the shapes that one rank and micro-batch has, as the
/// longer of its arithmetic and its memory traffic on the module's device; a
/// reshard as its collective on the slowest link that it crosses. A transfer is
/// what the stage sends to the next or to the one before, whichever is more.
/// Links are those of the mesh `placed`, where that is another than the
/// module's. Fails, after an error, where the module has no program.
mlir::FailureOr<StageMeasure> measureStages(mlir::ModuleOp module,
                                            pm::MeshOp placed = {});

} // namespace pipemesh

#endif // PIPEMESH_PIPELINE_STAGECOSTS_H
