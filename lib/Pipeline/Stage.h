//===- Stage.h - the stages of a mesh and of its ops ------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_STAGE_H
#define PIPEMESH_LIB_PIPELINE_STAGE_H

#include "pipemesh/Dialect/PM/PM.h"

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

inline int64_t getNumStages(pm::MeshOp mesh) {
  return getAxesSize(mesh, pm::AxisKind::Stage);
}

/// Whether the op belongs to that phase of a training step. A graph without
/// phases is all forward.
inline bool isInPhase(mlir::Operation *op, llvm::StringRef phase) {
  auto attr = op->getAttrOfType<mlir::StringAttr>(pm::kPhaseAttr);
  return (attr ? attr.getValue() : "forward") == phase;
}

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_STAGE_H
