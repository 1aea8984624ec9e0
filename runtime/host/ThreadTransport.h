//===- ThreadTransport.h - Ranks that are threads of one process ----------===//

#ifndef PIPEMESH_RUNTIME_HOST_THREADTRANSPORT_H
#define PIPEMESH_RUNTIME_HOST_THREADTRANSPORT_H

#include "host/Transport.h"

#include <deque>
#include <map>
#include <mutex>

namespace pipemesh::runtime {

/// Members that reduce and copy straight from each other's memory.
class ThreadGroup : public Group {
public:
  ThreadGroup(std::vector<int64_t> ranks, int spin)
      : Group(std::move(ranks)), calls(size()),
        barrier(static_cast<uint32_t>(size()), spin) {}

  /// All members meet, each does its part, and all meet again: member j of an
  /// all-reduce reduces the j-th part of the elements of all operands and
  /// writes it to all members; of a reduce-scatter it reduces its own block; of
  /// an all-gather, an all-to-all or a permute it copies what it needs of the
  /// others.
  uint64_t run(int64_t member, uint64_t number,
               const pmrt_instruction &instruction, void *const *pointers,
               ThreadPool &pool, const Patience &patience) override;

  Barrier &sync() { return barrier; }

  /// Makes it usable after an abort; nobody may be waiting.
  void reset() {
    barrier.reset();
    for (Call &call : calls)
      call.meetings.store(0);
  }

private:
  /// What a member brings to the collective in progress.
  struct Call {
    const pmrt_instruction *instruction = nullptr;
    void *const *pointers = nullptr;
    uint64_t number = 0; ///< of the collective
    std::atomic<uint64_t> meetings{0}; ///< how often the member has come
  };

  /// Waits for all members. Returns the time that took.
  uint64_t meet(int64_t member, const Patience &patience);
  void allReduce(int64_t member, const pmrt_instruction &instruction,
                 ThreadPool &pool);
  void allGather(int64_t member, const pmrt_instruction &instruction,
                 ThreadPool &pool);
  void reduceScatter(int64_t member, const pmrt_instruction &instruction,
                     ThreadPool &pool);
  void allToAll(int64_t member, const pmrt_instruction &instruction,
                ThreadPool &pool);
  void permute(int64_t member, const pmrt_instruction &instruction,
               ThreadPool &pool);

  std::vector<Call> calls;
  Barrier barrier;
};

/// Messages from one rank to another, copied when they are sent and when they
/// are received. Copies that were received are used again.
class MessageQueue {
public:
  explicit MessageQueue(int spin) : spin(spin) {}

  void send(const Parcel &parcel, const void *data);
  uint64_t receive(const Parcel &parcel, void *data, int64_t sender,
                   const Patience &patience);
  void abort();
  void reset();
  /// Number of messages that wait to be received.
  size_t size();
  uint64_t heldBytes();

private:
  struct Message {
    std::unique_ptr<std::byte[]> data;
    Parcel parcel;
  };

  const int spin;
  std::mutex mutex;
  std::deque<Message> waiting; ///< oldest first
  std::vector<Message> unused;
  std::atomic<uint32_t> events{0}, sleepers{0};
  std::atomic<bool> aborted{false};
};

class ThreadTransport : public Transport {
public:
  ThreadTransport(int64_t ranks, int spin);

  const std::vector<int64_t> &localRanks() const override { return ranks; }
  Group &group(const std::vector<int64_t> &members, uint32_t lane) override;
  void send(const Channel &channel, const Parcel &parcel,
            const void *data) override;
  uint64_t receive(const Channel &channel, const Parcel &parcel, void *data,
                   const Patience &patience) override;
  std::optional<Objection> vote(int64_t rank,
                                const std::optional<Objection> &own,
                                const Patience &patience,
                                uint64_t &waited) override;
  void abort() override;
  void reset() override;
  std::vector<std::string> exchange(const std::string &text) override {
    return {text};
  }
  void moveToFirst(int64_t, void *, uint64_t) override {}
  [[noreturn]] void end(const JobEnd &reason) override;
  std::string leftOver() override;
  uint64_t heldBytes() override;

private:
  MessageQueue &queue(const Channel &channel);

  const int spin;
  std::vector<int64_t> ranks;
  std::atomic<bool> ended{false};
  /// By members and lane.
  std::map<std::pair<std::vector<int64_t>, uint32_t>,
           std::unique_ptr<ThreadGroup>>
      groups;
  std::mutex mutex; ///< of what follows
  std::map<std::tuple<int64_t, int64_t, uint32_t>,
           std::unique_ptr<MessageQueue>>
      queues;
  bool aborted = false;
  std::vector<std::pair<uint64_t, Objection>> objections; ///< with the vote
  std::vector<std::unique_ptr<std::atomic<uint64_t>>> votes;
  Barrier everyone;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_THREADTRANSPORT_H
