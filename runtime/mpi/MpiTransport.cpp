//===- MpiTransport.cpp - Ranks that are processes of Open MPI ------------===//

#include "mpi/MpiTransport.h"

#include "mpi/MpiGroup.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {

/// Tags of the control plane.
enum ControlTag { Gather, Broadcast, Size, Tensor };

/// Which process of a machine is the first to end the job, in memory that they
/// share.
class SharedFlag {
public:
  /// `hosts` names the machine of each rank; `exchange` is the transport's.
  template <typename Exchange>
  SharedFlag(int64_t rank, const std::vector<std::string> &hosts,
             Exchange exchange) {
    int64_t keeper =
        std::find(hosts.begin(), hosts.end(), hosts[rank]) - hosts.begin();
    std::string name;
    if (keeper == rank) {
      name = "/dev/shm/pmrun-XXXXXX";
      int file = mkstemp(name.data());
      if (file < 0 || ftruncate(file, sizeof(Flag)) != 0)
        name.clear();
      else
        map(file);
      if (file >= 0)
        close(file);
    }
    name = exchange(name)[keeper];
    if (keeper != rank && !name.empty()) {
      int file = open(name.c_str(), O_RDWR | O_CLOEXEC);
      if (file >= 0) {
        map(file);
        close(file);
      }
    }
    // Mapped memory stays when the name is gone.
    exchange("");
    if (keeper == rank && !name.empty())
      unlink(name.c_str());
  }

  ~SharedFlag() {
    if (flag)
      munmap(flag, sizeof(Flag));
  }

  /// True for the first process of the machine that asks.
  bool firstToEnd() { return !flag || flag->exchange(1) == 0; }

private:
  using Flag = std::atomic<uint32_t>; // a new file is zero

  void map(int file) {
    void *address = mmap(nullptr, sizeof(Flag), PROT_READ | PROT_WRITE,
                         MAP_SHARED, file, 0);
    flag = address == MAP_FAILED ? nullptr : static_cast<Flag *>(address);
  }

  Flag *flag = nullptr;
};

class MpiTransport : public Transport {
public:
  MpiTransport();

  const std::vector<int64_t> &localRanks() const override { return local; }
  Group &group(const std::vector<int64_t> &members, uint32_t lane) override;
  void send(const Channel &channel, const Parcel &parcel,
            const void *data) override;
  uint64_t receive(const Channel &channel, const Parcel &parcel, void *data,
                   const Patience &patience) override;
  std::optional<Objection> vote(int64_t rank,
                                const std::optional<Objection> &own,
                                const Patience &patience,
                                uint64_t &waited) override;
  void progress() override;
  void abort() override {}
  void reset() override;
  std::vector<std::string> exchange(const std::string &text) override;
  void moveToFirst(int64_t rank, void *data, uint64_t bytes) override;
  [[noreturn]] void end(const JobEnd &reason) override;
  std::string leftOver() override;
  uint64_t heldBytes() override;
  void finish();

private:
  /// A copy of what was sent, kept until the message has left.
  struct Staged {
    std::unique_ptr<std::byte[]> data;
    uint64_t bytes = 0;
    std::unique_ptr<Messages> messages;
  };

  void reclaim();
  std::vector<std::string> exchange(const std::string &text,
                                    const Patience &patience, uint64_t &waited);

  int64_t rank = 0, size = 0;
  std::vector<int64_t> local;
  // Duplicates, so that the messages of each kind are apart.
  MPI_Comm collectives = MPI_COMM_NULL, transfers = MPI_COMM_NULL,
           control = MPI_COMM_NULL;
  /// By members and lane.
  std::map<std::pair<std::vector<int64_t>, uint32_t>,
           std::unique_ptr<MpiGroup>>
      groups;
  std::deque<Staged> staged; ///< oldest first
  std::vector<Staged> unused;
  std::vector<uint64_t> sent, received; ///< messages to and from each rank
  std::unique_ptr<SharedFlag> ending;
};

} // namespace

MpiTransport::MpiTransport() {
  int provided = 0;
  checkMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
           "start");
  // The threads of a process take turns: its rank's and that of what the rank has
  // started in steps (Messages), the main one's between them.
  int number = 0, count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  rank = number;
  size = count;
  local = {rank};
  sent.resize(size);
  received.resize(size);
  for (MPI_Comm *copy : {&collectives, &transfers, &control}) {
    checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, copy), "make a communicator");
    MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
  }
  if (provided < MPI_THREAD_SERIALIZED)
    fail("this MPI does not let the threads of a process take turns "
         "(MPI_THREAD_SERIALIZED); install libopenmpi-dev");
  // Short sleeps are short.
  prctl(PR_SET_TIMERSLACK, 1000ul);

  char host[MPI_MAX_PROCESSOR_NAME + 1] = {};
  int length = 0;
  MPI_Get_processor_name(host, &length);
  std::vector<std::string> hosts = exchange(host);
  idleSpin = spinRounds(std::count(hosts.begin(), hosts.end(), hosts[rank]));
  ending = std::make_unique<SharedFlag>(
      rank, hosts, [this](const std::string &text) { return exchange(text); });
}

Group &MpiTransport::group(const std::vector<int64_t> &members,
                           uint32_t lane) {
  auto number = static_cast<int>(groups.size());
  auto &entry = groups[{members, lane}];
  if (!entry)
    entry = std::make_unique<MpiGroup>(members, number, collectives);
  return *entry;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void MpiTransport::reclaim() {
  while (!staged.empty() && staged.front().messages->test()) {
    unused.push_back(std::move(staged.front()));
    staged.pop_front();
  }
}

void MpiTransport::progress() {
  if (!staged.empty())
    reclaim();
}

void MpiTransport::send(const Channel &channel, const Parcel &parcel,
                        const void *data) {
  reclaim();
  // The parcel comes by itself, to be compared before the data moves.
  uint64_t bytes = sizeof(parcel) + parcel.bytes;
  // The smallest copy that is large enough.
  size_t best = unused.size();
  for (size_t i = 0; i < unused.size(); ++i)
    if (unused[i].bytes >= bytes &&
        (best == unused.size() || unused[i].bytes < unused[best].bytes))
      best = i;
  Staged copy;
  if (best < unused.size()) {
    std::swap(unused[best], unused.back());
    copy = std::move(unused.back());
    unused.pop_back();
  } else {
    copy = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes,
            std::make_unique<Messages>(transfers)};
  }
  std::memcpy(copy.data.get(), &parcel, sizeof(parcel));
  std::memcpy(copy.data.get() + sizeof(parcel), data, parcel.bytes);
  auto tag = static_cast<int>(channel.number);
  copy.messages->send(copy.data.get(), sizeof(parcel), channel.receiver, tag);
  copy.messages->send(copy.data.get() + sizeof(parcel), parcel.bytes,
                      channel.receiver, tag);
  sent[channel.receiver] += 2;
  staged.push_back(std::move(copy));
}

uint64_t MpiTransport::heldBytes() {
  uint64_t held = 0;
  for (const Staged &copy : staged)
    held += copy.bytes;
  for (const Staged &copy : unused)
    held += copy.bytes;
  for (auto &entry : groups)
    held += entry.second->heldBytes();
  return held;
}

uint64_t MpiTransport::receive(const Channel &channel, const Parcel &parcel,
                               void *data, const Patience &patience) {
  auto tag = static_cast<int>(channel.number);
  Parcel come;
  Messages first(transfers);
  first.receive(&come, sizeof(come), channel.sender, tag);
  uint64_t waited = first.wait(patience);
  checkParcel(come, parcel, channel.sender);
  Messages second(transfers);
  second.receive(data, parcel.bytes, channel.sender, tag);
  received[channel.sender] += 2;
  return waited + second.wait(patience);
}

void MpiTransport::reset() {
  // What others have sent and this rank did not come to receive is thrown away.
  std::string text(reinterpret_cast<const char *>(sent.data()),
                   size * sizeof(uint64_t));
  std::vector<std::string> all = exchange(text);
  std::vector<char> discarded;
  Idle idle;
  for (int64_t other = 0; other < size; ++other) {
    uint64_t count = 0;
    std::memcpy(&count, all[other].data() + rank * sizeof(count),
                sizeof(count));
    while (received[other] < count) {
      int there = 0, bytes = 0;
      MPI_Message message;
      MPI_Status status;
      checkMpi(MPI_Improbe(static_cast<int>(other), MPI_ANY_TAG, transfers,
                           &there, &message, &status),
               "look for a message");
      if (!there) {
        reclaim();
        idle.wait();
        continue;
      }
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      discarded.resize(bytes);
      checkMpi(MPI_Mrecv(discarded.data(), bytes, MPI_BYTE, &message,
                         MPI_STATUS_IGNORE),
               "receive");
      ++received[other];
    }
  }
  exchange("");
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

std::vector<std::string> MpiTransport::exchange(const std::string &text) {
  uint64_t waited = 0;
  return exchange(text, patience, waited);
}

std::vector<std::string> MpiTransport::exchange(const std::string &text,
                                                const Patience &patience,
                                                uint64_t &waited) {
  // Sizes first, then the texts: to the first rank, and joined to all.
  std::vector<uint64_t> sizes(size);
  std::vector<std::string> all(size);
  sizes[rank] = text.size();
  all[rank] = text;
  if (rank == 0) {
    Messages first(control);
    for (int64_t other = 1; other < size; ++other)
      first.receive(&sizes[other], sizeof(uint64_t), other, Size);
    waited += first.wait(patience);
    Messages second(control);
    for (int64_t other = 1; other < size; ++other) {
      all[other].resize(sizes[other]);
      if (sizes[other])
        second.receive(all[other].data(), sizes[other], other, Gather);
    }
    waited += second.wait(patience);
    std::string joined;
    for (const std::string &part : all)
      joined += part;
    Messages third(control);
    for (int64_t other = 1; other < size; ++other) {
      third.send(sizes.data(), size * sizeof(uint64_t), other, Size);
      if (!joined.empty())
        third.send(joined.data(), joined.size(), other, Broadcast);
    }
    waited += third.wait(patience);
    return all;
  }
  Messages messages(control);
  uint64_t own = text.size();
  messages.send(&own, sizeof(own), 0, Size);
  if (!text.empty())
    messages.send(text.data(), text.size(), 0, Gather);
  messages.receive(sizes.data(), size * sizeof(uint64_t), 0, Size);
  waited += messages.wait(patience);
  uint64_t total = 0;
  for (uint64_t part : sizes)
    total += part;
  std::string joined(total, '\0');
  if (total) {
    messages.receive(joined.data(), total, 0, Broadcast);
    waited += messages.wait(patience);
  }
  uint64_t at = 0;
  for (int64_t other = 0; other < size; at += sizes[other++])
    all[other] = joined.substr(at, sizes[other]);
  return all;
}

std::optional<Objection> MpiTransport::vote(int64_t,
                                            const std::optional<Objection> &own,
                                            const Patience &patience,
                                            uint64_t &waited) {
  return firstObjection(exchange(packObjection(own), patience, waited));
}

void MpiTransport::moveToFirst(int64_t from, void *data, uint64_t bytes) {
  Messages messages(control);
  if (rank == from)
    messages.send(data, bytes, 0, Tensor);
  else if (rank == 0)
    messages.receive(data, bytes, from, Tensor);
  messages.wait(patience);
}

std::string MpiTransport::leftOver() {
  std::vector<std::string> all = exchange(
      std::string(reinterpret_cast<const char *>(sent.data()),
                  size * sizeof(uint64_t)));
  std::string text;
  for (int64_t other = 0; other < size && text.empty(); ++other) {
    uint64_t count = 0;
    std::memcpy(&count, all[other].data() + rank * sizeof(count),
                sizeof(count));
    // A parcel and its data.
    if (count > received[other])
      text = leftOverText(other, rank, (count - received[other]) / 2);
  }
  for (const std::string &found : exchange(text))
    if (!found.empty())
      return found;
  return "";
}

void MpiTransport::end(const JobEnd &reason) {
  // Of the threads of a process the first one says so.
  static std::atomic<bool> ended{false};
  if (ended.exchange(true))
    while (true)
      pause();
  if (!tellAll || !tellAll(reason)) {
    if (ending && !ending->firstToEnd())
      while (true)
        pause();
    std::fprintf(stderr, "pmrun: error: %s\n", reason.text().c_str());
  }
  std::fflush(nullptr);
  giveBack();
  MPI_Abort(MPI_COMM_WORLD, reason.status);
  _exit(reason.status);
}

void MpiTransport::finish() {
  Idle idle;
  while (!staged.empty()) {
    reclaim();
    if (!staged.empty())
      idle.wait();
  }
  exchange("");
  unused.clear();
  groups.clear();
  for (MPI_Comm *copy : {&collectives, &transfers, &control})
    MPI_Comm_free(copy);
  MPI_Finalize();
}

std::shared_ptr<Transport> startMpi() {
  return std::make_shared<MpiTransport>();
}

void finishMpi(Transport &transport) {
  static_cast<MpiTransport &>(transport).finish();
}

} // namespace pipemesh::runtime
