//===- Timeline.h - What a rank's device does, and what orders it ---------===//

#ifndef PIPEMESH_RUNTIME_TRACE_TIMELINE_H
#define PIPEMESH_RUNTIME_TRACE_TIMELINE_H

#include "trace/Calls.h"
#include "trace/Refusals.h"

namespace pipemesh::trace {

inline constexpr uint32_t none = ~0u;

/// Something that a stream does, in the order in which it is launched. A
/// graph's calls stand there once for each launch of the graph; those of an
/// NCCL group stand where the group ends.
struct Op {
  uint32_t call;
  uint32_t stream;        ///< 0: the host
  uint32_t tick;          ///< number of it on its stream, from 1
  uint32_t clock;         ///< what the stream has waited for
  uint32_t host;          ///< what the host has seen the end of
  uint32_t before = none; ///< the last one of the stream
  uint32_t unit = none;   ///< of communication that is launched together
  uint32_t step = 0;      ///< from 1; 0 outside of steps
};

/// A wait for an event, or the join of a graph: `op` is behind `other`, too.
struct Edge {
  uint32_t op, other;
};

struct Timeline {
  std::vector<Op> ops;
  std::vector<Edge> edges;
  uint32_t units = 0, streams = 1; ///< with those of each graph
  uint32_t steps = 0;
  uint64_t createdStreams = 0;
  uint64_t waits = 0, redundant = 0;
  std::vector<uint32_t> redundantCalls; ///< the first ones
  uint64_t allocations = 0, mostBytes = 0;
  std::vector<Range> memory; ///< of the device, all that was allocated
  uint64_t graphLaunches = 0;

  /// Whether `a` has ended before `b` begins, by what this rank's streams,
  /// events and host say.
  bool isBefore(uint32_t a, uint32_t b) const {
    const Op &first = ops[a], &second = ops[b];
    if (first.stream == second.stream)
      return first.tick <= second.tick;
    return at(second.clock, first.stream) >= first.tick ||
           at(second.host, first.stream) >= first.tick;
  }

  using Clock = std::vector<uint32_t>; ///< ticks by stream; what is absent is 0
  std::vector<Clock> clocks = {Clock()};
  uint32_t at(uint32_t clock, uint32_t stream) const {
    const Clock &values = clocks[clock];
    return stream < values.size() ? values[stream] : 0;
  }
};

/// Puts the calls of a rank in order, and refuses calls that make no sense,
/// that failed, or that make the host wait inside a step; allocations over
/// `limit` bytes (0: any), and accesses outside of what is allocated.
Timeline readTimeline(const Trace &trace, uint32_t rank, uint64_t limit,
                      Refusals &refusals);

/// "rank 1, line 57: cuEventRecord"
std::string placeOf(const Trace &trace, uint32_t rank, const Call &call);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_TIMELINE_H
