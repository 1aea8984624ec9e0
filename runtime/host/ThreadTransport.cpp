//===- ThreadTransport.cpp - Ranks that are threads of one process --------===//

#include "host/ThreadTransport.h"

#include "host/Collective.h"
#include "host/Program.h"
#include "host/Reduce.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace pipemesh::runtime {

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

uint64_t ThreadGroup::meet(int64_t member, const Patience &patience) {
  uint64_t start = nanoseconds();
  uint64_t own = calls[member].meetings.fetch_add(1) + 1;
  barrier.wait(patience.limit, [&] {
    std::vector<int64_t> absent;
    for (int64_t other = 0; other < size(); ++other)
      if (calls[other].meetings.load() < own)
        absent.push_back(ranks[other]);
    patience.late(absent);
  });
  return nanoseconds() - start;
}

uint64_t ThreadGroup::run(int64_t member, uint64_t number,
                          const pmrt_instruction &instruction,
                          void *const *pointers, ThreadPool &pool,
                          const Patience &patience) {
  if (size() < 2 && instruction.opcode == PMRT_OP_ALL_REDUCE)
    return 0;
  calls[member].instruction = &instruction;
  calls[member].pointers = pointers;
  calls[member].number = number;
  uint64_t waited = meet(member, patience);
  bool same = std::all_of(calls.begin(), calls.end(), [&](const Call &call) {
    return call.instruction == &instruction && call.number == number;
  });
  if (!same) {
    std::vector<Brought> members;
    for (int64_t other = 0; other < size(); ++other) {
      const Call &call = calls[other];
      members.push_back({ranks[other],
                         signatureOf(*call.instruction, call.number),
                         describe(*call.instruction)});
    }
    checkMeeting(members);
  }
  switch (instruction.opcode) {
  case PMRT_OP_ALL_GATHER:
    allGather(member, instruction, pool);
    break;
  case PMRT_OP_REDUCE_SCATTER:
    reduceScatter(member, instruction, pool);
    break;
  case PMRT_OP_ALL_TO_ALL:
    allToAll(member, instruction, pool);
    break;
  case PMRT_OP_PERMUTE:
    permute(member, instruction, pool);
    break;
  default:
    allReduce(member, instruction, pool);
  }
  return waited + meet(member, patience);
}

static int64_t edge(int64_t part, int64_t parts, int64_t from, int64_t to) {
  return from + (to - from) * part / parts;
}

void ThreadGroup::allReduce(int64_t member, const pmrt_instruction &instruction,
                            ThreadPool &pool) {
  // The operands are one sequence of elements, cut at multiples of a line of
  // the cache.
  const pmrt_collective &collective = collectiveOf(instruction);
  constexpr int64_t unit = 16;
  int64_t total = 0;
  for (uint32_t i = 0; i < instruction.num_operands; ++i)
    total += static_cast<int64_t>(collective.counts[i]);
  int64_t units = (total + unit - 1) / unit;
  int64_t members = size();
  int64_t firstUnit = edge(member, members, 0, units);
  int64_t lastUnit = edge(member + 1, members, 0, units);
  constexpr int64_t leastUnits = 4096;
  int64_t parts = std::clamp<int64_t>((lastUnit - firstUnit) / leastUnits, 1,
                                      pool.threads());
  pool.run(parts, [&](int64_t part, int) {
    int64_t begin = edge(part, parts, firstUnit, lastUnit) * unit;
    int64_t end =
        std::min(edge(part + 1, parts, firstUnit, lastUnit) * unit, total);
    std::vector<void *> arrays(members);
    int64_t base = 0;
    for (uint32_t i = 0; i < instruction.num_operands; ++i) {
      auto count = static_cast<int64_t>(collective.counts[i]);
      int64_t first = std::max(begin - base, int64_t(0));
      int64_t last = std::min(end - base, count);
      base += count;
      if (first >= last)
        continue;
      for (int64_t other = 0; other < members; ++other)
        arrays[other] = calls[other].pointers[i];
      reduceInPlace(arrays.data(), members, first, last, collective.dtype,
                    collective.reduction);
    }
  });
}

void ThreadGroup::allGather(int64_t member, const pmrt_instruction &instruction,
                            ThreadPool &pool) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t bytes = dtypeSize(collective.dtype);
  uint64_t piece = collective.counts[0] * bytes;
  uint64_t row = collective.counts[1] * bytes;
  auto *whole = static_cast<std::byte *>(calls[member].pointers[1]);
  auto rows = static_cast<int64_t>(collective.outer);
  constexpr int64_t leastBytes = 1 << 18;
  int64_t parts = std::clamp<int64_t>(
      rows * static_cast<int64_t>(row) / leastBytes, 1,
      std::min<int64_t>(pool.threads(), std::max<int64_t>(rows, 1)));
  pool.run(parts, [&](int64_t part, int) {
    for (int64_t other = 0; other < size(); ++other) {
      const auto *block =
          static_cast<const std::byte *>(calls[other].pointers[0]);
      uint64_t valid = pieceElements(collective, other) * bytes;
      if (valid)
        for (int64_t r = edge(part, parts, 0, rows),
                     end = edge(part + 1, parts, 0, rows);
             r < end; ++r)
          std::memcpy(whole + r * row + other * piece, block + r * piece,
                      valid);
    }
  });
}

void ThreadGroup::reduceScatter(int64_t member,
                                const pmrt_instruction &instruction,
                                ThreadPool &pool) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t bytes = dtypeSize(collective.dtype);
  auto rows = static_cast<int64_t>(collective.outer);
  int64_t valid = pieceElements(collective, member);
  auto *block = static_cast<std::byte *>(calls[member].pointers[1]);
  constexpr int64_t leastElements = 1 << 16;
  // Rows where there are several, else parts of the one.
  int64_t extent = rows > 1 ? rows : valid;
  int64_t parts = std::clamp<int64_t>(
      rows * valid / leastElements, 1,
      std::min<int64_t>(pool.threads(), std::max<int64_t>(extent, 1)));
  pool.run(parts, [&](int64_t part, int) {
    std::vector<const void *> arrays(size());
    int64_t begin = edge(part, parts, 0, extent);
    int64_t end = edge(part + 1, parts, 0, extent);
    int64_t firstRow = rows > 1 ? begin : 0, lastRow = rows > 1 ? end : rows;
    int64_t first = rows > 1 ? 0 : begin, last = rows > 1 ? valid : end;
    for (int64_t r = firstRow; r < lastRow && first < last; ++r) {
      for (int64_t other = 0; other < size(); ++other)
        arrays[other] =
            static_cast<const std::byte *>(calls[other].pointers[0]) +
            (r * collective.counts[1] + member * collective.counts[0] + first) *
                bytes;
      reduceInto(block + (r * collective.counts[0] + first) * bytes,
                 arrays.data(), size(), last - first, collective.dtype,
                 collective.reduction);
    }
  });
}

void ThreadGroup::allToAll(int64_t member, const pmrt_instruction &instruction,
                           ThreadPool &pool) {
  const pmrt_all_to_all &exchange = allToAllOf(instruction);
  auto size = static_cast<int64_t>(dtypeSize(exchange.dtype));
  auto *to = static_cast<std::byte *>(calls[member].pointers[1]);
  constexpr int64_t leastBytes = 1 << 18;
  int64_t parts = std::clamp<int64_t>(
      static_cast<int64_t>(operandBytes(instruction)) / leastBytes, 1,
      std::min<int64_t>(pool.threads(), this->size()));
  pool.run(parts, [&](int64_t part, int) {
    for (int64_t other = part; other < this->size(); other += parts) {
      const auto *from =
          static_cast<const std::byte *>(calls[other].pointers[0]);
      forEachRun(exchange, other, member,
                 [&](int64_t before, int64_t after, int64_t count) {
                   std::memcpy(to + after * size, from + before * size,
                               count * size);
                 });
    }
  });
}

void ThreadGroup::permute(int64_t member, const pmrt_instruction &instruction,
                          ThreadPool &pool) {
  auto bytes = static_cast<int64_t>(operandBytes(instruction));
  const pmrt_permute &permute = permuteOf(instruction);
  auto parts = static_cast<int64_t>(permute.num_parts);
  bytes /= parts;
  auto *to = static_cast<std::byte *>(calls[member].pointers[1]);
  constexpr int64_t most = 1 << 20;
  int64_t pieces = (bytes + most - 1) / most;
  pool.run(parts * pieces, [&](int64_t i, int) {
    int32_t source =
        permute.sources[i / pieces * permute.num_members + member];
    int64_t begin = i % pieces * most;
    int64_t length = std::min(most, bytes - begin);
    begin += i / pieces * bytes;
    if (source >= 0)
      std::memcpy(to + begin,
                  static_cast<const std::byte *>(calls[source].pointers[0]) +
                      begin,
                  length);
    else
      std::memset(to + begin, 0, length);
  });
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void MessageQueue::send(const Parcel &parcel, const void *data) {
  Message message;
  {
    std::lock_guard lock(mutex);
    if (!unused.empty()) {
      message = std::move(unused.back());
      unused.pop_back();
    }
  }
  // A channel belongs to one value, so that the sizes of its messages agree.
  if (message.parcel.bytes != parcel.bytes)
    message.data = std::make_unique_for_overwrite<std::byte[]>(parcel.bytes);
  message.parcel = parcel;
  std::memcpy(message.data.get(), data, parcel.bytes);
  {
    std::lock_guard lock(mutex);
    waiting.push_back(std::move(message));
  }
  advance(events, sleepers);
}

uint64_t MessageQueue::receive(const Parcel &parcel, void *data,
                               int64_t sender, const Patience &patience) {
  Message message;
  uint64_t waited = 0;
  while (true) {
    uint32_t seen = events.load();
    if (aborted.load())
      throw Aborted();
    {
      std::lock_guard lock(mutex);
      if (!waiting.empty()) {
        message = std::move(waiting.front());
        waiting.pop_front();
        break;
      }
    }
    uint64_t start = nanoseconds();
    waitWhileEqual(events, seen, sleepers, spin, patience.limit,
                   [&] { patience.late({sender}); });
    waited += nanoseconds() - start;
  }
  checkParcel(message.parcel, parcel, sender);
  std::memcpy(data, message.data.get(), parcel.bytes);
  std::lock_guard lock(mutex);
  unused.push_back(std::move(message));
  return waited;
}

size_t MessageQueue::size() {
  std::lock_guard lock(mutex);
  return waiting.size();
}

void MessageQueue::abort() {
  aborted.store(true);
  advance(events, sleepers);
}

void MessageQueue::reset() {
  aborted.store(false);
  for (Message &message : waiting)
    unused.push_back(std::move(message));
  waiting.clear();
}

uint64_t MessageQueue::heldBytes() {
  std::lock_guard lock(mutex);
  uint64_t bytes = 0;
  for (const Message &message : waiting)
    bytes += message.parcel.bytes;
  for (const Message &message : unused)
    bytes += message.parcel.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// The transport
//===----------------------------------------------------------------------===//

ThreadTransport::ThreadTransport(int64_t count, int spin)
    : spin(spin), everyone(static_cast<uint32_t>(count), spin) {
  for (int64_t rank = 0; rank < count; ++rank) {
    ranks.push_back(rank);
    votes.push_back(std::make_unique<std::atomic<uint64_t>>(0));
  }
}

Group &ThreadTransport::group(const std::vector<int64_t> &members,
                              uint32_t lane) {
  auto &entry = groups[{members, lane}];
  if (!entry)
    entry = std::make_unique<ThreadGroup>(members, spin);
  return *entry;
}

MessageQueue &ThreadTransport::queue(const Channel &channel) {
  std::lock_guard lock(mutex);
  auto &entry = queues[{channel.sender, channel.receiver, channel.number}];
  if (!entry) {
    entry = std::make_unique<MessageQueue>(spin);
    if (aborted)
      entry->abort();
  }
  return *entry;
}

void ThreadTransport::send(const Channel &channel, const Parcel &parcel,
                           const void *data) {
  queue(channel).send(parcel, data);
}

uint64_t ThreadTransport::receive(const Channel &channel, const Parcel &parcel,
                                  void *data, const Patience &patience) {
  return queue(channel).receive(parcel, data, channel.sender, patience);
}

uint64_t ThreadTransport::heldBytes() {
  std::lock_guard lock(mutex);
  uint64_t bytes = 0;
  for (auto &entry : queues)
    bytes += entry.second->heldBytes();
  return bytes;
}

std::optional<Objection>
ThreadTransport::vote(int64_t rank, const std::optional<Objection> &own,
                      const Patience &patience, uint64_t &waited) {
  uint64_t start = nanoseconds();
  uint64_t meeting = votes[rank]->load() + 1;
  if (own) {
    std::lock_guard lock(mutex);
    objections.emplace_back(meeting, *own);
  }
  votes[rank]->store(meeting);
  everyone.wait(patience.limit, [&] {
    std::vector<int64_t> absent;
    for (int64_t other : ranks)
      if (votes[other]->load() < meeting)
        absent.push_back(other);
    patience.late(absent);
  });
  waited += nanoseconds() - start;
  // A rank that is ahead may already object to the next step.
  std::lock_guard lock(mutex);
  std::optional<Objection> first;
  for (auto &[number, objection] : objections)
    if (number == meeting && (!first || objection.before(*first)))
      first = objection;
  return first;
}

void ThreadTransport::abort() {
  for (auto &entry : groups)
    entry.second->sync().abort();
  everyone.abort();
  std::lock_guard lock(mutex);
  aborted = true;
  for (auto &entry : queues)
    entry.second->abort();
}

std::string ThreadTransport::leftOver() {
  std::lock_guard lock(mutex);
  for (auto &[ends, queue] : queues)
    if (size_t count = queue->size())
      return leftOverText(std::get<0>(ends), std::get<1>(ends), count);
  return "";
}

void ThreadTransport::end(const JobEnd &reason) {
  // Several ranks give up at the same time; the first one says so.
  if (ended.exchange(true))
    while (true)
      pause();
  std::fprintf(stderr, "pmrun: error: %s\n", reason.text().c_str());
  std::fflush(nullptr);
  giveBack();
  _exit(reason.status);
}

void ThreadTransport::reset() {
  for (auto &[key, group] : groups)
    group->reset();
  everyone.reset();
  for (auto &vote : votes)
    vote->store(0);
  std::lock_guard lock(mutex);
  aborted = false;
  objections.clear();
  for (auto &entry : queues)
    entry.second->reset();
}

} // namespace pipemesh::runtime
