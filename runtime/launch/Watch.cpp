//===- Watch.cpp - The supervisor's side of the watch over a job ----------===//

#include "launch/Watch.h"

#include <cstdio>
#include <sstream>
#include <unistd.h>

namespace pipemesh::runtime {

void Watch::listen(std::string body) {
  std::vector<std::string> addresses;
  std::istringstream words(body);
  for (std::string address; words >> address;)
    addresses.push_back(address);
  std::string answer;
  try {
    collector = std::make_unique<Collector>(addresses);
    answer = collector->secret() + "\n";
    for (const Endpoint &endpoint : collector->endpoints())
      answer += cat(endpoint.address, " ", endpoint.port, " ");
    rank = 0;
  } catch (const Error &error) {
    answer = cat("\n", error.what());
  }
  child.send(Word::Listening, answer);
}

void Watch::connect(std::string body) {
  rank = fieldNumber(takeField(body), 0).value_or(-1);
  std::string token = takeField(body), problem;
  std::vector<Endpoint> endpoints;
  std::istringstream words(body);
  for (Endpoint one; words >> one.address >> one.port;)
    endpoints.push_back(one);
  wire = connectTo(endpoints, token, rank, problem);
  child.send(Word::Connected, problem.substr(0, wire ? 0 : problem.npos));
}

void Watch::hearChild(WireMessage message) {
  switch (message.word) {
  case Word::Listen:
    return listen(message.body);
  case Word::Connect:
    return connect(message.body);
  case Word::Goodbye:
    leaving = true;
    if (wire)
      wire->send(Word::Goodbye);
    return;
  case Word::Report:
    if (over)
      return child.send(Word::Hold);
    if (collector) {
      if (std::optional<Report> report = Report::unpack(message.body)) {
        update();
        return collector->take(*report,
                               [this](Word word) { child.send(word); });
      }
    } else if (wire && !wire->isLost()) {
      return wire->send(Word::Report, message.body);
    } else if (lostAt && !collectorLeaves) {
      // It shows soon whether that is the end of the job.
      return;
    }
    child.send(Word::Unheard);
    return;
  default:
    return;
  }
}

void Watch::hearCollector(WireMessage message) {
  switch (message.word) {
  case Word::Collect:
    return sendLog(*wire, message.body, status.flight, rank);
  case Word::Goodbye:
    collectorLeaves = true;
    return;
  case Word::Printed:
  case Word::Hold:
    over = true;
    told = message.word;
    child.send(message.word);
    return;
  default:
    return;
  }
}

void Watch::update() {
  collector->bundle = status.bundle;
  collector->folder = status.flight;
}

void Watch::turn(int wake, int milliseconds) {
  std::vector<pollfd> entries{{wake, POLLIN, 0}};
  if (!child.isLost())
    entries.push_back({child.descriptor(),
                       static_cast<short>(child.hasToWrite() ? POLLIN | POLLOUT
                                                             : POLLIN),
                       0});
  if (wire && !wire->isLost())
    entries.push_back({wire->descriptor(),
                       static_cast<short>(wire->hasToWrite() ? POLLIN | POLLOUT
                                                             : POLLIN),
                       0});
  if (collector) {
    collector->addTo(entries);
    if (collector->isBusy())
      milliseconds = std::min(milliseconds, 50);
  }
  poll(entries.data(), entries.size(), milliseconds);
  child.move();
  while (std::optional<WireMessage> message = child.next())
    hearChild(std::move(*message));
  if (collector) {
    update();
    collector->turn();
  }
  if (!wire)
    return;
  wire->move();
  while (std::optional<WireMessage> message = wire->next())
    hearCollector(std::move(*message));
  lookForCollector();
}

/// mpirun ends a job that has lost a process; after this time it was the
/// connection alone.
static constexpr uint64_t untilOnlyLost = 3'000'000'000u;

void Watch::lookForCollector() {
  if (!wire->isLost() || collectorLeaves || leaving || over)
    return;
  if (!lostAt)
    lostAt = nanoseconds();
  // One rank speaks for all that notice it.
  if (wire->isClosed() && nanoseconds() - lostAt < untilOnlyLost)
    return;
  collectorLeaves = true;
  if (rank == 1)
    std::fprintf(stderr,
                 "pmrun: warning: the connection to the supervisor of rank 0 is "
                 "lost; what the ranks do last is not collected any more\n");
}

void Watch::explainEnd() {
  if (collector)
    collector->explainEnd();
  if (!wire || !lostAt || !wire->isClosed() || collectorLeaves || over)
    return;
  over = true;
  child.send(Word::Hold);
  if (rank == 1)
    std::fprintf(stderr,
                 "pmrun: error: the process that supervises rank 0 was killed, "
                 "or its machine is gone%s\n",
                 JobEnd::whereToRead(status.flight).c_str());
}

bool Watch::tell(const std::string &message) {
  Report report{rank, /*killed=*/true, {}};
  report.end.message = message;
  report.end.flight = status.flight;
  told.reset();
  if (collector) {
    update();
    collector->take(report, [this](Word word) { told = word; });
  } else if (wire && !wire->isLost()) {
    wire->send(Word::Report, report.pack());
  } else {
    return false;
  }
  for (int i = 0; i < 60 && !told; ++i) {
    turn(-1, 50);
    if (wire && wire->isLost())
      return false;
  }
  return told.has_value();
}

void Watch::sayGoodbye() {
  leaving = true;
  if (wire) {
    wire->send(Word::Goodbye);
    wire->flush(100);
  }
  if (collector)
    collector->sayGoodbye();
}

void Watch::finish() {
  for (int i = 0; i < 60 && collector && collector->isBusy(); ++i)
    turn(-1, 50);
}

} // namespace pipemesh::runtime
