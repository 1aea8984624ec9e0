//===- Fault.h - Failures on purpose, for tests ---------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_FAULT_H
#define PIPEMESH_RUNTIME_HOST_FAULT_H

#include <cstdint>
#include <optional>
#include <string>

namespace pipemesh::runtime {

/// What a rank does in the middle of a step: it kills its process by SIGKILL,
/// or stands still for ever.
struct Fault {
  enum Kind { Kill, Stall } kind = Kill;
  int64_t rank = 0, step = 0;

  void happen() const;
};

/// Reads "kill:rank=3,step=2" or "stall:rank=0,step=1"; nothing of "".
std::optional<Fault> parseFault(const std::string &text);

/// That of the environment variable PMRUN_FAULT.
std::optional<Fault> faultOfEnvironment();

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_FAULT_H
