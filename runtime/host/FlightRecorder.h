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
#include "host/Record.h"

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

/// What a file holds.
struct FlightLog {
  int64_t rank = 0;
  int64_t process = 0; ///< its number, on its machine
  std::string who, hash;
  RecordedActivity activity;
  /// nanoseconds() of its machine when it was read there.
  uint64_t readAt = 0;
  /// State of the process by then, as in /proc: 'T' stopped, 'X' gone.
  char processState = 'R';
  bool fromElsewhere = false;       ///< sent by another process
  std::vector<FlightEntry> entries; ///< oldest first
};

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

  /// What the rank is doing, in the same file.
  Record &activity() const;

  /// What the file holds.
  FlightLog log() const;

private:
  void *memory = nullptr; ///< a whole file
};

/// "DIR/rank-3.flight".
std::string flightPath(const std::string &folder, int64_t rank);

/// Throws an Error that names the file when it is not one of a recorder.
FlightLog readFlight(const std::string &path);

/// The bytes of a file for another machine, with the time and the state of the
/// process in them; "" where there is none.
std::string packFlight(const std::string &path);

/// Writes such bytes as the record of a rank. Throws an Error when they are
/// none.
void unpackFlight(const std::string &bytes, const std::string &folder,
                  int64_t rank);

/// The last entry of a file; nothing where there is none or it cannot be read.
std::optional<FlightEntry> lastFlight(const std::string &path);

/// ", its process is gone", ", its process is stopped", or "".
std::string processText(const FlightLog &log);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_FLIGHTRECORDER_H
