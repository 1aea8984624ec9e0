//===- InFlight.h - What is on its way is left alone ------------*- C++ -*-===//

#ifndef PIPEMESH_RUNTIME_CHECK_INFLIGHT_H
#define PIPEMESH_RUNTIME_CHECK_INFLIGHT_H

#include "check/Tables.h"

namespace pipemesh::proof {

/// Refuses a role where a collective that only starts is started other than once
/// in a step, not waited for behind that, or where something touches its operands
/// in between.
void checkInFlight(const Role &role);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_INFLIGHT_H
