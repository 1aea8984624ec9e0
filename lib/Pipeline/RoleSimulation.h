//===- RoleSimulation.h - roles run against each other ----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_ROLESIMULATION_H
#define PIPEMESH_LIB_PIPELINE_ROLESIMULATION_H

#include "Program.h"

namespace pipemesh {

/// Runs the roles of a program, whose actions are complete and in order within
/// each, against each other, and reports: a send without a receive or the other
/// way around, transfers of one buffer in another order on its two ends, a
/// value that is sent before it is there or complete, a value that an action
/// reads and its role has neither computed nor received, and roles that wait
/// for each other.
mlir::LogicalResult simulateRoles(const Program &program);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_ROLESIMULATION_H
