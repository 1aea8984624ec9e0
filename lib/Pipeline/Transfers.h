//===- Transfers.h - sends and receives between roles -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_TRANSFERS_H
#define PIPEMESH_LIB_PIPELINE_TRANSFERS_H

#include "Program.h"

namespace pipemesh {

/// Adds to roles that hold their actions, the transfers that these need: a send
/// directly behind the action that completes the value, a receive directly in
/// front of the first action that reads it.
void addTransfers(const Program &program);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_TRANSFERS_H
