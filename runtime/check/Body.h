//===- Body.h - What a body reads and writes ------------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_BODY_H
#define PIPEMESH_RUNTIME_CHECK_BODY_H

#include "check/Flow.h"
#include "check/Ranges.h"

namespace pipemesh::proof {

/// What a run of a body does with a buffer; ranges begin at slot 0 where the
/// body runs once a step, else at the slot of the micro-batch.
struct BufferUse {
  uint32_t buffer;
  Ranges reads;  ///< before the body itself has written there, on some way
  Ranges writes; ///< on every way
  Ranges mayWrite;
};

struct BodyFacts {
  std::vector<BufferUse> uses;
  /// Instructions that are collectives, as they stand.
  std::vector<uint64_t> collectives;
  /// Those that a switch decides on.
  std::vector<uint64_t> conditional;
};

/// Reads a body once. Refuses reads of scratch that nothing before them has
/// written on every way.
BodyFacts readBody(const Role &role, uint32_t body);

/// The first instruction that reads a byte of [begin, end) of a buffer.
uint64_t firstReader(const pmrt_body &body, uint32_t buffer, uint64_t begin,
                     uint64_t end);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_BODY_H
