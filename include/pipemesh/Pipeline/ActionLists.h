//===- ActionLists.h - the lists of a scheduled program ---------*- C++ -*-===//

#ifndef PIPEMESH_PIPELINE_ACTIONLISTS_H
#define PIPEMESH_PIPELINE_ACTIONLISTS_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Schedule/Schedule.h"

namespace pipemesh {

/// The actions of a scheduled program's roles, in their order, for the
/// simulator: F, I and W, or B where a stage has one of these parts only, and U
/// for a rank's reduce and update, of its first stage. A prologue, which makes
/// tables once a step, is no action. Fails, after an error, where the module
/// has no program.
mlir::FailureOr<schedule::Schedule> getActionLists(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_PIPELINE_ACTIONLISTS_H
