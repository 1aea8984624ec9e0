//===- ModuleAttrs.h - what a strategy asks of the pipeline -----*- C++ -*-===//
//
// Attributes of a module by which pm-apply-strategy and pm-assign-stages tell
// the passes behind them how the pipeline is to be.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_SCHEDULE_MODULEATTRS_H
#define PIPEMESH_SCHEDULE_MODULEATTRS_H

#include "llvm/ADT/StringRef.h"

namespace pipemesh::schedule {

/// The action lists, a string for each rank in the form of ActionLists.h: those
/// of a file, or of zb-auto once its costs are known.
inline constexpr llvm::StringLiteral kActionsAttr = "pm.actions";

/// An f64: the micro-batches that zb-auto may hold on a rank, each counted with
/// the most that it takes between F and W.
inline constexpr llvm::StringLiteral kMemoryLimitAttr = "pm.memory_limit";

/// An array<i64>: the layers of each stage, in the order of the model.
inline constexpr llvm::StringLiteral kStageLayersAttr = "pm.stage_layers";

/// "full": a backward has its stage's inputs only, and computes again what else
/// it reads of the forward.
inline constexpr llvm::StringLiteral kRecomputeAttr = "pm.recompute";

/// What pm-assign-stages found: {layers, makespan, equal_layers,
/// equal_makespan}, the makespans in seconds.
inline constexpr llvm::StringLiteral kBalanceAttr = "pm.balance";

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_MODULEATTRS_H
