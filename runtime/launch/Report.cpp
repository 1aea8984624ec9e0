//===- Report.cpp - Metrics, progress, trace and summary ------------------===//

#include "launch/Report.h"

#include "core/File.h"
#include "host/Collective.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
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

/// The other members of the communicator of a collective.
static std::vector<int64_t> peersOf(const Mesh &mesh, const pmrt_role &role,
                                    int64_t rank,
                                    const pmrt_instruction &instruction) {
  const pmrt_communicator &communicator =
      role.communicators[collectiveOf(instruction).communicator];
  std::vector<int64_t> members = mesh.group(
      rank, std::vector<uint32_t>(communicator.axes,
                                  communicator.axes + communicator.num_axes));
  std::erase(members, rank);
  return members;
}

void writeTrace(Job &job, const std::string &path) {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  uint64_t origin = UINT64_MAX;
  for (int64_t i = 0; i < job.localSize(); ++i)
    if (!job.local(i).events.empty())
      origin = std::min(origin, job.local(i).events.front().begin);
  std::string text;
  bool first = true;
  auto add = [&](const json &event) {
    text += first ? "" : ",\n";
    first = false;
    text += event.dump();
    if (text.size() > (1u << 20)) {
      file.write(text);
      text.clear();
    }
  };
  for (int64_t i = 0; i < job.localSize(); ++i) {
    Rank &rank = job.local(i);
    int64_t r = rank.number();
    const pmrt_role &role = rank.getProgram().role;
    add({{"ph", "M"},
         {"name", "process_name"},
         {"pid", r},
         {"args", {{"name", job.manifest().mesh.describe(r)}}}});
    add({{"ph", "M"},
         {"name", "process_sort_index"},
         {"pid", r},
         {"args", {{"sort_index", r}}}});
    for (const TraceEvent &event : rank.events) {
      const pmrt_action &action = role.actions[event.action];
      auto span = [&](const std::string &name, const char *category,
                      uint64_t begin, uint64_t end, json arguments) {
        add({{"ph", "X"},
             {"name", name},
             {"cat", category},
             {"pid", r},
             {"tid", 0},
             {"ts", double(begin - origin) / 1e3},
             {"dur", double(end - begin) / 1e3},
             {"args", std::move(arguments)}});
      };
      if (action.kind != PMRT_RUN) {
        bool send = action.kind == PMRT_SEND;
        span(cat(send ? "send " : "receive ", role.buffers[action.index].name),
             "transfer", event.begin, event.end,
             {{"buffer", role.buffers[action.index].name},
              {"micro_batch", action.micro_batch},
              {"peer", job.manifest().mesh.peer(r, action.peer)},
              {"bytes", role.buffers[action.index].bytes},
              {"channel", action.channel},
              {"wait_us", double(event.waited) / 1e3}});
        continue;
      }
      const pmrt_body &body = role.bodies[action.index];
      if (!event.instruction) {
        span(body.name, "action", event.begin, event.end,
             {{"kind", kindName(body.kind)},
              {"stage", body.stage},
              {"micro_batch", action.micro_batch}});
        continue;
      }
      const pmrt_instruction &instruction = *event.instruction;
      json arguments;
      if (instruction.location)
        arguments["location"] = instruction.location;
      std::string name = "gemm";
      const char *category = "gemm";
      switch (instruction.opcode) {
      case PMRT_OP_GEMM: {
        const auto &gemm =
            *static_cast<const pmrt_gemm *>(instruction.descriptor);
        arguments["m"] = gemm.m;
        arguments["n"] = gemm.n;
        arguments["k"] = gemm.k;
        break;
      }
      case PMRT_OP_KERNEL:
        name = kernelOf(instruction).name;
        category = "kernel";
        arguments["flops"] = kernelOf(instruction).flops;
        arguments["bytes"] = kernelOf(instruction).bytes;
        break;
      case PMRT_OP_ALL_REDUCE:
      case PMRT_OP_ALL_GATHER:
      case PMRT_OP_REDUCE_SCATTER:
        name = instruction.opcode == PMRT_OP_ALL_REDUCE   ? "all-reduce"
               : instruction.opcode == PMRT_OP_ALL_GATHER ? "all-gather"
                                                          : "reduce-scatter";
        category = "collective";
        arguments["bytes"] = operandBytes(instruction);
        arguments["peers"] = peersOf(job.manifest().mesh, role, r, instruction);
        arguments["wait_us"] = double(event.waited) / 1e3;
        break;
      case PMRT_OP_COPY:
        name = category = "copy";
        break;
      default:
        name = category = "zero";
      }
      span(name, category, event.begin, event.end, std::move(arguments));
    }
  }
  file.write(text);
  file.write("\n]}\n");
  file.commit();
}

uint64_t peakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

std::string summary(Job &job, const std::vector<StepResult> &results) {
  std::string text;
  char line[256];
  auto print = [&](auto... arguments) {
    std::snprintf(line, sizeof(line), arguments...);
    text += line;
  };
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
    print("time        %-26s %7s %8s %12s %10s %8s %7s %9s\n", "", "gemm",
          "kernels", "collectives", "transfers", "waiting", "other", "GFLOP/s");
    for (int64_t i = 0; i < job.localSize(); ++i) {
      const TimeSpent &time = job.local(i).time;
      double whole = std::max<double>(double(time.total()), 1) / 100;
      print(
          "            %-26s %6.1f%% %7.1f%% %11.1f%% %9.1f%% %7.1f%% %6.1f%% "
          "%9.1f\n",
          job.manifest().mesh.describe(job.local(i).number()).c_str(),
          double(time.gemm) / whole, double(time.kernels) / whole,
          double(time.collectives) / whole, double(time.transfers) / whole,
          double(time.waiting) / whole, double(time.other) / whole,
          time.gemm ? time.gemmFlops / double(time.gemm) : 0.0);
    }
  }
  uint64_t arenas = 0;
  for (int64_t i = 0; i < job.localSize(); ++i)
    arenas += job.local(i).getProgram().role.arena_bytes;
  print("memory      %.1f MB at the peak, of which %.1f MB in the arenas of "
        "%ld rank%s\n",
        double(peakMemory()) / 1e6, double(arenas) / 1e6, long(job.size()),
        job.size() == 1 ? "" : "s");
  return text;
}

} // namespace pipemesh::runtime
