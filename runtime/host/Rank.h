//===- Rank.h - One rank: its memory and its instruction loop -------------===//

#ifndef PIPEMESH_RUNTIME_HOST_RANK_H
#define PIPEMESH_RUNTIME_HOST_RANK_H

#include "host/Arena.h"
#include "host/Collective.h"
#include "host/Program.h"

#include <functional>
#include <optional>

namespace pipemesh::runtime {

struct HostOptions {
  int threads = 1;     ///< of each rank
  bool poison = false; ///< fill memory with NaN before it is first used
  bool trace = false;  ///< record a span for each action and instruction
  /// Set to 2 or more to stop all ranks at their next instruction.
  const std::atomic<int> *interrupts = nullptr;
};

/// Where a rank's time went, in nanoseconds.
struct TimeSpent {
  uint64_t gemm = 0, kernels = 0, collectives = 0, waiting = 0, other = 0;
  double gemmFlops = 0;
  uint64_t total() const {
    return gemm + kernels + collectives + waiting + other;
  }
};

/// A span of the trace: an instruction, or an action where it is null.
struct TraceEvent {
  uint64_t begin, end, waited;
  uint32_t body, microBatch;
  const pmrt_instruction *instruction;
};

/// The first value that is not finite, found while a step was run again.
struct NonFiniteValue {
  uint64_t action, instruction;
  float value;
  std::string place;
};

/// Thrown before an update whose loss would not be finite; the state is as it
/// was before the step.
class NonFiniteLoss : public std::exception {
public:
  NonFiniteLoss(float value, const std::string &buffer)
      : value(value), buffer(buffer) {}
  const char *what() const noexcept override { return "loss is not finite"; }
  const float value;        ///< of this rank's part
  const std::string buffer; ///< that holds it: part of the loss or a gradient
};

class Rank {
public:
  /// `groups` has the group of this rank for each communicator of its role.
  Rank(const Program &program, const Mesh &mesh, int64_t rank,
       std::vector<Group *> groups, const HostOptions &options,
       const std::atomic<bool> &aborted, int spin);

  /// Allocates and touches the memory; called on the rank's own thread.
  void allocate();

  int64_t number() const { return rank; }
  const Program &getProgram() const { return program; }

  /// Called after each action with its index in the role's order.
  std::function<void(Rank &, uint64_t)> afterAction;

  /// Runs the actions of one step.
  void runStep();

  /// Runs a step again up to its update and records the first instruction
  /// whose result is not finite.
  std::optional<NonFiniteValue> findNonFinite();

  /// Memory of a buffer's slot.
  std::byte *slot(int64_t buffer, int64_t microBatch) const;

  /// Whether this rank's blocks are the ones to read where ranks hold copies:
  /// its coordinate is 0 along each axis that does not cut the buffer.
  bool holdsFirstCopy(const BufferInfo &buffer) const;

  /// Copies between a whole tensor in row-major order and this rank's part of
  /// it of one micro-batch.
  void copyIn(int64_t buffer, int64_t microBatch, const void *whole);
  void copyOut(int64_t buffer, int64_t microBatch, void *whole) const;

  /// Element 0 of the named float32 buffer.
  float readScalar(const std::string &buffer) const;

  TimeSpent time;
  std::vector<TraceEvent> events;
  bool traceFull = false;

private:
  void beginStep();
  void runAction(uint64_t index);
  uint64_t execute(uint32_t body, uint64_t index, void *const *pointers);
  void runKernel(const pmrt_kernel &kernel, void *const *pointers);
  void checkLoss() const;
  void findInResults(uint64_t action, uint64_t instruction,
                     const pmrt_body &body, void *const *pointers);

  const Program &program;
  const Mesh &mesh;
  const int64_t rank;
  std::vector<Group *> groups;
  std::vector<int64_t> memberIndex; ///< of this rank, in each group
  HostOptions options;
  const std::atomic<bool> &aborted;
  Running running;
  ThreadPool pool;
  Arena arena;
  std::vector<Arena> kernelScratch; ///< one for each thread
  std::vector<void *> operands;
  std::vector<int64_t> coordinates;
  pmrt_kernel_context context;
  bool searching = false;
  std::optional<NonFiniteValue> found;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_RANK_H
