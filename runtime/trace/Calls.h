//===- Calls.h - The calls of a rank --------------------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_CALLS_H
#define PIPEMESH_RUNTIME_TRACE_CALLS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pipemesh::trace {

enum class Kind : uint8_t {
  Other, ///< touches neither device memory nor streams
  MemAlloc,
  MemFree,
  HostAlloc,
  HostFree,
  StreamCreate,
  StreamDestroy,
  StreamSynchronize,
  StreamQuery,
  StreamWait,
  EventCreate,
  EventDestroy,
  EventRecord,
  EventQuery,
  ModuleLoad,
  ModuleFunction,
  Launch,
  Copy, ///< reads: from the device; writes: to it
  Set,
  WriteValue,
  Product,
  Attention,
  CommInit,
  CommSplit,
  CommEnd, ///< abort, destroy, finalize
  CommError,
  AllReduce,
  AllGather,
  ReduceScatter,
  Send,
  Receive,
  GroupStart,
  GroupEnd,
  CaptureBegin,
  CaptureEnd,
  GraphInstantiate,
  GraphLaunch,
  Touched, ///< what a launch has read and written
};

inline bool isExchange(Kind kind) {
  return kind >= Kind::AllReduce && kind <= Kind::Receive;
}
inline bool isTransfer(Kind kind) {
  return kind == Kind::Send || kind == Kind::Receive;
}

/// Elements as NCCL numbers them.
enum class Type : uint8_t {
  Int8,
  Uint8,
  Int32,
  Uint32,
  Int64,
  Uint64,
  Float16,
  Float32,
  Float64,
  Bfloat16
};
uint64_t bytesOf(Type type);
const char *textOf(Type type);

struct Range {
  uint64_t begin, end;
};

/// Numbers that lie one after the other in a trace's pool.
struct Slice {
  uint32_t first = 0, count = 0;
};

struct Call {
  Kind kind = Kind::Other;
  bool captured = false;
  bool hasStream = false; ///< else the host waits for it
  Type type = Type::Float32;
  uint8_t reduction = 0; ///< as NCCL numbers them: 0 sum, 2 max, 3 min
  uint32_t line = 0;     ///< from 0
  uint32_t symbol = 0;   ///< index of a name: that of the call
  uint32_t text = 0;     ///< index of a name: a kernel, an id
  int64_t result = 0;
  uint64_t stream = 0;  ///< 0: the null stream
  uint64_t handle = 0;  ///< event, communicator, module, graph
  uint64_t other = 0;   ///< function, executable, parent
  uint64_t address = 0; ///< also the host's
  uint64_t count = 0;   ///< elements, bytes, a value; blocks of a launch
  int64_t peer = 0;     ///< also rank, colour
  int64_t key = 0;      ///< also ranks; threads of a launch
  uint64_t group = 0;   ///< 0: none; of a touched launch its line
  uint64_t work = 0;    ///< of a product m * n * k * batch
  /// `parameters`: a kernel's, or address and bytes of a workspace.
  Slice reads, writes, parameters;
};

/// The file of one rank.
struct Trace {
  std::string file; ///< its name without the folder
  bool computes = false;
  std::vector<Call> calls;
  std::vector<Range> ranges;
  std::vector<uint64_t> numbers;
  std::vector<std::string> names;

  const std::string &name(const Call &call) const { return names[call.symbol]; }
  const std::string &text(const Call &call) const { return names[call.text]; }
};

/// Reads a file of calls; throws an Error with file and line where it is
/// malformed.
Trace readTrace(const std::string &path);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_CALLS_H
