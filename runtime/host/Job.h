//===- Job.h - The ranks of a program that this process runs --------------===//

#ifndef PIPEMESH_RUNTIME_HOST_JOB_H
#define PIPEMESH_RUNTIME_HOST_JOB_H

#include "host/Rank.h"

#include <memory>

namespace pipemesh::runtime {

/// Runs the ranks that a transport places in this process, each on a thread of
/// its own. Where there are several processes, all of them call the functions
/// marked collective, in the same order.
class Job {
public:
  /// Starts a thread for each local rank and allocates its memory there.
  /// Collective.
  Job(const Bundle &bundle, const HostOptions &options,
      std::shared_ptr<Transport> transport = nullptr);
  ~Job();
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  const Bundle &getBundle() const { return bundle; }
  const Manifest &manifest() const { return bundle.manifest(); }
  Transport &getTransport() { return *transport; }

  /// Whether this process speaks for the job: it has rank 0, prints and writes.
  bool isFirst() const { return transport->isFirst(); }

  /// Number of ranks of the job, and of this process.
  int64_t size() const { return manifest().mesh.ranks(); }
  int64_t localSize() const { return static_cast<int64_t>(ranks.size()); }

  /// A rank of this process, by its place among them.
  Rank &local(int64_t index) { return *ranks[index]; }
  const Rank &local(int64_t index) const { return *ranks[index]; }

  /// Calls work(rank) on the thread of every rank, and returns when all are
  /// done. When one throws, the others stop at their next instruction or wait,
  /// and the first failure is thrown here: an Error names the rank, other
  /// types are passed on. Collective; the ranks of different processes may not
  /// meet each other in `work`.
  void onEveryRank(const std::function<void(Rank &)> &work);

  /// The same for work in which ranks meet. A failure in one of several
  /// processes, other than a NonFiniteLoss, ends the job.
  void stepEveryRank(const std::function<void(Rank &)> &work);

  /// Throws where a rank has not received all that others sent it in the steps
  /// so far. Collective.
  void checkReceived();

  /// Calls `work` in every process. Where it throws an Error in one of them,
  /// all throw it. Collective.
  void agree(const std::function<void()> &work);

  /// Index of the first role that has a buffer; throws when none has.
  size_t holdingRole(const std::string &buffer) const;

  /// Element 0 of float32 buffers, from the lowest rank that holds each, in
  /// every process. Collective.
  std::vector<float> readScalars(const std::vector<std::string> &buffers);

  /// Collects a whole tensor of micro-batches [0, microBatches) in the process
  /// of rank 0; elsewhere `whole` is not used. `part` gives the memory of a
  /// local rank. Collective.
  using Part = std::function<const std::byte *(const Rank &, int64_t)>;
  void collect(const std::string &buffer, int64_t microBatches,
               const Part &part, std::vector<std::byte> &whole) const;

  /// Collects a whole float32 tensor from the slots of the ranks in the process
  /// of rank 0. Collective.
  void gather(const std::string &buffer, std::vector<float> &whole) const;

  /// The texts of all processes in the order of the ranks, in the process of
  /// rank 0. Collective.
  std::vector<std::string> gatherTexts(const std::string &own) const;

private:
  /// Ends the job because a rank has waited too long.
  [[noreturn]] void endLate(int64_t rank, const std::vector<int64_t> &absent);
  /// The same where one has waited too long behind a step.
  void endWhenLate();
  void loop(int64_t index);
  void run(const std::function<void(Rank &)> &function, bool isStep);
  [[noreturn]] void rethrow(const std::exception_ptr &thrown, int64_t rank);

  const Bundle &bundle;
  std::string flightFolder;
  uint64_t deadline;
  uint64_t began = 0; ///< when the ranks were last set to work
  std::shared_ptr<Transport> transport;
  std::vector<std::unique_ptr<Program>> programs;
  std::atomic<bool> aborted{false};
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::thread> threads;

  const std::function<void(Rank &)> *work = nullptr;
  bool stopping = false;
  std::atomic<uint32_t> started{0}, startSleepers{0};
  std::atomic<uint32_t> finished{0}, finishSleepers{0};
  std::atomic<uint32_t> busy{0};
  std::atomic<int64_t> failedRank{-1};
  std::exception_ptr failure;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_JOB_H
