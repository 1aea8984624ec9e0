//===- Report.h - Metrics, progress, trace and summary --------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_REPORT_H
#define PIPEMESH_RUNTIME_LAUNCH_REPORT_H

#include "launch/Session.h"

#include <fstream>

namespace pipemesh::runtime {

/// Appends one JSON object a step to a file, each line as soon as it is known.
class MetricsWriter {
public:
  explicit MetricsWriter(const std::string &path);
  void write(const StepResult &result);

private:
  std::string path;
  std::ofstream file;
};

/// A line with loss, speed and the time left: rewritten in place on a
/// terminal, else printed from time to time.
class Progress {
public:
  explicit Progress(int64_t steps);
  void show(const StepResult &result);
  /// Ends the line before other output.
  void finish();

private:
  int64_t steps, done = 0;
  uint64_t start, shown = 0;
  bool terminal, open = false;
};

/// Writes the ranks' events in the JSON form that Perfetto reads: a process
/// for each rank; actions, instructions and their waits nest in one track.
/// Collective, as is `summary`.
void writeTrace(Job &job, const std::string &path);

/// Loss, speed, where each rank's time went, and peak memory.
std::string summary(Job &job, const std::vector<StepResult> &results);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_REPORT_H
