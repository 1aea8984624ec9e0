//===- Schedule.cpp - pmcheck schedule and simulate -----------------------===//

#include "Commands.h"
#include "pipemesh/Schedule/ActionLists.h"
#include "pipemesh/Schedule/Generate.h"
#include "pipemesh/Schedule/Print.h"
#include "pipemesh/Schedule/ZeroBubble.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;

namespace pipemesh::check {

static Error wrong(const llvm::Twine &message) {
  return llvm::createStringError(message.str());
}

static Expected<std::string> readText(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return wrong("cannot read '" + path + "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// A whole number that is at least 1.
static Error readCount(const Arguments &arguments, StringRef name,
                       int64_t &value) {
  if (!arguments.has(name))
    return Error::success();
  if (arguments.get(name).getAsInteger(10, value) || value < 1)
    return wrong("'--" + name + "=" + arguments.get(name) +
                 "' is not a whole number from 1 on");
  return Error::success();
}

/// `--costs` and `--memory`.
static Expected<Costs> readCosts(const Arguments &arguments) {
  Costs costs;
  StringRef times = arguments.get("costs");
  if (times.consume_front("@")) {
    Expected<std::string> text = readText(times);
    if (!text)
      return text.takeError();
    Expected<Costs> table = Costs::parseTable(*text);
    if (!table)
      return table.takeError();
    costs = std::move(*table);
  } else if (arguments.has("costs")) {
    if (Error error = costs.parseTimes(times))
      return std::move(error);
  }
  if (arguments.has("memory"))
    if (Error error = costs.parseMemory(arguments.get("memory")))
      return std::move(error);
  return costs;
}

static Expected<std::optional<double>>
readMemoryLimit(const Arguments &arguments) {
  if (!arguments.has("memory-limit"))
    return std::nullopt;
  double limit = 0;
  if (arguments.get("memory-limit").getAsDouble(limit) || !(limit > 0))
    return wrong("'--memory-limit=" + arguments.get("memory-limit") +
                 "' is not a number above 0");
  return limit;
}

static Error writeFile(const Arguments &arguments, StringRef option,
                       llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (!arguments.has(option))
    return Error::success();
  StringRef path = arguments.get(option);
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    write(os);
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    return wrong("cannot write '" + path + "': " + code.message());
  return Error::success();
}

/// Simulates, checks the memory, prints and draws.
static Error show(const Arguments &arguments, Schedule schedule,
                  const Costs &costs, std::optional<double> limit,
                  ArrayRef<std::pair<StringRef, llvm::json::Value>> more = {}) {
  // Before the updates: they are no part of an action list.
  if (Error error = writeFile(arguments, "csv", [&](llvm::raw_ostream &os) {
        os << printActionLists(schedule);
      }))
    return error;
  bool hasUpdates = false;
  for (size_t stage = 0; stage < costs.size(); ++stage)
    hasUpdates |= costs[stage].update > 0;
  if (hasUpdates)
    addUpdates(schedule);
  Expected<Timeline> timeline = simulate(schedule, costs);
  if (!timeline)
    return timeline.takeError();
  if (Error error = writeFile(arguments, "svg", [&](llvm::raw_ostream &os) {
        printSvg(schedule, *timeline, os);
      }))
    return error;
  if (Error error =
          writeFile(arguments, "perfetto", [&](llvm::raw_ostream &os) {
            printPerfetto(schedule, *timeline, os);
          }))
    return error;
  printJson(schedule, *timeline, llvm::outs(), more);
  for (auto [rank, peak] : llvm::enumerate(timeline->peakMemory))
    if (limit && peak > *limit * (1 + 1e-12))
      return llvm::createStringError(
          "rank %d holds %g at most, above the limit of %g", int(rank), peak,
          *limit);
  return Error::success();
}

static int report(Error error) {
  if (!error)
    return 0;
  llvm::errs() << "pmcheck: error: " << toString(std::move(error)) << "\n";
  return 1;
}

static Error makeAndShow(const Arguments &arguments) {
  Request request;
  int64_t layers = 0;
  if (!arguments.has("name"))
    return wrong("schedule needs --name=NAME; known are " +
                 llvm::join(getScheduleNames(), ", "));
  request.name = arguments.get("name").str();
  for (auto [name, place] :
       {std::pair<StringRef, int64_t *>{"ranks", &request.ranks},
        {"chunks", &request.chunks},
        {"microbatches", &request.microBatches},
        {"layers", &layers}})
    if (Error error = readCount(arguments, name, *place))
      return error;
  if (layers != 0)
    request.layers = layers;
  Expected<Costs> costs = readCosts(arguments);
  if (!costs)
    return costs.takeError();
  request.costs = *costs;
  Expected<std::optional<double>> limit = readMemoryLimit(arguments);
  if (!limit)
    return limit.takeError();
  request.memoryLimit = *limit;
  Expected<Schedule> schedule = generate(request);
  if (!schedule)
    return schedule.takeError();
  std::vector<std::pair<StringRef, llvm::json::Value>> more;
  if (arguments.has("exact")) {
    if (request.name != "zb-auto")
      return wrong(
          "--exact searches for the best zb-auto, but the schedule is '" +
          request.name + "'");
    Expected<ExactResult> exact = searchZeroBubble(getProblem(request));
    if (!exact)
      return exact.takeError();
    Expected<Timeline> found = simulate(*schedule, *costs);
    if (!found)
      return found.takeError();
    more.emplace_back("exact",
                      llvm::json::Object{
                          {"optimal", exact->isOptimal},
                          {"states", exact->visited},
                          {"longest_span", exact->longestSpan},
                          {"heuristic_longest_span", found->getLongestSpan()}});
    *schedule = std::move(exact->schedule);
  }
  return show(arguments, std::move(*schedule), *costs, *limit, more);
}

int runSchedule(ArrayRef<StringRef> list, MLIRContext &) {
  Arguments arguments;
  if (!arguments.parse(list,
                       {"name", "ranks", "chunks", "microbatches", "layers",
                        "costs", "memory", "memory-limit", "exact", "svg",
                        "perfetto", "csv"},
                       0, "schedule --name=NAME [options]"))
    return 2;
  return report(makeAndShow(arguments));
}

static Error readAndShow(const Arguments &arguments) {
  Expected<std::string> text = readText(arguments[0]);
  if (!text)
    return text.takeError();
  std::vector<std::string> remarks;
  Expected<Schedule> schedule = parseActionLists(*text, remarks);
  if (!schedule)
    return wrong(arguments[0] + ": " + toString(schedule.takeError()));
  for (const std::string &remark : remarks)
    llvm::errs() << arguments[0] << ": remark: " << remark << "\n";
  Expected<Costs> costs = readCosts(arguments);
  if (!costs)
    return costs.takeError();
  Expected<std::optional<double>> limit = readMemoryLimit(arguments);
  if (!limit)
    return limit.takeError();
  return show(arguments, std::move(*schedule), *costs, *limit);
}

int runSimulate(ArrayRef<StringRef> list, MLIRContext &) {
  Arguments arguments;
  if (!arguments.parse(
          list, {"costs", "memory", "memory-limit", "svg", "perfetto", "csv"},
          1, "simulate FILE.csv [options]"))
    return 2;
  return report(readAndShow(arguments));
}

} // namespace pipemesh::check
