//===- Live.h - How many bytes hold a value that is still read ------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_LIVE_H
#define PIPEMESH_RUNTIME_CHECK_LIVE_H

#include "check/Tables.h"

namespace pipemesh::proof {

/// The most bytes of a rank that are live at one instruction of a step. A byte is
/// live from its write to the last read before it is written again; state and
/// inputs are live all the time, outputs up to the end of the step, and what the
/// runtime zeroes from its beginning.
struct LiveFacts {
  uint64_t kept = 0;    ///< of state and inputs
  uint64_t values = 0;  ///< of other buffers, at the peak
  uint64_t scratch = 0; ///< of the scratch region, at the peak
  uint64_t kernel = 0;  ///< scratch of the kernel that runs there, of a thread
  /// Where the peak is: "role 1, action 7: ...", or "the beginning".
  std::string place = "the beginning of the step";
  uint64_t bytes() const { return kept + values + scratch + kernel; }
};

/// Of a role whose values are all there when they are read. The time is linear in
/// the actions, and in the instructions of a body for each way in which its
/// values live on behind it.
LiveFacts findLive(const Role &role);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_LIVE_H
