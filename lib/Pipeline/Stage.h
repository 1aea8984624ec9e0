//===- Stage.h - the stages of a mesh and of its ops ------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_STAGE_H
#define PIPEMESH_LIB_PIPELINE_STAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Schedule/Generate.h"
#include "pipemesh/Schedule/ModuleAttrs.h"

namespace pipemesh {

/// The pipeline stage that computes an op, an i64. Set by pm-assign-stages and
/// read by pm-split-stages.
inline constexpr llvm::StringLiteral kStageAttr = "pm.stage";

/// The product of the sizes of the mesh's axes of one kind.
inline int64_t getAxesSize(pm::MeshOp mesh, pm::AxisKind kind) {
  int64_t size = 1;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    if (axis.getKind() == kind)
      size *= axis.getSize();
  return size;
}

/// The ranks of the pipeline.
inline int64_t getNumPipelineRanks(pm::MeshOp mesh) {
  return getAxesSize(mesh, pm::AxisKind::Stage);
}

/// The pipeline rank of each stage.
inline llvm::SmallVector<int64_t> getRankOfStage(mlir::ModuleOp module,
                                                 pm::MeshOp mesh) {
  if (auto given = module->getAttrOfType<mlir::DenseI64ArrayAttr>(
          schedule::kRankOfStageAttr))
    return llvm::to_vector(given.asArrayRef());
  return llvm::to_vector(llvm::seq<int64_t>(0, getNumPipelineRanks(mesh)));
}

/// Whether the module's schedule runs the two parts of a backward apart.
inline bool splitsBackward(mlir::ModuleOp module) {
  if (auto rows =
          module->getAttrOfType<mlir::ArrayAttr>(schedule::kActionsAttr))
    return llvm::any_of(
        rows.getAsRange<mlir::StringAttr>(),
        [](mlir::StringAttr row) { return row.getValue().contains('I'); });
  auto name = module->getAttrOfType<mlir::StringAttr>(pm::kScheduleAttr);
  return name && schedule::splitsBackward(name);
}

/// Whether a backward computes again what it reads of its stage's forward.
inline bool recomputes(mlir::ModuleOp module) {
  auto mode = module->getAttrOfType<mlir::StringAttr>(schedule::kRecomputeAttr);
  return mode && mode == "full";
}

/// Whether the op belongs to that phase of a training step. A graph without
/// phases is all forward.
inline bool isInPhase(mlir::Operation *op, llvm::StringRef phase) {
  auto attr = op->getAttrOfType<mlir::StringAttr>(pm::kPhaseAttr);
  return (attr ? attr.getValue() : "forward") == phase;
}

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_STAGE_H
