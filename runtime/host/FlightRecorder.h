//===- FlightRecorder.h - What a rank exchanged last ----------------------===//
//
// Each rank writes its collectives and transfers into a ring of fixed size in a
// mapped file. The pages belong to the system, not to the process: what was
// written is there when the process was killed.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_FLIGHTRECORDER_H
#define PIPEMESH_RUNTIME_HOST_FLIGHTRECORDER_H

#include "core/Error.h"

#include <atomic>
#include <optional>

namespace pipemesh::runtime {

/// One collective or transfer of a rank.
struct FlightEntry {
  /// Kinds beside the opcodes of collectives.
  enum Kind : uint32_t { Send = 100, Receive };

  uint64_t number = 0;         ///< among those of the rank, from 1
  uint64_t begin = 0, end = 0; ///< nanoseconds(); end 0 while it lasts
  int64_t step = 0;
  uint64_t run = 0; ///< of a collective: among those of its communicator, from 1
  uint64_t elements = 0;
  uint32_t kind = 0;  ///< pmrt_opcode, Send or Receive
  uint32_t dtype = 0; ///< pmrt_dtype
  int32_t peer = -1;  ///< of a transfer: the rank
  uint32_t microBatch = 0;
  /// Axes and module of a collective ("tp at model.layers.7.mlp"), or the
  /// buffer of a transfer.
  char place[64] = {};
};
static_assert(sizeof(FlightEntry) == 128);

/// "all-reduce #12 over tp at model.layers.7.mlp", "receive #3 of 'h' from rank
/// 2".
std::string entryText(const FlightEntry &entry);

/// The same with step, micro-batch, elements and type.
std::string entryDetails(const FlightEntry &entry);

class FlightRecorder {
public:
  static constexpr uint64_t capacity = 4096;

  /// Records into private memory.
  FlightRecorder() : FlightRecorder("", 0, "", "") {}
  /// Records into a new file. `who` and `hash` (of the bundle) are for readers.
  FlightRecorder(const std::string &path, int64_t rank, const std::string &who,
                 const std::string &hash);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder &) = delete;
  FlightRecorder &operator=(const FlightRecorder &) = delete;

  /// Writes an entry over the oldest one; returns it, to set its end.
  FlightEntry &begin(const FlightEntry &entry);

private:
  void *memory = nullptr; ///< a whole file
};

/// What a file holds.
struct FlightLog {
  int64_t rank = 0;
  int64_t process = 0; ///< its number, on its machine
  std::string who, hash;
  std::vector<FlightEntry> entries; ///< oldest first
};

/// "DIR/rank-3.flight".
std::string flightPath(const std::string &folder, int64_t rank);

/// Throws an Error that names the file when it is not one of a recorder.
FlightLog readFlight(const std::string &path);

/// The axes of a collective.
std::string axesOf(const FlightEntry &entry);

/// The number of the last collective over these axes that a file knows of; 0
/// where there is none, or no such file.
uint64_t lastCollective(const std::string &path, const std::string &axes);

/// ", its process is gone", ", its process is stopped", or "".
std::string processText(const std::string &path);

/// The last entry of a file; nothing where there is none or it cannot be read.
std::optional<FlightEntry> lastFlight(const std::string &path);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_FLIGHTRECORDER_H
