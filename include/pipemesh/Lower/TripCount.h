//===- TripCount.h - how often a loop runs ----------------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_TRIPCOUNT_H
#define PIPEMESH_LOWER_TRIPCOUNT_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <optional>

namespace pipemesh {

/// Of a loop that counts from a constant by a constant up (or down) to one: the
/// number of its iterations. Nothing where that is not to be seen.
std::optional<int64_t> countTrips(stablehlo::WhileOp loop);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_TRIPCOUNT_H
