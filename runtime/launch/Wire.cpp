//===- Wire.cpp - Messages over a socket, without blocking ----------------===//

#include "launch/Wire.h"

#include "host/Sync.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {
struct Head {
  uint32_t word, length;
};
} // namespace

Wire::Wire(int socket) : socket(socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

Wire::~Wire() { close(socket); }

void Wire::send(Word word, const std::string &body) {
  Head head{static_cast<uint32_t>(word), static_cast<uint32_t>(body.size())};
  outgoing.append(reinterpret_cast<const char *>(&head), sizeof(head));
  outgoing += body;
  move();
}

void Wire::move() {
  while (hasToWrite()) {
    ssize_t count =
        ::send(socket, outgoing.data(), outgoing.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (count <= 0) {
      // What has come before is still there to be read.
      outgoing.clear();
      break;
    }
    outgoing.erase(0, count);
  }
  char part[65536];
  while (!lost && incoming.size() <= sizeof(Head) + longest) {
    ssize_t count = recv(socket, part, sizeof(part), 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (count <= 0) {
      lost = true;
      closed = count == 0 || errno == ECONNRESET;
    } else {
      incoming.append(part, count);
    }
  }
}

std::optional<WireMessage> Wire::next() {
  Head head;
  if (incoming.size() < sizeof(head))
    return std::nullopt;
  std::memcpy(&head, incoming.data(), sizeof(head));
  if (head.length > longest ||
      head.word > static_cast<uint32_t>(Word::Unheard)) {
    lost = true;
    incoming.clear();
    return std::nullopt;
  }
  if (incoming.size() < sizeof(head) + head.length)
    return std::nullopt;
  WireMessage message{static_cast<Word>(head.word),
                      incoming.substr(sizeof(head), head.length)};
  incoming.erase(0, sizeof(head) + head.length);
  return message;
}

bool Wire::pollFor(short events, uint64_t until) {
  uint64_t now = nanoseconds();
  if (now >= until)
    return false;
  pollfd entry{socket, events, 0};
  poll(&entry, 1, static_cast<int>((until - now) / 1'000'000u) + 1);
  return true;
}

std::optional<WireMessage> Wire::wait(int milliseconds) {
  uint64_t until = nanoseconds() + milliseconds * uint64_t(1'000'000);
  do {
    move();
    if (std::optional<WireMessage> message = next())
      return message;
  } while (!lost && pollFor(hasToWrite() ? POLLIN | POLLOUT : POLLIN, until));
  return std::nullopt;
}

void Wire::flush(int milliseconds) {
  uint64_t until = nanoseconds() + milliseconds * uint64_t(1'000'000);
  do
    move();
  while (hasToWrite() && pollFor(POLLOUT, until));
}

std::string takeField(std::string &body) {
  size_t end = body.find('\n');
  std::string field = body.substr(0, end);
  body.erase(0, end == std::string::npos ? end : end + 1);
  return field;
}

std::optional<int64_t> fieldNumber(const std::string &field, int64_t least) {
  int64_t value = 0;
  const char *end = field.data() + field.size();
  auto [at, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || at != end || value < least)
    return std::nullopt;
  return value;
}

} // namespace pipemesh::runtime
