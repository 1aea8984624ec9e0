//===- Job.h - All ranks of a program as threads of this process ----------===//

#ifndef PIPEMESH_RUNTIME_HOST_JOB_H
#define PIPEMESH_RUNTIME_HOST_JOB_H

#include "host/Rank.h"

#include <memory>

namespace pipemesh::runtime {

class Job {
public:
  /// Starts a thread for each rank and allocates its memory there.
  Job(const Bundle &bundle, const HostOptions &options);
  ~Job();
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  const Bundle &getBundle() const { return bundle; }
  const Manifest &manifest() const { return bundle.manifest(); }
  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  Rank &rank(int64_t index) { return *ranks[index]; }
  const Rank &rank(int64_t index) const { return *ranks[index]; }

  /// Calls work(rank) on the thread of every rank, and returns when all are
  /// done. When one throws, the others stop at their next instruction or wait,
  /// and the first failure is thrown here: an Error names the rank, other
  /// types are passed on.
  void onEveryRank(const std::function<void(Rank &)> &work);

  /// The rank (and index) that holds a buffer by name first.
  Rank &holder(const std::string &buffer);

  /// Collects a whole float32 tensor from the ranks that hold its parts.
  void gather(const std::string &buffer, std::vector<float> &whole) const;

private:
  void loop(int64_t rank);
  void abort();

  const Bundle &bundle;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::unique_ptr<Group>> groups;
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
