//===- TcpWire.cpp - Frames over a TCP connection -------------------------===//

#include "launch/TcpWire.h"

#include "core/Error.h"
#include "host/Sync.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace {

struct Head {
  uint32_t mark, kind;
  uint64_t length;
};
constexpr uint32_t mark = 0x706d7470; // "pmtp"
constexpr uint64_t longest = uint64_t(1) << 30;

void add(std::string &text, uint64_t number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

bool take(const std::string &text, size_t &at, uint64_t &number) {
  if (text.size() - at < sizeof(number))
    return false;
  std::memcpy(&number, text.data() + at, sizeof(number));
  at += sizeof(number);
  return true;
}

} // namespace

std::string packTexts(const std::vector<std::string> &texts) {
  std::string packed;
  add(packed, texts.size());
  for (const std::string &text : texts)
    add(packed, text.size());
  for (const std::string &text : texts)
    packed += text;
  return packed;
}

std::vector<std::string> unpackTexts(const std::string &packed) {
  size_t at = 0;
  uint64_t count = 0;
  if (!take(packed, at, count) || count > packed.size() / sizeof(count))
    return {};
  std::vector<uint64_t> sizes(count);
  uint64_t total = 0;
  for (uint64_t &size : sizes) {
    if (!take(packed, at, size) || size > packed.size())
      return {};
    total += size;
  }
  if (total != packed.size() - at)
    return {};
  std::vector<std::string> texts;
  for (uint64_t size : sizes) {
    texts.push_back(packed.substr(at, size));
    at += size;
  }
  return texts;
}

std::string TcpHello::pack() const {
  return packTexts({std::to_string(rank), std::to_string(size), token, bundle});
}

bool TcpHello::unpack(const std::string &body) {
  std::vector<std::string> fields = unpackTexts(body);
  if (fields.size() != 4)
    return false;
  for (int i : {0, 1})
    if (fields[i].empty() || fields[i].size() > 9 ||
        fields[i].find_first_not_of("0123456789") != std::string::npos)
      return false;
  rank = std::stoll(fields[0]);
  size = std::stoll(fields[1]);
  token = fields[2];
  bundle = fields[3];
  return true;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

TcpWire::TcpWire(int socket) : socket(socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  // A machine that is gone is noticed after half a minute.
  int on = 1, idle = 10, interval = 5, count = 4;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

TcpWire::~TcpWire() { close(socket); }

void TcpWire::send(const TcpFrame &frame) {
  Head head{mark, frame.kind, frame.body.size()};
  outgoing.append(reinterpret_cast<const char *>(&head), sizeof(head));
  outgoing += frame.body;
  move();
}

void TcpWire::move() {
  while (hasToWrite()) {
    ssize_t count = ::send(socket, outgoing.data() + written,
                           outgoing.size() - written, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (count <= 0) {
      // What has come before is still there to be read.
      written = outgoing.size();
      break;
    }
    written += static_cast<size_t>(count);
  }
  if (written == outgoing.size()) {
    outgoing.clear();
    written = 0;
  }
  static thread_local char part[65536];
  while (!lost && incoming.size() - taken <= sizeof(Head) + longest) {
    ssize_t count = recv(socket, part, sizeof(part), 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (count <= 0)
      lost = true;
    else
      incoming.append(part, static_cast<size_t>(count));
  }
}

std::optional<TcpFrame> TcpWire::next() {
  Head head;
  if (incoming.size() - taken < sizeof(head))
    return std::nullopt;
  std::memcpy(&head, incoming.data() + taken, sizeof(head));
  if (head.mark != mark || head.kind > TcpFrame::Goodbye ||
      head.length > longest) {
    lost = true;
    incoming.clear();
    taken = 0;
    return std::nullopt;
  }
  if (incoming.size() - taken - sizeof(head) < head.length)
    return std::nullopt;
  TcpFrame frame{static_cast<TcpFrame::Kind>(head.kind),
                 incoming.substr(taken + sizeof(head), head.length)};
  taken += sizeof(head) + head.length;
  if (taken == incoming.size()) {
    incoming.clear();
    taken = 0;
  }
  return frame;
}

/// False where the time is over.
static bool pollFor(int socket, short events, uint64_t until) {
  uint64_t now = nanoseconds();
  if (now >= until)
    return false;
  pollfd entry{socket, events, 0};
  uint64_t milliseconds =
      std::min<uint64_t>((until - now) / 1'000'000u + 1, 1000);
  poll(&entry, 1, static_cast<int>(milliseconds));
  return true;
}

std::optional<TcpFrame> TcpWire::wait(uint64_t until) {
  do {
    move();
    if (std::optional<TcpFrame> frame = next())
      return frame;
  } while (!lost &&
           pollFor(socket, hasToWrite() ? POLLIN | POLLOUT : POLLIN, until));
  return std::nullopt;
}

void TcpWire::flush(int milliseconds) {
  uint64_t until =
      nanoseconds() + static_cast<uint64_t>(milliseconds) * 1'000'000u;
  do
    move();
  while (hasToWrite() && pollFor(socket, POLLOUT, until));
}

TcpListener::TcpListener(int port) {
  // Of both kinds of addresses, where the machine has both.
  for (int family : {AF_INET6, AF_INET}) {
    socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0)
      continue;
    int on = 1, off = 0;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    int result;
    if (family == AF_INET6) {
      setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(static_cast<uint16_t>(port));
      result =
          bind(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address));
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<uint16_t>(port));
      result =
          bind(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address));
    }
    if (result == 0 && listen(socket, 4096) == 0)
      return;
    int error = errno;
    close(socket);
    socket = -1;
    if (error == EADDRINUSE || error == EACCES)
      fail("rank 0 cannot listen on port ", port, ": ", std::strerror(error),
           "; give --rendezvous=HOST:PORT another one");
  }
  fail("rank 0 cannot listen on port ", port, ": ", std::strerror(errno));
}

TcpListener::~TcpListener() {
  if (socket >= 0)
    close(socket);
}

std::unique_ptr<TcpWire> TcpListener::accept() {
  int one = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  return one < 0 ? nullptr : std::make_unique<TcpWire>(one);
}

std::unique_ptr<TcpWire> connectTo(const std::string &host, int port,
                                   uint64_t until, std::string &problem) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    problem =
        cat("'", host, "' is no address and no name that this machine knows (",
            gai_strerror(error), ")");
    return nullptr;
  }
  std::unique_ptr<TcpWire> wire;
  for (addrinfo *info = found; info && !wire; info = info->ai_next) {
    int one = ::socket(info->ai_family,
                       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (one < 0)
      continue;
    int result = connect(one, info->ai_addr, info->ai_addrlen);
    int state = result == 0 ? 0 : errno;
    if (state == EINPROGRESS) {
      pollfd entry{one, POLLOUT, 0};
      int ready = 0;
      do
        ready = poll(&entry, 1, 100);
      while (ready == 0 && nanoseconds() < until);
      socklen_t length = sizeof(state);
      if (ready <= 0)
        state = ETIMEDOUT;
      else
        getsockopt(one, SOL_SOCKET, SO_ERROR, &state, &length);
    }
    if (state == 0) {
      wire = std::make_unique<TcpWire>(one);
    } else {
      problem = std::strerror(state);
      close(one);
    }
  }
  freeaddrinfo(found);
  return wire;
}

uint64_t deadlineIn(double seconds) {
  return seconds > 0 ? nanoseconds() + static_cast<uint64_t>(seconds * 1e9)
                     : ~0ull;
}

} // namespace pipemesh::runtime
