//===- Order.h - In what order the ranks launch ---------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_ORDER_H
#define PIPEMESH_RUNTIME_CUDA_ORDER_H

#include "pmrt/pmrt.h"

#include <cstdint>
#include <vector>

namespace pipemesh::cuda {

/// What a rank launches at once.
struct LaunchItem {
  uint64_t action; ///< of the role's order
  /// Of a transfer: with the one before it in one NCCL group.
  bool joinsPrevious = false;
  /// Not the send itself: the copy of its slot to a place of its own.
  bool copies = false;
  /// A send from the copy.
  bool isCopied = false;
};

/// A step of all roles in one order, in which NCCL's rendezvous cannot hang.
///
/// The runtime program may send before the receiver has space: on the host a send
/// copies. NCCL's does not. So a transfer is one thing at both ends here, launched
/// behind the last use of the bytes that it takes or fills and before their next one,
/// the receive often earlier than the program waits for it. One topological order of
/// all fragments and transfers of all roles, fragments whose collectives meet taken
/// as one, gives each role its own: all ranks launch their communication in an order
/// that is consistent over all communicators.
///
/// Where no such order exists, as in schedules that send long before the receiver has
/// space, the sends that stand in a circle are made from a copy, as on the host.
class ClusterOrder {
public:
  /// Throws an Error that names the transfers where no such order exists.
  explicit ClusterOrder(const std::vector<const pmrt_role *> &roles);

  /// Every action but receives at their place in the list: a receive stands where it
  /// is posted.
  const std::vector<LaunchItem> &of(uint32_t role) const { return items[role]; }

private:
  std::vector<std::vector<LaunchItem>> items;
};

/// Bytes of the arena that an operand is, in a fragment of a micro-batch.
struct ArenaRange {
  uint64_t begin, end;
};
ArenaRange rangeOf(const pmrt_role &role, const pmrt_operand &operand,
                   uint32_t microBatch);
/// Those of the slot of a transfer.
ArenaRange rangeOf(const pmrt_role &role, const pmrt_action &transfer);

/// Whether a body runs once a step and sees slot 0.
bool isOnce(const pmrt_body &body);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_ORDER_H
