//===- Conditions.h - Do all members of a collective reach it? ------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_CONDITIONS_H
#define PIPEMESH_RUNTIME_CHECK_CONDITIONS_H

#include "check/Body.h"

namespace pipemesh::proof {

/// Proves by data flow that what decides on a collective is the same on all
/// ranks that meet there, and refuses the program where it may not be. Returns
/// the bodies where that is so because kernels compute the same from the same
/// operands.
std::vector<std::string>
checkConditions(const Tables &tables,
                const std::vector<std::vector<BodyFacts>> &bodies);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_CONDITIONS_H
