//===- Job.cpp - All ranks of a program as threads of this process --------===//

#include "host/Job.h"

#include <map>
#include <new>
#include <utility>

namespace pipemesh::runtime {

Job::Job(const Bundle &bundle, const HostOptions &options) : bundle(bundle) {
  const Mesh &mesh = bundle.manifest().mesh;
  int64_t count = mesh.ranks();
  int spin = spinRounds(count * options.threads);
  for (size_t i = 0; i < bundle.manifest().roles.size(); ++i) {
    programs.push_back(
        std::make_unique<Program>(bundle.role(i), bundle.manifest().roles[i]));
    if (options.poison)
      programs.back()->checkReads();
  }
  std::map<std::pair<std::string, std::vector<int64_t>>, Group *> known;
  for (int64_t rank = 0; rank < count; ++rank) {
    const Program &program = *programs[mesh.role(rank)];
    std::vector<Group *> own;
    for (uint32_t c = 0; c < program.role.num_communicators; ++c) {
      const pmrt_communicator &communicator = program.role.communicators[c];
      std::vector<uint32_t> axes(communicator.axes,
                                 communicator.axes + communicator.num_axes);
      std::vector<int64_t> members = mesh.group(rank, axes);
      Group *&group = known[{communicator.name, members}];
      if (!group) {
        groups.push_back(std::make_unique<Group>(members, spin));
        group = groups.back().get();
      }
      own.push_back(group);
    }
    ranks.push_back(std::make_unique<Rank>(program, mesh, rank, std::move(own),
                                           options, aborted, spin));
  }
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([this, rank] { loop(rank); });
  try {
    onEveryRank([](Rank &rank) { rank.allocate(); });
  } catch (...) {
    stopping = true;
    advance(started, startSleepers);
    for (std::thread &thread : threads)
      thread.join();
    throw;
  }
}

Job::~Job() {
  stopping = true;
  advance(started, startSleepers);
  for (std::thread &thread : threads)
    thread.join();
}

void Job::abort() {
  aborted.store(true);
  for (auto &group : groups)
    group->sync().abort();
}

void Job::loop(int64_t rank) {
  pthread_setname_np(pthread_self(), cat("rank ", rank).c_str());
  uint32_t seen = 0;
  while (true) {
    waitWhileEqual(started, seen, startSleepers, 0);
    ++seen;
    if (stopping)
      return;
    try {
      (*work)(*ranks[rank]);
    } catch (const Aborted &) {
    } catch (...) {
      int64_t none = -1;
      if (failedRank.compare_exchange_strong(none, rank))
        failure = std::current_exception();
      abort();
    }
    if (busy.fetch_sub(1) == 1)
      advance(finished, finishSleepers);
  }
}

void Job::onEveryRank(const std::function<void(Rank &)> &function) {
  work = &function;
  busy.store(static_cast<uint32_t>(ranks.size()));
  uint32_t done = finished.load();
  advance(started, startSleepers);
  waitWhileEqual(finished, done, finishSleepers, 0);
  int64_t rank = failedRank.load();
  if (rank < 0)
    return;
  // All threads are parked: the job can be used again.
  std::exception_ptr thrown = std::exchange(failure, nullptr);
  failedRank.store(-1);
  aborted.store(false);
  for (auto &group : groups)
    group->sync().reset();
  try {
    std::rethrow_exception(thrown);
  } catch (const Error &error) {
    fail(manifest().mesh.describe(rank), ": ", error.what());
  } catch (const std::bad_alloc &) {
    fail(manifest().mesh.describe(rank),
         ": out of memory; use more micro-batches or fewer ranks");
  }
}

Rank &Job::holder(const std::string &buffer) {
  for (auto &rank : ranks)
    if (rank->getProgram().info.find(buffer) >= 0)
      return *rank;
  fail("no role has the buffer '", buffer, "'");
}

void Job::gather(const std::string &buffer, std::vector<float> &whole) const {
  bool first = true;
  for (auto &rank : ranks) {
    const RoleInfo &info = rank->getProgram().info;
    int64_t index = info.find(buffer);
    if (index < 0 || !rank->holdsFirstCopy(info.buffers[index]))
      continue;
    if (first)
      whole.assign(elementCount(info.buffers[index].globalShape), 0.0f);
    first = false;
    rank->copyOut(index, 0, whole.data());
  }
}

} // namespace pipemesh::runtime
