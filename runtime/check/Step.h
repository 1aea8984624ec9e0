//===- Step.h - The actions of a role, one after the other ----------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_STEP_H
#define PIPEMESH_RUNTIME_CHECK_STEP_H

#include "check/Body.h"

namespace pipemesh::proof {

/// Walks the actions of a role once. Refuses a step in which an action is
/// missing, comes twice or too early, a value is read or sent that is not there,
/// or that another one has taken the place of, or a result is not there at the
/// end.
void checkStep(const Tables &tables, const Role &role,
               const std::vector<BodyFacts> &bodies);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_STEP_H
