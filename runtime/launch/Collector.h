//===- Collector.h - Gathers what all ranks recorded ----------------------===//
//
// Runs in the supervisor of rank 0. The supervisors of the other ranks connect
// to it over TCP, apart from MPI, with a token that they got over MPI. When one
// of them, or a rank's process, reports the end of the job, it asks all of them
// for the flight records and prints one message for the whole job.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_COLLECTOR_H
#define PIPEMESH_RUNTIME_LAUNCH_COLLECTOR_H

#include "host/Transport.h"
#include "launch/Wire.h"

#include <map>
#include <poll.h>
#include <set>

namespace pipemesh::runtime {

/// The end of a job, as somebody knows it.
struct Report {
  int64_t rank = 0;    ///< that reports it
  bool killed = false; ///< its process is gone; tells more than what follows
  JobEnd end;

  std::string pack() const;
  static std::optional<Report> unpack(std::string body);
};

/// A socket that others may connect to.
struct Endpoint {
  std::string address; ///< numeric
  int port;
};

class Collector {
public:
  /// `bundle` and `folder` are asked for when there is something to print.
  /// Listens on a free port of each address; throws an Error where it cannot.
  explicit Collector(const std::vector<std::string> &addresses);
  ~Collector();
  Collector(const Collector &) = delete;
  Collector &operator=(const Collector &) = delete;

  /// Of the bundle and of the flight records of this machine.
  std::string bundle, folder;

  const std::string &secret() const { return token; }
  const std::vector<Endpoint> &endpoints() const { return listening; }

  /// Adds what to poll for.
  void addTo(std::vector<pollfd> &entries) const;
  /// Does what can be done without waiting.
  void turn();

  /// Takes a report; `answer` is called with Printed or Hold.
  void take(const Report &report, std::function<void(Word)> answer);

  /// Whether a report waits for records.
  bool isBusy() const { return report && !printed; }
  /// Whether all has been said.
  bool hasPrinted() const { return printed; }

  /// The job is being ended from outside. Where a supervisor is gone, that is
  /// why.
  void explainEnd();

  /// Tells all that this end is meant.
  void sayGoodbye();

private:
  struct Member {
    std::unique_ptr<Wire> wire;
    bool leaving = false;
    uint64_t lostAt = 0;
    bool warned = false;
  };
  struct Stranger {
    std::unique_ptr<Wire> wire;
    uint64_t since;
  };

  void accept();
  void greet();
  void hear(int64_t rank, Member &member, WireMessage message);
  void warnOfLost(int64_t rank, Member &member);
  void finish();
  std::string diagnose() const;

  std::string token;
  std::vector<Endpoint> listening;
  std::vector<int> listeners;
  std::vector<Stranger> strangers;
  std::map<int64_t, Member> members;

  std::optional<Report> report;
  std::function<void(Word)> answer;
  std::set<int64_t> awaited; ///< ranks whose records have not come
  uint64_t until = 0;        ///< then it goes without them
  bool printed = false;
};

/// Connects to one of the endpoints as a rank; `problem` says why that failed.
std::unique_ptr<Wire> connectTo(const std::vector<Endpoint> &endpoints,
                                const std::string &token, int64_t rank,
                                std::string &problem);

/// Answers Collect: the record of a rank, or nothing where the collector can
/// read it by itself.
void sendLog(Wire &collector, std::string request, const std::string &folder,
             int64_t rank);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_COLLECTOR_H
