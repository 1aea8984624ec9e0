//===- Refusals.h - Why a trace is refused --------------------------------===//
//
// The checker of `runtime/trace` reads what ranks called of CUDA, cuBLASLt and
// NCCL (docs/cuda.md, "Checking a trace") and the tables of their bundle, and
// proves over the calls of all ranks that they are the bundle's program and
// keep its order. It shares nothing with what made the calls.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_REFUSALS_H
#define PIPEMESH_RUNTIME_TRACE_REFUSALS_H

#include "core/Error.h"

#include <string>
#include <vector>

namespace pipemesh::trace {

using runtime::cat;

/// What calls break. `rule` is one of
///   trace        a file that cannot be read, or calls that make no sense
///   call         a call that failed
///   collective   members of a communicator call different collectives
///   order        ranks launch communication in orders that do not agree
///   hang         streams and events with which ranks wait for each other
///   transfer     what is sent is not what is received
///   race         accesses to the same bytes that nothing orders as the program
///   does memory       more than a rank has, or an access outside of what it
///   allocated synchronous  the host waits inside a step redundant    too many
///   event edges that the others imply program      calls that are not those of
///   the bundle
class Refusals {
public:
  static constexpr size_t most = 20;

  struct Refusal {
    std::string rule, text;
  };

  template <typename... Args> void add(const char *rule, const Args &...args) {
    if (++found <= most)
      list.push_back({rule, cat(args...)});
  }
  bool empty() const { return found == 0; }
  bool full() const { return found >= most; }
  size_t count() const { return found; }
  const std::vector<Refusal> &refusals() const { return list; }

private:
  size_t found = 0;
  std::vector<Refusal> list;
};

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_REFUSALS_H
