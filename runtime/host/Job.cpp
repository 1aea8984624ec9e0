//===- Job.cpp - The ranks of a program that this process runs ------------===//

#include "host/Job.h"

#include "host/Diagnosis.h"
#include "host/ThreadTransport.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace pipemesh::runtime {

Job::Job(const Bundle &bundle, const HostOptions &given,
         std::shared_ptr<Transport> givenTransport)
    : bundle(bundle), flightFolder(given.flightFolder),
      deadline(given.deadline),
      transport(std::move(givenTransport)) {
  HostOptions options = given;
  options.bundleHash = manifest().hash;
  const Mesh &mesh = manifest().mesh;
  int64_t count = mesh.ranks();
  int spin = spinRounds(count * options.threads);
  if (!transport)
    transport = std::make_shared<ThreadTransport>(count, spin);
  bool votes = false;
  for (size_t i = 0; i < manifest().roles.size(); ++i) {
    programs.push_back(
        std::make_unique<Program>(bundle.role(i), manifest().roles[i]));
    votes |= programs.back()->updates;
    if (options.poison)
      programs.back()->checkReads();
    if (options.poisonFreed)
      programs.back()->lastReads =
          std::make_shared<LastReads>(*programs.back());
  }
  const std::vector<int64_t> &local = transport->localRanks();
  for (int64_t rank = 0, next = 0; rank < count; ++rank) {
    const Program &program = *programs[mesh.role(rank)];
    std::vector<Group *> own;
    for (uint32_t c = 0; c < program.role.num_communicators; ++c) {
      const pmrt_communicator &communicator = program.role.communicators[c];
      std::vector<uint32_t> axes(communicator.axes,
                                 communicator.axes + communicator.num_axes);
      own.push_back(
          &transport->group(mesh.group(rank, axes), communicator.lane));
    }
    if (next == static_cast<int64_t>(local.size()) || local[next] != rank)
      continue;
    ++next;
    ranks.push_back(options.makeRank
                        ? options.makeRank(program, mesh, rank, *transport,
                                           std::move(own), votes, options,
                                           aborted, spin)
                        : std::make_unique<Rank>(program, mesh, rank, *transport,
                                                 std::move(own), votes, options,
                                                 aborted, spin));
    ranks.back()->onLate = [this](Rank &late,
                                  const std::vector<int64_t> &absent) {
      endLate(late.number(), absent);
    };
  }
  transport->setRelease([this] {
    for (auto &rank : ranks)
      rank->abandon();
  });
  for (int64_t i = 0; i < localSize(); ++i)
    threads.emplace_back([this, i] { loop(i); });
  try {
    onEveryRank([](Rank &rank) { rank.allocate(); });
  } catch (...) {
    transport->setRelease({});
    stopping = true;
    advance(started, startSleepers);
    for (std::thread &thread : threads)
      thread.join();
    throw;
  }
}

Job::~Job() {
  transport->setRelease({});
  stopping = true;
  advance(started, startSleepers);
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void Job::loop(int64_t index) {
  int64_t rank = ranks[index]->number();
  pthread_setname_np(pthread_self(), cat("rank ", rank).c_str());
  uint32_t seen = 0;
  while (true) {
    waitWhileEqual(started, seen, startSleepers, 0);
    ++seen;
    if (stopping)
      return;
    try {
      (*work)(*ranks[index]);
    } catch (const Aborted &) {
    } catch (...) {
      int64_t none = -1;
      if (failedRank.compare_exchange_strong(none, rank))
        failure = std::current_exception();
      aborted.store(true);
      transport->abort();
    }
    if (busy.fetch_sub(1) == 1)
      advance(finished, finishSleepers);
  }
}

void Job::rethrow(const std::exception_ptr &thrown, int64_t rank) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error &error) {
    throw Error(cat(manifest().mesh.describe(rank), ": ", error.what()),
                error.status());
  } catch (const std::bad_alloc &) {
    fail(manifest().mesh.describe(rank),
         ": out of memory; use more micro-batches or fewer ranks");
  }
}

void Job::run(const std::function<void(Rank &)> &function, bool isStep) {
  work = &function;
  began = nanoseconds();
  busy.store(static_cast<uint32_t>(ranks.size()));
  uint32_t done = finished.load();
  advance(started, startSleepers);
  constexpr uint64_t look = 100'000'000u;
  if (isStep && deadline && localSize() > 1)
    waitWhileEqual(finished, done, finishSleepers, 0,
                   std::min(deadline, look), [this] { endWhenLate(); });
  else
    waitWhileEqual(finished, done, finishSleepers, 0);
  int64_t rank = failedRank.load();
  if (rank < 0)
    return;
  // All threads are parked: the job can be used again.
  std::exception_ptr thrown = std::exchange(failure, nullptr);
  failedRank.store(-1);
  aborted.store(false);
  bool single = localSize() == size();
  if (single) {
    for (auto &each : ranks)
      each->settle();
    transport->reset();
    for (auto &each : ranks)
      each->numberAnew();
  }
  rethrow(thrown, rank);
}

void Job::onEveryRank(const std::function<void(Rank &)> &function) {
  agree([&] { run(function, /*isStep=*/false); });
}

void Job::stepEveryRank(const std::function<void(Rank &)> &function) {
  bool single = localSize() == size();
  try {
    run(function, /*isStep=*/true);
  } catch (const NonFiniteLoss &) {
    // All ranks have left the step at the same place.
    if (!single)
      transport->reset();
    throw;
  } catch (const std::exception &error) {
    if (single)
      throw;
    auto *told = dynamic_cast<const Error *>(&error);
    int status = told ? told->status() : failedStatus;
    transport->end({error.what(),
                    status,
                    -1,
                    {},
                    status == mismatchStatus ? flightFolder : ""});
  }
}

void Job::checkReceived() {
  std::string text = transport->leftOver();
  if (!text.empty())
    throw AgreedError(text, mismatchStatus);
}

void Job::agree(const std::function<void()> &function) {
  if (localSize() == size())
    return function();
  runtime::agree(*transport, function);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

size_t Job::holdingRole(const std::string &buffer) const {
  for (size_t i = 0; i < manifest().roles.size(); ++i)
    if (manifest().roles[i].find(buffer) >= 0)
      return i;
  fail("no role has the buffer '", buffer, "'");
}

std::vector<float> Job::readScalars(const std::vector<std::string> &buffers) {
  const Mesh &mesh = manifest().mesh;
  std::vector<float> values(buffers.size());
  std::vector<int64_t> holders;
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto role = static_cast<int64_t>(holdingRole(buffers[i]));
    int64_t holder = 0;
    while (mesh.role(holder) != role)
      ++holder;
    holders.push_back(holder);
    for (auto &rank : ranks)
      if (rank->number() == holder)
        values[i] = rank->readScalar(buffers[i]);
  }
  if (localSize() == size())
    return values;
  std::vector<std::string> all = transport->exchange(
      std::string(reinterpret_cast<const char *>(values.data()),
                  values.size() * sizeof(float)));
  for (size_t i = 0; i < buffers.size(); ++i)
    std::memcpy(&values[i], all[holders[i]].data() + i * sizeof(float),
                sizeof(float));
  return values;
}

void Job::collect(const std::string &buffer, int64_t microBatches,
                  const Part &part, std::vector<std::byte> &whole) const {
  size_t role = holdingRole(buffer);
  const RoleInfo &roleInfo = manifest().roles[role];
  const BufferInfo &info = roleInfo.buffers[roleInfo.find(buffer)];
  const Mesh &mesh = manifest().mesh;
  if (isFirst())
    whole.assign(elementCount(info.globalShape) * elementSize(info.dtype),
                 std::byte(0));
  std::vector<std::byte> moved;
  size_t nextLocal = 0;
  for (int64_t number = 0; number < size(); ++number) {
    const Rank *rank = nullptr;
    if (nextLocal < ranks.size() && ranks[nextLocal]->number() == number)
      rank = ranks[nextLocal++].get();
    if (static_cast<size_t>(mesh.role(number)) != role ||
        !holdsFirstCopy(mesh, number, info) || (!rank && !isFirst()))
      continue;
    for (int64_t microBatch = 0; microBatch < microBatches; ++microBatch) {
      const std::byte *local = rank ? part(*rank, microBatch) : nullptr;
      if (!rank || !isFirst()) {
        moved.resize(info.bytes);
        if (rank)
          std::memcpy(moved.data(), local, info.bytes);
        transport->moveToFirst(number, moved.data(), info.bytes);
        local = moved.data();
      }
      if (isFirst())
        copyOutOf(mesh, info, number, microBatch, local, whole.data());
    }
  }
}

void Job::gather(const std::string &buffer, std::vector<float> &whole) const {
  std::vector<std::byte> bytes;
  collect(
      buffer, 1,
      [&](const Rank &rank, int64_t) {
        return rank.view(rank.getProgram().info.find(buffer), 0);
      },
      bytes);
  whole.resize(bytes.size() / sizeof(float));
  std::memcpy(whole.data(), bytes.data(), bytes.size());
}

std::vector<std::string> Job::gatherTexts(const std::string &own) const {
  if (localSize() == size())
    return {own};
  std::vector<std::string> sizes =
      transport->exchange(std::to_string(own.size()));
  std::vector<std::string> texts(sizes.size());
  int64_t here = ranks.front()->number();
  texts[here] = own;
  for (int64_t number = 1; number < size(); ++number) {
    if (here != 0 && here != number)
      continue;
    texts[number].resize(std::stoull(sizes[number]));
    if (!texts[number].empty())
      transport->moveToFirst(number, texts[number].data(),
                             texts[number].size());
  }
  return texts;
}

//===----------------------------------------------------------------------===//
// Messages of a job that stands still
//===----------------------------------------------------------------------===//

void Job::endLate(int64_t rank, const std::vector<int64_t> &absent) {
  Diagnosis diagnosis(bundle, [&](int64_t other) -> std::optional<FlightLog> {
    for (auto &each : ranks)
      if (each->number() == other)
        return each->flightLog();
    try {
      return readFlight(flightPath(flightFolder, other));
    } catch (const Error &) {
      return std::nullopt;
    }
  });
  transport->end({diagnosis.lateText(rank, absent), lateStatus, rank, absent,
                  flightFolder});
}

void Job::endWhenLate() {
  // The rank that came first to the end of the step waits for the others.
  Rank *waiting = nullptr;
  uint64_t since = UINT64_MAX;
  std::vector<int64_t> absent;
  for (auto &rank : ranks) {
    RecordedActivity now = rank->activity();
    if (now.state != Record::Idle)
      absent.push_back(rank->number());
    // One that has not come to the step yet has not waited in it.
    else if (uint64_t idle = std::max(now.since, began); idle < since) {
      waiting = rank.get();
      since = idle;
    }
  }
  uint64_t now = nanoseconds();
  if (waiting && !absent.empty() && now > since && now - since >= deadline)
    endLate(waiting->number(), absent);
}

} // namespace pipemesh::runtime
