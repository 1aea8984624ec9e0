//===- RuntimeEvents.h - collectives that are started -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_RUNTIMEEVENTS_H
#define PIPEMESH_LIB_LOWER_RUNTIMEEVENTS_H

#include "pipemesh/Dialect/PMRT/PMRT.h"

namespace pipemesh {

/// Whether each event of the role is started once in a step and waited for behind
/// that, and nothing touches what is on its way between the two; reports what is
/// wrong.
llvm::LogicalResult verifyEvents(pmrt::RoleOp role);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_RUNTIMEEVENTS_H
