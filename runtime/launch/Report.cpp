//===- Report.cpp - Metrics, progress, trace and summary ------------------===//

#include "launch/Report.h"

#include "launch/Memory.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unistd.h>

using json = nlohmann::ordered_json;

namespace pipemesh::runtime {

MetricsWriter::MetricsWriter(const std::string &path)
    : path(path), file(path, std::ios::trunc) {
  if (!file)
    fail("--metrics: cannot write '", path, "'");
}

void MetricsWriter::write(const StepResult &result) {
  json line;
  line["step"] = result.step;
  line["loss"] = result.loss;
  line["grad_norm"] = result.gradNorm ? json(*result.gradNorm) : json();
  line["learning_rate"] =
      result.learningRate ? json(*result.learningRate) : json();
  line["counted_tokens"] = result.countedTokens;
  line["step_ms"] = result.milliseconds;
  line["tokens_per_s"] = result.tokensPerSecond;
  file << line.dump() << std::endl;
  if (!file)
    fail("--metrics: cannot write '", path, "'");
}

/// "1:02:03" or "2:03".
static std::string duration(double seconds) {
  auto whole = static_cast<int64_t>(seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", long(whole / 3600),
                  long(whole / 60 % 60), long(whole % 60));
  else
    std::snprintf(text, sizeof(text), "%ld:%02ld", long(whole / 60),
                  long(whole % 60));
  return text;
}

Progress::Progress(int64_t steps)
    : steps(steps), start(nanoseconds()), terminal(isatty(STDERR_FILENO)) {
  shown = terminal ? 0 : start;
}

void Progress::show(const StepResult &result) {
  ++done;
  uint64_t now = nanoseconds();
  uint64_t interval = terminal ? 100'000'000u : 5'000'000'000u;
  // A log gets a line from time to time, a terminal the first step at once.
  bool due = now - shown >= interval || (terminal && done == steps);
  if (!due)
    return;
  shown = now;
  double left = static_cast<double>(now - start) / 1e9 / double(done) *
                double(steps - done);
  char line[160];
  std::snprintf(line, sizeof(line),
                "step %ld  %ld/%ld  loss %.4f  %.0f tokens/s  %s left",
                long(result.step), long(done), long(steps), result.loss,
                result.tokensPerSecond, duration(left).c_str());
  std::fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", line);
  open = terminal;
}

void Progress::finish() {
  if (open)
    std::fputc('\n', stderr);
  open = false;
}

/// A line for each rank of this process: where its time went.
static std::string timeLines(const Job &job) {
  std::string text;
  for (int64_t i = 0; i < job.localSize(); ++i) {
    const TimeSpent &time = job.local(i).time;
    double whole = std::max<double>(double(time.total()), 1) / 100;
    char line[256];
    std::snprintf(
        line, sizeof(line),
        "            %-26s %6.1f%% %7.1f%% %11.1f%% %9.1f%% %7.1f%% %6.1f%% "
        "%9.1f\n",
        job.manifest().mesh.describe(job.local(i).number()).c_str(),
        double(time.gemm) / whole, double(time.kernels) / whole,
        double(time.collectives) / whole, double(time.transfers) / whole,
        double(time.waiting) / whole, double(time.other) / whole,
        time.gemm ? time.gemmFlops / double(time.gemm) : 0.0);
    text += line;
  }
  return text;
}

std::string summary(Job &job, const std::vector<StepResult> &results) {
  std::string text;
  char line[256];
  auto print = [&](auto... arguments) {
    std::snprintf(line, sizeof(line), arguments...);
    text += line;
  };
  std::vector<std::string> lines = job.gatherTexts(timeLines(job));
  bool isSeveral = lines.size() > 1;
  uint64_t peak = 0;
  for (const std::string &bytes : job.gatherTexts(std::to_string(peakMemory())))
    peak += bytes.empty() ? 0 : std::stoull(bytes);
  if (!results.empty()) {
    // The first step pays for cold caches and pages.
    size_t from = results.size() > 1 ? 1 : 0;
    double milliseconds = 0, tokensPerMs = 0, lossSum = 0;
    for (size_t i = from; i < results.size(); ++i) {
      milliseconds += results[i].milliseconds;
      tokensPerMs += results[i].tokensPerSecond * results[i].milliseconds;
    }
    for (const StepResult &result : results)
      lossSum += result.loss;
    if (job.manifest().train)
      print("loss        %.6f -> %.6f in %zu step%s\n", results.front().loss,
            results.back().loss, results.size(),
            results.size() == 1 ? "" : "s");
    else
      print("loss        %.6f on average of %zu batch%s\n",
            lossSum / double(results.size()), results.size(),
            results.size() == 1 ? "" : "es");
    print("speed       %.0f tokens/s, %.2f ms a step\n",
          tokensPerMs / milliseconds,
          milliseconds / double(results.size() - from));
    // Where the time of a GPU went, the host does not see.
    if (job.manifest().target.cuda)
      lines.clear();
    else
      print("time        %-26s %7s %8s %12s %10s %8s %7s %9s\n", "", "gemm",
            "kernels", "collectives", "transfers", "waiting", "other", "GFLOP/s");
    for (const std::string &rank : lines)
      text += rank;
  }
  uint64_t arenas = 0;
  for (int64_t r = 0; r < job.size(); ++r)
    arenas += job.manifest().roles[job.manifest().mesh.role(r)].arenaBytes;
  print("memory      %.1f MB at the peak%s, %s %.1f MB in the arenas of "
        "%ld rank%s\n",
        double(peak) / 1e6, isSeveral ? " of all processes" : "",
        job.manifest().target.cuda ? "and on GPUs" : "of which",
        double(arenas) / 1e6, long(job.size()), job.size() == 1 ? "" : "s");
  return text;
}

} // namespace pipemesh::runtime
