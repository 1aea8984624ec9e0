//===- Messages.cpp - Nonblocking messages that are polled ----------------===//

#include "mpi/Messages.h"

#include <algorithm>
#include <ctime>
#include <mutex>

namespace pipemesh::runtime {

/// Held by whoever calls MPI: a rank and what it has started, in a step.
static std::mutex turn;

/// MPI counts in int; longer messages are cut.
static constexpr uint64_t largestPart = 1u << 30;

int idleSpin = 0;

void checkMpi(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI cannot ", what, ": ", std::string(text, length));
}

void Idle::wait() {
  ++rounds;
  if (rounds <= idleSpin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    return;
  }
  // A yield would give the core to whoever computes for a whole slice of time;
  // who sleeps gets it back soon. 10 microseconds, and twice as long every
  // sixteen rounds, up to 160.
  int beyond = rounds - idleSpin;
  timespec pause = {0, 10'000L << std::min(beyond / 16, 4)};
  nanosleep(&pause, nullptr);
}

void Messages::send(const void *data, uint64_t bytes, int64_t rank, int tag) {
  std::lock_guard lock(turn);
  const char *position = static_cast<const char *>(data);
  do {
    uint64_t part = std::min(bytes, largestPart);
    peers.push_back({rank, false});
    checkMpi(MPI_Isend(position, static_cast<int>(part), MPI_BYTE,
                       static_cast<int>(rank), tag, communicator,
                       &requests.emplace_back()),
             "send");
    position += part;
    bytes -= part;
  } while (bytes);
}

void Messages::receive(void *data, uint64_t bytes, int64_t rank, int tag) {
  std::lock_guard lock(turn);
  char *position = static_cast<char *>(data);
  do {
    uint64_t part = std::min(bytes, largestPart);
    peers.push_back({rank, true});
    checkMpi(MPI_Irecv(position, static_cast<int>(part), MPI_BYTE,
                       static_cast<int>(rank), tag, communicator,
                       &requests.emplace_back()),
             "receive");
    position += part;
    bytes -= part;
  } while (bytes);
}

void Messages::receiveUpTo(void *data, uint64_t bytes, int64_t rank, int tag,
                           uint64_t *received) {
  sizes.emplace_back(requests.size(), received);
  receive(data, bytes, rank, tag);
}

bool Messages::test() {
  if (requests.empty())
    return true;
  std::lock_guard lock(turn);
  int done = 0;
  std::vector<MPI_Status> statuses(requests.size());
  checkMpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(),
                       &done, statuses.data()),
           "finish a message");
  if (!done)
    return false;
  for (auto &[index, size] : sizes) {
    int count = 0;
    MPI_Get_count(&statuses[index], MPI_BYTE, &count);
    *size = static_cast<uint64_t>(count);
  }
  requests.clear();
  peers.clear();
  sizes.clear();
  return true;
}

std::vector<int64_t> Messages::missing() const {
  std::lock_guard lock(turn);
  // Who has not sent; else who has not taken what was sent.
  std::vector<int64_t> ranks;
  for (bool receives : {true, false}) {
    for (size_t i = 0; i < requests.size(); ++i) {
      int done = 0;
      MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
      if (!done && peers[i].receives == receives &&
          std::find(ranks.begin(), ranks.end(), peers[i].rank) == ranks.end())
        ranks.push_back(peers[i].rank);
    }
    if (!ranks.empty())
      break;
  }
  return ranks;
}

uint64_t Messages::wait(const Patience &patience) {
  uint64_t begin = nanoseconds(), since = begin;
  Idle idle;
  while (!test()) {
    idle.wait();
    if (!patience.limit)
      continue;
    uint64_t now = nanoseconds();
    if (now - since >= patience.limit) {
      patience.late(missing());
      since = now;
    }
  }
  return nanoseconds() - begin;
}

} // namespace pipemesh::runtime
