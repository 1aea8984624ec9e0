//===- Fault.h - Failures on purpose --------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_FAULT_H
#define PIPEMESH_RUNTIME_HOST_FAULT_H

#include <cstdint>
#include <optional>
#include <string>

namespace pipemesh::runtime {

/// What a rank does at one of its collectives and transfers, counted from 1, or
/// in the middle of a step.
struct Fault {
  enum Kind {
    Kill,      ///< its process dies by SIGKILL; of several threads, just it ends
    Stall,     ///< it stands still for ever
    Skip,      ///< it goes on without the operation
    WrongSize, ///< it brings an element less
    Slow       ///< it comes late
  } kind = Kill;
  int64_t rank = 0;
  std::optional<uint64_t> operation; ///< else `step`
  int64_t step = 0;
  int64_t milliseconds = 1000; ///< of Slow

  bool isAt(int64_t ofRank, uint64_t number) const {
    return rank == ofRank && operation && *operation == number;
  }

  /// Kill, Stall and Slow: returns when the rank goes on. `alone` says that the
  /// rank has its process to itself.
  void happen(bool alone) const;
};

/// Reads "kill:rank=3,op=200", "slow:rank=0,op=7,ms=500" or, for kill and stall,
/// "stall:rank=0,step=1"; nothing of "". Throws an Error that shows the forms.
std::optional<Fault> parseFault(const std::string &text);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_FAULT_H
