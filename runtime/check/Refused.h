//===- Refused.h - Why a program is refused -------------------------------===//
//
// The checker of `runtime/check` reads a bundle's tables and proves that they can
// run. It shares nothing with the compiler and trusts none of the checks of the
// runtime: what it proves, it computes from the tables of pmrt.h.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_REFUSED_H
#define PIPEMESH_RUNTIME_CHECK_REFUSED_H

#include "core/Error.h"

namespace pipemesh::proof {

using runtime::cat;

/// What a program breaks. `rule` is one of
///   tables      malformed: numbers out of range, targets, counts, kinds
///   schedule    an action is missing, comes twice, or too early
///   overlap     accesses to overlapping bytes that nothing orders
///   undefined   a read of what nothing has written
///   stale       a read of a slot that another value has taken
///   condition   a collective that some ranks may not reach
///   collective  members come to different collectives
///   transfer    what is sent is not what is received
///   cycle       ranks wait for each other
///   memory      more than a rank has
class Refused : public runtime::Error {
public:
  Refused(const std::string &rule, const std::string &text)
      : Error(cat(rule, ": ", text)), broken(rule) {}
  const std::string &rule() const { return broken; }

private:
  std::string broken;
};

template <typename... Args>
[[noreturn]] void refuse(const std::string &rule, const Args &...args) {
  throw Refused(rule, cat(args...));
}

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_REFUSED_H
