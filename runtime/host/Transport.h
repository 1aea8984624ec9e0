//===- Transport.h - How ranks meet, whatever carries the data ------------===//
//
// A rank's program meets other ranks in collectives, transfers, and once a step
// in a vote. `ThreadTransport` is for ranks that are threads of one process,
// `MpiTransport` for processes. Both reduce in the order of the ranks, so that
// their bits agree.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_TRANSPORT_H
#define PIPEMESH_RUNTIME_HOST_TRANSPORT_H

#include "core/Error.h"
#include "core/Mesh.h"
#include "host/Sync.h"
#include "host/ThreadPool.h"
#include "pmrt/pmrt.h"

#include <memory>
#include <mutex>
#include <optional>

namespace pipemesh::runtime {

/// The ranks that meet in the collectives of one communicator.
class Group {
public:
  explicit Group(std::vector<int64_t> ranks) : ranks(std::move(ranks)) {}
  virtual ~Group() = default;

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  const std::vector<int64_t> &members() const { return ranks; }

  /// Runs a collective, the member's `number`th of this group by its program;
  /// `pointers` are the operands of the calling member. Returns the nanoseconds
  /// spent waiting. Throws when the members meet with different collectives.
  virtual uint64_t run(int64_t member, uint64_t number,
                       const pmrt_instruction &instruction,
                       void *const *pointers, ThreadPool &pool,
                       const Patience &patience) = 0;

protected:
  std::vector<int64_t> ranks;
};

/// What a rank brings to a vote: whether the step may go on to change the
/// state, and if not, the value and the buffer that forbid it.
struct Objection {
  int64_t rank = 0;
  float value = 0;
  bool gradient = false; ///< says less than a loss that is not finite
  std::string buffer;

  /// Whether this one is told rather than another.
  bool before(const Objection &other) const {
    return gradient != other.gradient ? other.gradient : rank < other.rank;
  }
};

/// An objection as a text that other processes are sent; "" for none.
std::string packObjection(const std::optional<Objection> &objection);
/// The one that comes before the others among the texts of all ranks.
std::optional<Objection> firstObjection(const std::vector<std::string> &texts);

/// A transfer in progress: the channel and the ranks at its ends.
struct Channel {
  int64_t sender, receiver;
  uint32_t number;
};

/// What sender and receiver of a transfer must agree on; plain bytes.
struct Parcel {
  uint64_t bytes = 0;
  int64_t step = 0;
  uint32_t microBatch = 0;
  uint32_t dtype = 0; ///< pmrt_dtype
};

/// Throws an Error with `mismatchStatus` where what has come from a rank is not
/// what is received.
void checkParcel(const Parcel &come, const Parcel &wanted, int64_t sender);

/// Of messages that were sent and not received.
std::string leftOverText(int64_t sender, int64_t receiver, uint64_t count);

/// Why a job is ended.
struct JobEnd {
  std::string message;
  int status = failedStatus;
  /// The rank that has waited too long, and for whom.
  int64_t late = -1;
  std::vector<int64_t> absent;
  std::string flight; ///< folder of the flight records; empty: not worth a look

  std::string text() const { return message + whereToRead(flight); }
  /// "; pmrun --read-flight=DIR shows what all did last", or "".
  static std::string whereToRead(const std::string &folder);
};

class Transport {
public:
  virtual ~Transport() = default;

  /// The ranks of this process.
  virtual const std::vector<int64_t> &localRanks() const = 0;

  /// The group of a communicator; all processes ask for the same groups in the
  /// same order, also for those that they have no member in. The collectives of
  /// one lane meet each other only.
  virtual Group &group(const std::vector<int64_t> &members,
                       uint32_t lane) = 0;

  /// Copies what a rank sends; never waits for the receiver.
  virtual void send(const Channel &channel, const Parcel &parcel,
                    const void *data) = 0;

  /// Waits for the next message of a channel, compares its parcel and copies
  /// it. Returns the nanoseconds spent waiting.
  virtual uint64_t receive(const Channel &channel, const Parcel &parcel,
                           void *data, const Patience &patience) = 0;

  /// Meets all ranks once a step, before any of them changes its state, and
  /// returns the objection that comes before the others to all of them.
  /// `waited` grows by the nanoseconds spent waiting.
  virtual std::optional<Objection> vote(int64_t rank,
                                        const std::optional<Objection> &own,
                                        const Patience &patience,
                                        uint64_t &waited) = 0;

  /// Lets messages move on while this process computes.
  virtual void progress() {}

  /// Ends all waits of this process's ranks, also later ones, until `reset`.
  virtual void abort() = 0;

  /// Makes the transport usable after a step that ended early, on every rank
  /// at the same place or by an abort; nobody may be waiting.
  virtual void reset() = 0;

  // The control plane, called outside of steps by every process.

  /// Gives every process the texts of all of them, in the order of the ranks;
  /// one of each process.
  virtual std::vector<std::string> exchange(const std::string &text) = 0;

  /// Moves `bytes` from the process of a rank to the process of rank 0; `data`
  /// is read there and written here, and not used by others.
  virtual void moveToFirst(int64_t rank, void *data, uint64_t bytes) = 0;

  /// Bytes of messages and operands that are kept for the next ones.
  virtual uint64_t heldBytes() { return 0; }

  /// Prints a message and ends the whole job, whatever its ranks do.
  [[noreturn]] virtual void end(const JobEnd &reason) = 0;

  /// What the ranks of this process have sent or received and their peers have
  /// not received or sent; "" behind steps that ran as they should. Collective.
  virtual std::string leftOver() = 0;

  /// Asked by `end` first, where it is set: true when the message has been
  /// printed for the whole job.
  std::function<bool(const JobEnd &)> tellAll;

  /// What `end` calls once the message is out: it gives back what the end of the process
  /// does not, such as the communicators of GPUs. May be empty.
  void setRelease(std::function<void()> function);

  /// Of waits in the control plane.
  Patience patience;

  /// Whether this process has rank 0, and speaks for all.
  bool isFirst() const { return localRanks().front() == 0; }

protected:
  /// Calls what was set, and goes on after a second when it does not come back.
  void giveBack();

private:
  std::mutex releaseLock; ///< threads of the transport end jobs, too
  std::function<void()> release;
};

/// A failure that all processes know of.
class AgreedError : public Error {
public:
  using Error::Error;
};

/// Calls `work` in every process. Where it throws an Error in some, an
/// AgreedError is thrown in all. Collective.
void agree(Transport &transport, const std::function<void()> &work);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_TRANSPORT_H
