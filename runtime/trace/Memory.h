//===- Memory.h - What a rank has allocated -------------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_MEMORY_H
#define PIPEMESH_RUNTIME_TRACE_MEMORY_H

#include "trace/Calls.h"
#include "trace/Refusals.h"

#include <map>
#include <unordered_map>

namespace pipemesh::trace {

/// Follows a rank's allocations, of its device and of pinned memory.
class Memory {
public:
  /// Refuses what is over `limit` bytes of device memory (0: nothing is).
  Memory(const Trace &trace, uint32_t rank, uint64_t limit, Refusals &refusals)
      : trace(trace), rank(rank), limit(limit), refusals(refusals) {}

  /// An allocation or a free; nothing for other calls.
  void follow(const Call &call);
  /// Refuses accesses outside of what is allocated.
  void check(const Call &call) const;
  /// Which word of the progress memory a value is written to, or ~0. The
  /// progress memory is the pinned block that the first value goes to.
  uint64_t wordOf(const Call &call);

  uint64_t allocations = 0, bytes = 0, mostBytes = 0;
  std::vector<Range> ofDevice; ///< all that were ever allocated

private:
  struct Block {
    uint64_t bytes = 0;
    bool isHost = false;
  };

  template <typename... Args>
  void refuse(const char *rule, const Call &call, const Args &...args) const;
  void allocate(const Call &call, bool isHost);
  void check(const Call &call, const Slice &slice, const char *what) const;

  const Trace &trace;
  uint32_t rank;
  uint64_t limit;
  Refusals &refusals;
  std::map<uint64_t, Block> blocks; ///< by address
  /// Device addresses by those of the host.
  std::unordered_map<uint64_t, uint64_t> hostBlocks;
  uint64_t progress = 0;
  bool hasProgress = false;
};

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_MEMORY_H
