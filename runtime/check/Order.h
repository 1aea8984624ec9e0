//===- Order.h - Do the roles wait for each other forever? ----------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_ORDER_H
#define PIPEMESH_RUNTIME_CHECK_ORDER_H

#include "check/Body.h"

namespace pipemesh::proof {

/// What the roles have between them.
struct OrderFacts {
  uint64_t channels = 0, transfers = 0;
  /// Meetings of several roles on a communicator, and at the vote of a step.
  uint64_t meetings = 0;
  /// By role: bytes of transfers that were sent to it, but not yet received, at
  /// the most that the order allows.
  std::vector<uint64_t> inFlight;
  /// Whether the order has no cycle even where a sent slot is its message: it is
  /// written again only after it was received. Else the cycle.
  bool needsNoBuffers = true;
  std::string cycleWithoutBuffers;
};

/// Proves that transfers are one to one on each channel, that the roles that meet
/// on a communicator bring the same collectives, and that neither waits for the
/// other forever. All ranks of a role run the same actions, so that a cycle of
/// ranks would be one of roles.
OrderFacts checkOrder(const Tables &tables,
                      const std::vector<std::vector<BodyFacts>> &bodies);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_ORDER_H
