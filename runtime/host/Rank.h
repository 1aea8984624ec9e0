//===- Rank.h - One rank: its memory and its instruction loop -------------===//

#ifndef PIPEMESH_RUNTIME_HOST_RANK_H
#define PIPEMESH_RUNTIME_HOST_RANK_H

#include "host/Arena.h"
#include "host/Collective.h"
#include "host/Courier.h"
#include "host/Fault.h"
#include "host/FlightRecorder.h"
#include "host/Pace.h"
#include "host/Program.h"
#include "host/Slices.h"
#include "host/Transport.h"

#include <algorithm>
#include <array>

namespace pipemesh::runtime {

class Rank;
struct HostOptions;
/// Takes the arguments of Rank's constructor.
using RankFactory = std::function<std::unique_ptr<Rank>(
    const Program &, const Mesh &, int64_t rank, Transport &, std::vector<Group *>,
    bool votes, const HostOptions &, const std::atomic<bool> &aborted, int spin)>;

struct HostOptions {
  int threads = 1;     ///< of each rank
  bool poison = false; ///< fill memory with NaN before it is first used
  bool poisonFreed = false; ///< and as soon as nothing reads it any more
  bool trace = false;  ///< record a span for each action and instruction
  /// Nanoseconds that a wait for other ranks may take; 0: any time.
  uint64_t deadline = 0;
  std::optional<Fault> fault;
  /// Fragments sleep so long and compute nothing.
  std::shared_ptr<const Pace> pace;
  /// Folder of the ranks' flight records; empty: they are not kept.
  std::string flightFolder;
  std::string bundleHash; ///< for their readers
  /// Makes the ranks of a bundle that is not for this processor.
  RankFactory makeRank;
  /// Set to 2 or more to stop all ranks at their next instruction.
  const std::atomic<int> *interrupts = nullptr;
};

/// Where a rank's time went, in nanoseconds.
struct TimeSpent {
  uint64_t gemm = 0, kernels = 0, collectives = 0, transfers = 0, waiting = 0,
           other = 0;
  double gemmFlops = 0;
  uint64_t total() const { return busy() + collectives + transfers + waiting; }
  /// Time in which the rank computed.
  uint64_t busy() const { return gemm + kernels + other; }
};

/// A span of the trace: an instruction, or an action (a fragment or a transfer)
/// where it is null.
struct TraceEvent {
  uint64_t begin, end, waited;
  uint32_t action, step;
  const pmrt_instruction *instruction;
};

/// How often what was run, in all steps so far.
struct RunCounts {
  uint64_t steps = 0;
  std::vector<std::vector<uint64_t>> instructions; ///< of each body
  std::vector<uint64_t> actions;                   ///< of the role's order
  uint64_t weightBytesRead = 0; ///< of the files, by the loader
  /// Of the files' pages, in the groups in which the system maps them, and of
  /// the files.
  uint64_t weightBytesMapped = 0, weightBytesStored = 0;
};

/// The first value that is not finite, found while a step was run again.
struct NonFiniteValue {
  /// Orders the values of all ranks: forward stages, then backward ones in
  /// their reverse order; action and instruction.
  std::array<int64_t, 4> order;
  float value;
  std::string place;
};

/// Thrown by every rank before an update whose loss would not be finite; the
/// state is as it was before the step.
class NonFiniteLoss : public std::exception {
public:
  NonFiniteLoss(float value, const std::string &buffer)
      : value(value), buffer(buffer) {}
  const char *what() const noexcept override { return "loss is not finite"; }
  const float value;        ///< of this rank's part
  const std::string buffer; ///< that holds it: part of the loss or a gradient
};

/// Whether a rank's blocks are the ones to read where ranks of its role hold
/// copies: its coordinate is 0 along each axis that does not cut the buffer.
bool holdsFirstCopy(const Mesh &mesh, int64_t rank, const BufferInfo &buffer);

/// Copies a rank's part of a tensor of one micro-batch to its place in the
/// whole, in row-major order.
void copyOutOf(const Mesh &mesh, const BufferInfo &buffer, int64_t rank,
               int64_t microBatch, const std::byte *local, std::byte *whole);

class Rank {
public:
  /// `groups` has the group of this rank for each communicator of its role;
  /// `votes` says whether the ranks of the job change state.
  Rank(const Program &program, const Mesh &mesh, int64_t rank,
       Transport &transport, std::vector<Group *> groups, bool votes,
       const HostOptions &options, const std::atomic<bool> &aborted, int spin);
  virtual ~Rank() = default;

  /// Allocates and touches the memory; called on the rank's own thread.
  virtual void allocate();

  int64_t number() const { return rank; }

  /// What the rank is doing, and what it exchanged last too.
  RecordedActivity activity() const { return recorder.activity().read(); }
  FlightLog flightLog() const { return recorder.log(); }

  int threads() const { return pool.threads(); }
  const Program &getProgram() const { return program; }

  /// Called after each action with its index in the role's order.
  std::function<void(Rank &, uint64_t)> afterAction;

  /// Called with the ranks that a wait has missed for too long.
  std::function<void(Rank &, const std::vector<int64_t> &)> onLate;

  /// Numbers collectives from 1 again; after a step that ranks have left at
  /// different places.
  void numberAnew() { std::fill(collectives.begin(), collectives.end(), 0); }

  /// Waits for the end of what was started; after an abort.
  virtual void settle();

  /// Gives back what would hold others up when this process ends in the middle of a
  /// step. Called by any thread; the rank does nothing more.
  virtual void abandon() {}

  /// Runs the actions of step number `step`.
  virtual void runStep(int64_t step);

  /// Runs a step again up to its update and records the first instruction
  /// whose result is not finite.
  virtual std::optional<NonFiniteValue> findNonFinite();

  /// Memory of a buffer's slot, where it is the host's.
  std::byte *slot(int64_t buffer, int64_t microBatch) const;

  /// What a buffer's slot holds; good until the next call.
  virtual const std::byte *view(int64_t buffer, int64_t microBatch) const {
    return slot(buffer, microBatch);
  }

  /// Lets `fill` write a buffer's slot. What it leaves out holds anything then.
  virtual void edit(int64_t buffer, int64_t microBatch,
                    const std::function<void(std::byte *)> &fill) {
    fill(slot(buffer, microBatch));
  }

  /// Copies this rank's part of one micro-batch out of a whole tensor in
  /// row-major order.
  void copyIn(int64_t buffer, int64_t microBatch, const void *whole);

  /// The same of an input, of which anything may lie behind short blocks: with
  /// `poison`, bits that are no number.
  void feed(int64_t buffer, int64_t microBatch, const void *whole);

  /// Element 0 of the named float32 buffer.
  float readScalar(const std::string &buffer) const;

  /// What of the arena is in use; null unless freed memory is poisoned.
  const Slices *liveSlices() const { return slices.get(); }

  TimeSpent time;
  RunCounts counts;
  std::vector<TraceEvent> events;
  /// Of what went on beside the instructions; read between steps.
  std::vector<TraceEvent> started;
  bool traceFull = false;

protected:
  void beginStep();
  void vote();
  void runAction(uint64_t index);
  void runTransfer(uint64_t index);
  /// Sleeps instead of running a fragment.
  void sleepThrough(uint64_t index, const pmrt_body &body);
  void stopWhenAsked() const;
  /// Called at each collective and transfer: counts it, and lets a fault that
  /// is due happen. False where it is to be skipped.
  bool comesToCommunication();
  bool isFaulty(Fault::Kind kind) const {
    return options.fault && options.fault->kind == kind &&
           options.fault->isAt(rank, communications);
  }
  bool isAlone() const { return transport.localRanks().size() == 1; }
  /// "tp at model.layers.7.mlp": the axes and the module of a collective.
  std::string placeOf(const pmrt_instruction &instruction) const;
  uint64_t runCollective(uint32_t action, const pmrt_instruction &instruction,
                         void *const *pointers);
  /// Hands a collective to the courier.
  void start(uint32_t action, const pmrt_instruction &instruction,
             const pmrt_instruction &brought, void *const *pointers,
             uint64_t number, FlightEntry &recorded);
  uint32_t stepNumber() const {
    return static_cast<uint32_t>(record.step.load(std::memory_order_relaxed));
  }
  /// Parts into which a kernel's extent is cut, each on a thread of its own.
  int64_t partsOf(const pmrt_kernel &kernel) const;
  /// Scratch of all threads that run a kernel.
  uint64_t scratchOf(const pmrt_instruction &instruction) const;
  uint64_t execute(uint32_t action, uint32_t body, uint64_t index,
                   void *const *pointers);
  void runKernel(const pmrt_kernel &kernel, void *const *pointers);
  std::optional<Objection> objection() const;
  void findInResults(uint64_t action, uint64_t instruction,
                     const pmrt_body &body, void *const *pointers);

  const Program &program;
  const Mesh &mesh;
  const int64_t rank;
  Transport &transport;
  std::vector<Group *> groups;
  const bool votes;
  std::vector<int64_t> memberIndex; ///< of this rank, in each group
  std::vector<uint64_t> collectives; ///< so far, in each group
  uint64_t communications = 0;       ///< collectives and transfers so far
  HostOptions options;
  const std::atomic<bool> &aborted;
  Running running;
  ThreadPool pool;
  Arena arena;
  std::vector<Arena> kernelScratch; ///< one for each thread
  std::unique_ptr<Slices> slices;
  Patience patience;
  FlightRecorder recorder;
  std::unique_ptr<ShorterCollective> shorter; ///< what a fault brings
  Record &record;
  std::vector<void *> operands;
  std::vector<int64_t> coordinates;
  pmrt_kernel_context context;
  bool searching = false;
  std::optional<NonFiniteValue> found;
  ThreadPool courierPool{1, 0};
  /// Where the role starts anything; ends before what it uses.
  std::unique_ptr<Courier> courier;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_RANK_H
