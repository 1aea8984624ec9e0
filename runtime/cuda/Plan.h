//===- Plan.h - The launches of a step and the events between streams -----===//

#ifndef PIPEMESH_RUNTIME_CUDA_PLAN_H
#define PIPEMESH_RUNTIME_CUDA_PLAN_H

#include "core/Manifest.h"
#include "cuda/Order.h"

#include <string>

namespace pipemesh::cuda {

/// The first streams of a rank; one for each pair of roles that it sends to or
/// receives from follows.
enum StreamNumber : uint32_t {
  ComputeStream = 0,
  CollectiveStream = 1, ///< collectives in the order of the instructions
  StartedStream = 2,    ///< those that go on beside
  FirstTransferStream = 3
};

/// A stream for the transfers from one role to another.
struct TransferLane {
  uint32_t sender, receiver; ///< roles
};

/// One thing that a rank launches.
struct Launch {
  /// Not one of the instructions: a transfer, or a whole body with loops, whose
  /// instructions all go to the compute stream.
  static constexpr uint32_t whole = UINT32_MAX;

  uint32_t action = 0;
  uint32_t instruction = whole;
  uint32_t stream = ComputeStream;
  /// Events that its stream waits for first: entries of Plan::waits.
  uint32_t firstWait = 0, waits = 0;
  int32_t records = -1; ///< the event that is recorded behind it
  /// Number of a collective or a transfer on its stream, from 1; 0: neither.
  uint32_t sequence = 0;
  bool joinsPrevious = false; ///< in one NCCL group with the launch before
  /// The copy of what a send takes; of the send itself, where it is.
  bool copies = false;
  uint64_t copyAt = 0; ///< among the copies' bytes
  bool isCopied = false;
};

/// The launches of a step of a role in their order. Between streams there is an event
/// where two accesses to the same bytes need it, one of them a write, unless what a
/// stream waits for already implies it: each launch knows how far all streams were
/// when it began (vector clocks), and waits for no more.
class Plan {
public:
  Plan(const ClusterOrder &order, const std::vector<const pmrt_role *> &roles,
       uint32_t role, const std::vector<uint32_t> &accumulators);

  /// The first one zeroes the accumulators (buffers of the role) and has no action.
  const std::vector<Launch> &getLaunches() const { return launches; }
  const std::vector<uint32_t> &getWaits() const { return waits; }
  /// What the compute stream waits for at the end of the step.
  const std::vector<uint32_t> &getLastWaits() const { return lastWaits; }
  uint32_t numEvents() const { return events; }
  /// For copies of what is sent, which lie one behind the other.
  uint64_t copyBytes() const { return copies; }
  uint32_t numStreams() const {
    return FirstTransferStream + static_cast<uint32_t>(lanes.size());
  }
  /// Whether anything is launched on a stream.
  bool uses(uint32_t stream) const { return inUse[stream]; }
  const std::vector<TransferLane> &getLanes() const { return lanes; }

  /// Why the step cannot be captured as a graph; empty where it can.
  const std::string &captureProblem() const { return problem; }

private:
  class Builder;

  std::vector<Launch> launches;
  std::vector<uint32_t> waits, lastWaits;
  uint32_t events = 0;
  uint64_t copies = 0;
  std::vector<TransferLane> lanes;
  std::vector<bool> inUse;
  std::string problem;
};

/// What is zeroed when a step begins: buffers of a role.
std::vector<uint32_t> accumulatorsOf(const runtime::RoleInfo &info);

/// The plans of all roles of a program, which `infos` describes.
std::vector<Plan> planRoles(const std::vector<const pmrt_role *> &roles,
                            const std::vector<runtime::RoleInfo> &infos);

/// What a rank allocates: the arena, behind it the rank's coordinates in each
/// micro-batch (int64, one a mesh axis), and the copies of what is sent.
struct DeviceMemory {
  DeviceMemory(const pmrt_role &role, uint64_t microBatches, const Plan &plan);

  uint64_t coordinatesAt, copiesAt, bytes;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PLAN_H
