//===- Options.h - how the stand-ins behave -------------------------------===//
//
// Read once, from the environment (docs/cuda.md).
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_OPTIONS_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh::cuda::standin {

/// A call that goes wrong on purpose: the `number`-th of a symbol (from 1), counted
/// for each rank by itself.
struct Fault {
  /// Error: the call returns `code`. Async: it is accepted, and the communicator then
  /// has the error. Stuck: it never ends.
  enum Kind { Error, Async, Stuck } kind = Error;
  std::string call;
  uint64_t number = 0;
  /// -1: of every rank.
  int rank = -1;
  int code = 0;
};

struct Options {
  /// Device memory is memory, and work is done; else calls are only recorded.
  bool isComputing = false;
  uint64_t order = 0;
  int devices = 8;
  /// Of each device, in bytes.
  uint64_t memory = uint64_t(80) << 30;
  /// Ten times the major number and the minor one.
  int capability = 90;
  bool hasLinks = true;
  /// The folder of the traces; none where it is empty.
  std::string trace;
  std::vector<Fault> faults;
};

/// Says on the standard error what it cannot read, and ends the process.
const Options &options();

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_OPTIONS_H
