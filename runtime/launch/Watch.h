//===- Watch.h - The supervisor's side of the watch over a job ------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_WATCH_H
#define PIPEMESH_RUNTIME_LAUNCH_WATCH_H

#include "launch/Collector.h"
#include "launch/Supervisor.h"

namespace pipemesh::runtime {

/// Carries words between the process of a rank and the collector, and outlives
/// that process. Holds the collector where the rank is 0.
class Watch {
public:
  /// `child` is connected with the process of the rank.
  Watch(int child, Supervised &status) : child(child), status(status) {}

  /// Waits for words, or for a byte on `wake`, and does what they ask.
  void turn(int wake, int milliseconds);

  /// Whether the end of the job has been explained.
  bool isOver() const {
    return over || (collector && collector->hasPrinted());
  }

  /// The job is being ended from outside.
  void explainEnd();

  /// Reports that the rank's process was killed. True when that is printed.
  bool tell(const std::string &message);

  /// The job is ended on purpose.
  void sayGoodbye();

  /// Lets a report that is being worked on be printed.
  void finish();

private:
  void hearChild(WireMessage message);
  void hearCollector(WireMessage message);
  void listen(std::string body);
  void connect(std::string body);
  void update();
  void lookForCollector();

  Wire child;
  Supervised &status;
  int64_t rank = -1;
  std::unique_ptr<Collector> collector; ///< of rank 0
  std::unique_ptr<Wire> wire;           ///< to it, of the others
  bool collectorLeaves = false, leaving = false, over = false;
  uint64_t lostAt = 0; ///< when the collector was lost
  /// What the collector says to this supervisor's own report.
  std::optional<Word> told;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_WATCH_H
