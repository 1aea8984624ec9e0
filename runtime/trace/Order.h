//===- Order.h - What ranks do with each other ----------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_ORDER_H
#define PIPEMESH_RUNTIME_TRACE_ORDER_H

#include "trace/Timeline.h"

#include <functional>
#include <unordered_map>

namespace pipemesh::trace {

struct Rank {
  Trace trace;
  Timeline timeline;
};

struct Communicator {
  std::vector<uint32_t> members; ///< ranks, in the communicator's order
  uint32_t rankOf(uint32_t member) const;
};

/// The communicators of all ranks: those with one id, and the parts of each
/// split.
struct Communicators {
  std::vector<Communicator> list;
  std::vector<std::unordered_map<uint64_t, uint32_t>> ofRank; ///< by handle

  /// "of ranks 0 and 4"
  std::string describe(uint32_t index) const;
};

Communicators findCommunicators(const std::vector<Rank> &ranks,
                                Refusals &refusals);

/// "rank 1, line 57: ncclSend", and where in the model.
using Describe = std::function<std::string(uint32_t rank, uint32_t op)>;

/// Refuses members that do not call the same collectives, sends without their
/// receives, and orders in which ranks could wait for each other: that of the
/// launches, and that of streams and events.
void checkOrder(const std::vector<Rank> &ranks,
                const Communicators &communicators, const Describe &describe,
                Refusals &refusals);

/// Edges of a graph, each of something that one rank says.
struct Labelled {
  uint32_t from, to;
  uint32_t rank, fromOp, toOp;
};

/// A shortest cycle, or nothing where there is none.
std::vector<Labelled> findCycle(uint32_t nodes,
                                const std::vector<Labelled> &edges);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_ORDER_H
