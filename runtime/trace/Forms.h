//===- Forms.h - The calls that a trace may hold, and their fields --------===//

#ifndef PIPEMESH_RUNTIME_TRACE_FORMS_H
#define PIPEMESH_RUNTIME_TRACE_FORMS_H

#include "trace/Calls.h"

namespace pipemesh::trace {

enum Field : uint8_t {
  Address,
  Batch,
  Blocks,
  Bytes,
  CallName,
  Captured,
  Color,
  Comm,
  Count,
  Device,
  Error,
  Event,
  Executable,
  Function,
  Graph,
  Group,
  Host,
  Id,
  K,
  Kernel,
  Key,
  KindField,
  M,
  Mode,
  Module,
  N,
  Name,
  Parameters,
  Parent,
  Peer,
  Rank,
  Ranks,
  Reads,
  Reduction,
  Result,
  Stream,
  Threads,
  TouchedField,
  TraceVersion,
  TypeField,
  Value,
  Workspace,
  Writes,
  numFields
};

extern const char *const fieldNames[numFields];

constexpr uint64_t bit(Field field) { return uint64_t(1) << field; }
template <typename... Fields> constexpr uint64_t all(Fields... fields) {
  return (bit(fields) | ... | 0);
}

struct Form {
  Kind kind;
  uint64_t needs; ///< fields
};

/// The call named so; null where it is not known.
const Form *formOf(std::string_view name);

/// Calls that touch neither device memory nor a stream.
bool isHarmless(std::string_view name);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_FORMS_H
