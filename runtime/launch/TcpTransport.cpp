//===- TcpTransport.cpp - The control plane over TCP ----------------------===//

#include "launch/TcpTransport.h"

#include "launch/TcpWire.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {

[[noreturn]] void refuseData(const char *what) {
  fail("the connection between processes of srun or torchrun carries no ", what,
       ": ranks on GPUs exchange them by NCCL (--meet=nccl); run host ranks "
       "under "
       "mpirun");
}

class NoGroup : public Group {
public:
  using Group::Group;
  uint64_t run(int64_t, uint64_t, const pmrt_instruction &, void *const *,
               ThreadPool &, const Patience &) override {
    refuseData("operands of collectives");
  }
};

class TcpTransport : public Transport {
public:
  explicit TcpTransport(const TcpPlace &place);
  ~TcpTransport() override;

  const std::vector<int64_t> &localRanks() const override { return local; }
  Group &group(const std::vector<int64_t> &members, uint32_t) override {
    groups.push_back(std::make_unique<NoGroup>(members));
    return *groups.back();
  }
  void send(const Channel &, const Parcel &, const void *) override {
    refuseData("transfers");
  }
  uint64_t receive(const Channel &, const Parcel &, void *,
                   const Patience &) override {
    refuseData("transfers");
  }
  std::optional<Objection> vote(int64_t rank,
                                const std::optional<Objection> &own,
                                const Patience &patience,
                                uint64_t &waited) override;
  void abort() override {
    std::lock_guard lock(mutex);
    isAborted = true;
    changed.notify_all();
  }
  void reset() override {
    std::lock_guard lock(mutex);
    isAborted = false;
  }
  std::vector<std::string> exchange(const std::string &text) override {
    uint64_t waited = 0;
    return exchange(text, patience, waited);
  }
  void moveToFirst(int64_t rank, void *data, uint64_t bytes) override;
  [[noreturn]] void end(const JobEnd &reason) override;
  std::string leftOver() override { return ""; }
  void finish();

private:
  /// The other end of a connection; of rank 0 there is one for each other rank.
  struct Peer {
    std::unique_ptr<TcpWire> wire;
    std::deque<TcpFrame> come;
    bool hasLeft = false;
  };

  std::vector<std::string> exchange(const std::string &text,
                                    const Patience &patience, uint64_t &waited);
  void accept(const TcpPlace &place);
  void connect(const TcpPlace &place);
  void serve();
  void handle(const TcpFrame &frame);
  void wake() {
    uint64_t one = 1;
    (void)!write(waker, &one, sizeof(one));
  }
  Peer &peer(int64_t other) { return peers[rank == 0 ? other : 0]; }
  void tell(int64_t other, TcpFrame::Kind kind, const std::string &body);
  TcpFrame take(int64_t other, TcpFrame::Kind kind, const Patience &patience,
                uint64_t &waited);
  [[noreturn]] void leave(int status, const std::string &message, bool prints);

  const int64_t rank, size;
  std::vector<int64_t> local;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Peer> peers; ///< by rank; of others than rank 0 only that one
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> isDone{false}, isEnding{false};
  bool isAborted = false;
  int waker = -1;
  std::thread server;
};

} // namespace

TcpTransport::TcpTransport(const TcpPlace &place)
    : rank(place.rank), size(place.size), local({place.rank}),
      peers(static_cast<size_t>(place.rank == 0 ? place.size : 1)) {
  if (size == 1)
    return;
  if (rank == 0)
    accept(place);
  else
    connect(place);
  waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  server = std::thread([this] { serve(); });
}

TcpTransport::~TcpTransport() {
  isDone.store(true);
  if (server.joinable()) {
    wake();
    server.join();
  }
  if (waker >= 0)
    close(waker);
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

void TcpTransport::accept(const TcpPlace &place) {
  TcpListener listener(place.port);
  uint64_t until = deadlineIn(place.seconds);
  std::vector<std::unique_ptr<TcpWire>> strangers;
  int64_t missing = size - 1;
  // Who has the token and does not fit ends the job for all.
  auto refuse = [&](TcpWire &wire, const std::string &why) {
    wire.send({TcpFrame::Refused, why});
    wire.flush(2000);
    for (int64_t other = 1; other < size; ++other)
      if (peers[other].wire) {
        peers[other].wire->send({TcpFrame::Refused, why});
        peers[other].wire->flush(2000);
      }
    fail(why);
  };
  while (missing) {
    if (nanoseconds() >= until) {
      std::string ranks;
      int64_t named = 0;
      for (int64_t other = 1; other < size; ++other)
        if (!peers[other].wire && ++named <= 16)
          ranks += cat(ranks.empty() ? "" : ", ", other);
      if (named > 16)
        ranks += cat(" and ", named - 16, " more");
      std::string why =
          cat(named == 1 ? "rank " : "ranks ", ranks,
              named == 1 ? " has" : " have", " not come to ", place.host, ":",
              place.port, " within ", place.seconds,
              " s; were all processes started, and can they reach "
              "this machine?");
      for (int64_t other = 1; other < size; ++other)
        if (peers[other].wire) {
          peers[other].wire->send({TcpFrame::Refused, why});
          peers[other].wire->flush(2000);
        }
      throw Error(why, lateStatus);
    }
    std::vector<pollfd> entries = {{listener.descriptor(), POLLIN, 0}};
    for (auto &wire : strangers)
      entries.push_back({wire->descriptor(), POLLIN, 0});
    for (int64_t other = 1; other < size; ++other)
      if (peers[other].wire)
        entries.push_back({peers[other].wire->descriptor(), POLLIN, 0});
    poll(entries.data(), entries.size(), 100);
    if (auto wire = listener.accept(); wire && strangers.size() < 4096)
      strangers.push_back(std::move(wire));
    for (auto &wire : strangers) {
      wire->move();
      std::optional<TcpFrame> frame = wire->next();
      if (!frame) {
        if (wire->isLost())
          wire.reset();
        continue;
      }
      TcpHello hello;
      if (frame->kind != TcpFrame::Hello || !hello.unpack(frame->body) ||
          hello.token != place.token) {
        wire->send(
            {TcpFrame::Refused,
             "is not of the job that listens here; give --rendezvous a port "
             "of its own"});
        wire->flush(500);
        wire.reset();
        continue;
      }
      if (hello.size != size)
        refuse(*wire, cat("rank ", hello.rank, " was started as one of ",
                          hello.size, " ranks, but rank 0 as one of ", size));
      if (hello.bundle != place.bundle)
        refuse(*wire, cat("rank ", hello.rank, " runs the bundle ",
                          hello.bundle, ", but rank 0 ", place.bundle,
                          "; give all processes the same one"));
      if (hello.rank < 1 || hello.rank >= size || peers[hello.rank].wire)
        refuse(*wire, cat("two processes are rank ", hello.rank,
                          "; look at RANK or SLURM_PROCID"));
      peers[hello.rank].wire = std::move(wire);
      --missing;
    }
    std::erase(strangers, nullptr);
    for (int64_t other = 1; other < size; ++other)
      if (TcpWire *wire = peers[other].wire.get()) {
        wire->move();
        if (wire->isLost())
          fail("rank ", other, " has gone before all ranks had come");
      }
  }
  for (int64_t other = 1; other < size; ++other)
    peers[other].wire->send({TcpFrame::Welcome, ""});
}

void TcpTransport::connect(const TcpPlace &place) {
  uint64_t until = deadlineIn(place.seconds);
  std::string problem = "it was not tried";
  while (true) {
    std::unique_ptr<TcpWire> wire = connectTo(
        place.host, place.port, std::min(until, deadlineIn(5)), problem);
    if (wire) {
      wire->send({TcpFrame::Hello,
                  TcpHello{rank, size, place.token, place.bundle}.pack()});
      std::optional<TcpFrame> frame = wire->wait(until);
      if (frame && frame->kind == TcpFrame::Welcome) {
        peers[0].wire = std::move(wire);
        return;
      }
      if (frame && frame->kind == TcpFrame::Refused)
        fail("rank ", rank, " was sent away by ", place.host, ":", place.port,
             ": ", frame->body);
      problem = wire->isLost() ? "the connection was closed"
                               : "not all ranks have come";
    }
    if (nanoseconds() >= until)
      throw Error(cat("rank ", rank, " has not met rank 0 at ", place.host, ":",
                      place.port, " within ", place.seconds, " s: ", problem),
                  lateStatus);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// Moves all frames, and notices who is gone, whatever the process does.
void TcpTransport::serve() {
  while (true) {
    std::vector<pollfd> entries = {{waker, POLLIN, 0}};
    std::vector<size_t> of;
    {
      std::lock_guard lock(mutex);
      bool writes = false;
      for (size_t i = 0; i < peers.size(); ++i) {
        TcpWire *wire = peers[i].wire.get();
        if (!wire || wire->isLost())
          continue;
        writes |= wire->hasToWrite();
        entries.push_back(
            {wire->descriptor(),
             static_cast<short>(wire->hasToWrite() ? POLLIN | POLLOUT : POLLIN),
             0});
        of.push_back(i);
      }
      if (isDone.load() && !writes)
        return;
    }
    poll(entries.data(), entries.size(), 200);
    uint64_t count;
    (void)!read(waker, &count, sizeof(count));
    std::unique_lock lock(mutex);
    for (size_t i : of) {
      Peer &peer = peers[i];
      peer.wire->move();
      while (std::optional<TcpFrame> frame = peer.wire->next()) {
        if (frame->kind == TcpFrame::Goodbye) {
          peer.hasLeft = true;
          continue;
        }
        if (frame->kind == TcpFrame::End) {
          lock.unlock();
          handle(*frame);
          lock.lock();
          continue;
        }
        peer.come.push_back(std::move(*frame));
      }
      if (peer.wire->isLost() && !peer.hasLeft && !isDone.load()) {
        lock.unlock();
        leave(failedStatus,
              cat(rank == 0 ? "" : cat("rank ", rank, ": "),
                  "the process of rank ", i,
                  " is gone, or the connection to it"),
              /*prints=*/true);
      }
    }
    changed.notify_all();
  }
}

/// A rank ends the job: rank 0 says why, once, and passes it on.
void TcpTransport::handle(const TcpFrame &frame) {
  int status = 0;
  size_t end = frame.body.find('\n');
  std::string digits = frame.body.substr(0, end);
  status = digits.empty() ? failedStatus : std::atoi(digits.c_str());
  leave(status, end == std::string::npos ? "" : frame.body.substr(end + 1),
        /*prints=*/rank == 0);
}

/// Ends this process, and the others.
void TcpTransport::leave(int status, const std::string &message, bool prints) {
  if (isEnding.exchange(true))
    while (true)
      pause();
  if (prints)
    std::fprintf(stderr, "pmrun: error: %s\n", message.c_str());
  std::fflush(nullptr);
  {
    std::lock_guard lock(mutex);
    for (Peer &peer : peers)
      if (peer.wire && !peer.wire->isLost()) {
        peer.wire->send({TcpFrame::End, cat(status, "\n", message)});
        peer.wire->flush(500);
      }
  }
  // What was written may not be lost by the end of this process.
  if (rank == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  giveBack();
  _exit(status);
}

void TcpTransport::end(const JobEnd &reason) {
  if (tellAll && tellAll(reason))
    leave(reason.status, reason.text(), /*prints=*/false);
  if (rank == 0)
    leave(reason.status, reason.text(), /*prints=*/true);
  // Rank 0 prints it; where that does not end this process, it does so itself.
  {
    std::lock_guard lock(mutex);
    TcpWire &wire = *peers[0].wire;
    if (!wire.isLost()) {
      wire.send({TcpFrame::End, cat(reason.status, "\n", reason.text())});
      wire.flush(2000);
    }
  }
  for (int i = 0; i < 30 && !isEnding.load(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  leave(reason.status, reason.text(), /*prints=*/true);
}

void TcpTransport::tell(int64_t other, TcpFrame::Kind kind,
                        const std::string &body) {
  {
    std::lock_guard lock(mutex);
    peer(other).wire->send({kind, body});
  }
  wake();
}

TcpFrame TcpTransport::take(int64_t other, TcpFrame::Kind kind,
                            const Patience &patience, uint64_t &waited) {
  std::unique_lock lock(mutex);
  uint64_t begin = nanoseconds();
  std::deque<TcpFrame> &come = peer(other).come;
  bool isTold = false;
  while (come.empty()) {
    if (isAborted)
      throw Aborted();
    changed.wait_for(lock, std::chrono::milliseconds(100));
    if (come.empty() && patience.limit && patience.late && !isTold &&
        nanoseconds() - begin > patience.limit) {
      isTold = true;
      std::vector<int64_t> absent;
      // Texts are taken in the order of the ranks.
      for (int64_t one = other; one < size; ++one)
        if (one == other ||
            (kind == TcpFrame::Gather && peers[one].come.empty()))
          absent.push_back(one);
      lock.unlock();
      patience.late(absent);
      lock.lock();
    }
  }
  waited += nanoseconds() - begin;
  TcpFrame frame = std::move(come.front());
  come.pop_front();
  if (frame.kind != kind)
    fail("rank ", other, " is elsewhere in the program: it sends message ",
         static_cast<int>(frame.kind), " where ", static_cast<int>(kind),
         " has to come");
  return frame;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

std::vector<std::string> TcpTransport::exchange(const std::string &text,
                                                const Patience &patience,
                                                uint64_t &waited) {
  std::vector<std::string> all(size);
  all[rank] = text;
  if (size == 1)
    return all;
  if (rank == 0) {
    for (int64_t other = 1; other < size; ++other)
      all[other] = take(other, TcpFrame::Gather, patience, waited).body;
    std::string joined = packTexts(all);
    for (int64_t other = 1; other < size; ++other)
      tell(other, TcpFrame::All, joined);
    return all;
  }
  tell(0, TcpFrame::Gather, text);
  all = unpackTexts(take(0, TcpFrame::All, patience, waited).body);
  if (static_cast<int64_t>(all.size()) != size)
    fail("rank 0 has sent ", all.size(), " texts to ", size, " ranks");
  return all;
}

std::optional<Objection> TcpTransport::vote(int64_t,
                                            const std::optional<Objection> &own,
                                            const Patience &patience,
                                            uint64_t &waited) {
  return firstObjection(exchange(packObjection(own), patience, waited));
}

void TcpTransport::moveToFirst(int64_t from, void *data, uint64_t bytes) {
  constexpr uint64_t most = 4 << 20;
  if (from == 0 || (rank != from && rank != 0))
    return;
  auto *place = static_cast<char *>(data);
  uint64_t waited = 0;
  for (uint64_t at = 0; at < bytes; at += most) {
    uint64_t count = std::min(most, bytes - at);
    if (rank == from) {
      tell(0, TcpFrame::Tensor, std::string(place + at, count));
      // Rank 0 asks for the next part, so that no more than one is under way.
      take(0, TcpFrame::Next, patience, waited);
      continue;
    }
    TcpFrame frame = take(from, TcpFrame::Tensor, patience, waited);
    if (frame.body.size() != count)
      fail("rank ", from, " sends ", frame.body.size(),
           " bytes of a tensor, not ", count);
    std::memcpy(place + at, frame.body.data(), count);
    tell(from, TcpFrame::Next, "");
  }
}

void TcpTransport::finish() {
  if (size == 1)
    return;
  exchange("");
  {
    std::lock_guard lock(mutex);
    for (Peer &peer : peers)
      if (peer.wire)
        peer.wire->send({TcpFrame::Goodbye, ""});
  }
  isDone.store(true);
  wake();
}

std::shared_ptr<Transport> meetOverTcp(const TcpPlace &place) {
  return std::make_shared<TcpTransport>(place);
}

void finishTcp(Transport &transport) {
  static_cast<TcpTransport &>(transport).finish();
}

} // namespace pipemesh::runtime
