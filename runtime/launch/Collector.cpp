//===- Collector.cpp - Gathers what all ranks recorded --------------------===//

#include "launch/Collector.h"

#include "core/File.h"
#include "host/Diagnosis.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace fs = std::filesystem;

constexpr uint64_t second = 1'000'000'000u;
/// Records that have not come by then are left out.
constexpr uint64_t collectingTime = 3 * second / 2;
/// When the job is being ended, there is less time.
constexpr uint64_t hurriedTime = second / 2;
/// mpirun ends a job that has lost a process; after this time it was the
/// connection alone.
constexpr uint64_t untilOnlyLost = 3 * second;
/// Who has not said the token by then is sent away.
constexpr uint64_t greetingTime = 5 * second;
constexpr size_t mostStrangers = 64;
constexpr uint32_t longestGreeting = 256;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Report::pack() const {
  std::string absent;
  for (int64_t other : end.absent)
    absent += cat(other, " ");
  return cat(rank, "\n", killed ? 1 : 0, "\n", end.status, "\n", end.late, "\n",
             end.flight, "\n", absent, "\n", end.message);
}

std::optional<Report> Report::unpack(std::string body) {
  Report report;
  auto rank = fieldNumber(takeField(body), 0);
  auto killed = fieldNumber(takeField(body), 0);
  auto status = fieldNumber(takeField(body), 1);
  auto late = fieldNumber(takeField(body), -1);
  if (!rank || !killed || !status || !late)
    return std::nullopt;
  report.rank = *rank;
  report.killed = *killed != 0;
  report.end.status = static_cast<int>(*status);
  report.end.late = *late;
  report.end.flight = takeField(body);
  std::istringstream absent(takeField(body));
  for (int64_t other; absent >> other;)
    report.end.absent.push_back(other);
  report.end.message = body;
  return report;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

/// Calls `use` with the socket address.
static bool withAddress(const Endpoint &endpoint,
                        const std::function<bool(const addrinfo &)> &use) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(endpoint.address.c_str(), cat(endpoint.port).c_str(), &hints,
                  &found) != 0)
    return false;
  bool done = use(*found);
  freeaddrinfo(found);
  return done;
}

/// A machine that is gone is noticed after half a minute.
static void keepAlive(int socket) {
  int on = 1, idle = 10, interval = 5, count = 4;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

Collector::Collector(const std::vector<std::string> &addresses) {
  std::random_device random;
  for (int i = 0; i < 8; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof(digits), "%08x", random());
    token += digits;
  }
  std::string reason;
  for (const std::string &address : addresses)
    withAddress({address, 0}, [&](const addrinfo &info) {
      int one = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       0);
      sockaddr_storage bound;
      socklen_t length = sizeof(bound);
      char port[16];
      if (one < 0 || bind(one, info.ai_addr, info.ai_addrlen) != 0 ||
          listen(one, 1024) != 0 ||
          getsockname(one, reinterpret_cast<sockaddr *>(&bound), &length) !=
              0 ||
          getnameinfo(reinterpret_cast<sockaddr *>(&bound), length, nullptr, 0,
                      port, sizeof(port), NI_NUMERICSERV) != 0) {
        reason = std::strerror(errno);
        if (one >= 0)
          close(one);
        return false;
      }
      listeners.push_back(one);
      listening.push_back({address, std::atoi(port)});
      return true;
    });
  if (listeners.empty())
    fail("cannot listen on ",
         addresses.empty() ? "any address" : addresses.front(), ": ",
         reason.empty() ? "it is no address of this machine" : reason);
}

Collector::~Collector() {
  for (int one : listeners)
    close(one);
}

std::unique_ptr<Wire> connectTo(const std::vector<Endpoint> &endpoints,
                                const std::string &token, int64_t rank,
                                std::string &problem) {
  constexpr int patience = 1000; // milliseconds, for each
  for (const Endpoint &endpoint : endpoints) {
    std::unique_ptr<Wire> wire;
    std::string reason = "it is no address";
    withAddress(endpoint, [&](const addrinfo &info) {
      int one = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       0);
      if (one < 0)
        return false;
      int error = 0;
      if (connect(one, info.ai_addr, info.ai_addrlen) != 0)
        error = errno;
      if (error == EINPROGRESS) {
        pollfd entry{one, POLLOUT, 0};
        socklen_t length = sizeof(error);
        error = ETIMEDOUT;
        int count;
        do
          count = poll(&entry, 1, patience);
        while (count < 0 && errno == EINTR);
        if (count == 1)
          getsockopt(one, SOL_SOCKET, SO_ERROR, &error, &length);
      }
      if (error) {
        reason = std::strerror(error);
        close(one);
        return false;
      }
      keepAlive(one);
      wire = std::make_unique<Wire>(one);
      return true;
    });
    if (wire) {
      wire->send(Word::Hello, cat(token, "\n", rank));
      std::optional<WireMessage> answer = wire->wait(patience);
      if (answer && answer->word == Word::Welcome)
        return wire;
      reason = "nothing answers there";
    }
    problem += cat(problem.empty() ? "" : ", ", endpoint.address, " port ",
                   endpoint.port, ": ", reason);
  }
  if (problem.empty())
    problem = "it listens nowhere";
  return nullptr;
}

void Collector::addTo(std::vector<pollfd> &entries) const {
  for (int one : listeners)
    entries.push_back({one, POLLIN, 0});
  auto add = [&](const Wire &wire) {
    if (!wire.isLost())
      entries.push_back({wire.descriptor(),
                         static_cast<short>(wire.hasToWrite() ? POLLIN | POLLOUT
                                                              : POLLIN),
                         0});
  };
  for (const Stranger &stranger : strangers)
    add(*stranger.wire);
  for (auto &[rank, member] : members)
    add(*member.wire);
}

void Collector::accept() {
  for (int one : listeners)
    for (int come; (come = ::accept4(one, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      keepAlive(come);
      auto wire = std::make_unique<Wire>(come);
      wire->longest = longestGreeting;
      if (strangers.size() < mostStrangers)
        strangers.push_back({std::move(wire), nanoseconds()});
    }
}

/// Takes as long for any other text of this length.
static bool isSame(const std::string &a, const std::string &b) {
  unsigned char difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

void Collector::greet() {
  for (Stranger &stranger : strangers) {
    stranger.wire->move();
    std::optional<WireMessage> message = stranger.wire->next();
    bool late = nanoseconds() - stranger.since > greetingTime;
    if (!message) {
      if (stranger.wire->isLost() || late)
        stranger.wire.reset();
      continue;
    }
    std::string said = takeField(message->body);
    std::optional<int64_t> rank = fieldNumber(message->body, 0);
    if (message->word != Word::Hello || !isSame(said, token) || !rank) {
      stranger.wire.reset();
      continue;
    }
    stranger.wire->longest = 1u << 20;
    stranger.wire->send(Word::Welcome);
    members[*rank].wire = std::move(stranger.wire);
  }
  std::erase_if(strangers, [](const Stranger &one) { return !one.wire; });
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// Tells machines apart, and the same one before and after it was started anew.
static std::string machineText() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

static std::string markerName(const std::string &token) {
  return "collected-by-" + token.substr(0, 8);
}

void sendLog(Wire &collector, std::string request, const std::string &folder,
             int64_t rank) {
  std::string machine = takeField(request);
  bool there = machine == machineText() &&
               access((fs::path(folder) / request).c_str(), F_OK) == 0;
  collector.send(Word::Log, there || folder.empty()
                                ? ""
                                : packFlight(flightPath(folder, rank)));
}

void Collector::take(const Report &given, std::function<void(Word)> tell) {
  if (printed || (report && (report->killed || !given.killed))) {
    if (tell)
      tell(Word::Hold);
    return;
  }
  // One that was killed explains what others saw of it.
  if (answer)
    answer(Word::Hold);
  bool isFirst = !report;
  report = given;
  answer = std::move(tell);
  if (!isFirst)
    return;
  until = nanoseconds() + collectingTime;
  std::string marker = markerName(token);
  if (!folder.empty())
    std::ofstream((fs::path(folder) / marker).string());
  for (auto &[rank, member] : members) {
    if (member.wire->isLost())
      continue;
    member.wire->send(Word::Collect, cat(machineText(), "\n", marker));
    awaited.insert(rank);
  }
}

void Collector::hear(int64_t rank, Member &member, WireMessage message) {
  switch (message.word) {
  case Word::Log:
    awaited.erase(rank);
    try {
      if (!message.body.empty() && !folder.empty())
        unpackFlight(message.body, folder, rank);
    } catch (const Error &) {
      // The message goes without it.
    }
    break;
  case Word::Goodbye:
    member.leaving = true;
    break;
  case Word::Report:
    if (std::optional<Report> come = Report::unpack(message.body)) {
      Wire *wire = member.wire.get();
      take(*come, [wire](Word word) { wire->send(word); });
    }
    break;
  default:
    break;
  }
}

void Collector::warnOfLost(int64_t rank, Member &member) {
  if (member.leaving || member.warned || report ||
      (member.wire->isClosed() &&
       nanoseconds() - member.lostAt < untilOnlyLost))
    return;
  member.warned = true;
  std::fprintf(stderr,
               "pmrun: warning: the connection to the supervisor of rank %ld is "
               "lost; what that rank did last is not collected any more\n",
               long(rank));
}

void Collector::explainEnd() {
  for (auto &[rank, member] : members) {
    if (!member.lostAt || member.leaving || !member.wire->isClosed() ||
        nanoseconds() - member.lostAt > untilOnlyLost)
      continue;
    Report gone{rank, /*killed=*/true, {}};
    gone.end.message =
        cat("the process that supervises rank ", rank,
            " was killed, or its machine is gone");
    gone.end.flight = folder;
    take(gone, nullptr);
    until = std::min(until, nanoseconds() + hurriedTime);
  }
}

void Collector::turn() {
  accept();
  greet();
  for (auto &[rank, member] : members) {
    member.wire->move();
    while (std::optional<WireMessage> message = member.wire->next())
      hear(rank, member, std::move(*message));
    if (!member.wire->isLost())
      continue;
    awaited.erase(rank);
    if (!member.lostAt)
      member.lostAt = nanoseconds();
    warnOfLost(rank, member);
  }
  if (isBusy() && (awaited.empty() || nanoseconds() >= until))
    finish();
}

std::string Collector::diagnose() const {
  const JobEnd &end = report->end;
  std::string text = end.message;
  if (end.late >= 0 && !folder.empty()) {
    try {
      Bundle opened(bundle);
      if (end.late < opened.manifest().mesh.ranks())
        text = Diagnosis(opened, folder).lateText(end.late, end.absent);
    } catch (const std::exception &) {
      // What the rank saw by itself is told then.
    }
  }
  std::string silent;
  for (int64_t rank : awaited)
    silent += cat(silent.empty() ? "" : ", ", rank);
  if (!silent.empty())
    text += cat("; no record came from the supervisor of rank ", silent);
  return text + JobEnd::whereToRead(end.flight.empty() ? "" : folder);
}

void Collector::finish() {
  printed = true;
  std::fprintf(stderr, "pmrun: error: %s\n", diagnose().c_str());
  std::fflush(stderr);
  std::error_code ignored;
  if (!folder.empty())
    fs::remove(fs::path(folder) / markerName(token), ignored);
  if (answer)
    answer(Word::Printed);
  for (auto &[rank, member] : members)
    if (rank != report->rank || !answer)
      member.wire->send(Word::Hold);
}

void Collector::sayGoodbye() {
  for (auto &[rank, member] : members)
    member.wire->send(Word::Goodbye);
  for (auto &[rank, member] : members)
    member.wire->flush(100);
}

} // namespace pipemesh::runtime
