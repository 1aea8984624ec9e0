//===- Simulation.cpp - pmc --simulate ------------------------------------===//

#include "Simulation.h"
#include "pipemesh/Pipeline/ActionLists.h"
#include "pipemesh/Schedule/Print.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace pipemesh;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

template <typename... Args>
static Error wrong(const char *format, Args &&...args) {
  return llvm::createStringError(
      formatv(format, std::forward<Args>(args)...).str());
}

static Expected<schedule::Costs> readCosts(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return wrong("cannot read costs '{0}': {1}", path,
                 buffer.getError().message());
  Expected<schedule::Costs> costs =
      schedule::Costs::parseTable((*buffer)->getBuffer());
  if (!costs)
    return wrong("costs '{0}': {1}", path, llvm::toString(costs.takeError()));
  return costs;
}

/// In milliseconds.
static schedule::Costs
toMilliseconds(std::vector<schedule::StageCosts> stages) {
  for (schedule::StageCosts &stage : stages) {
    for (double *time : {&stage.forward, &stage.input, &stage.weight,
                         &stage.update, &stage.transfer})
      *time *= 1e3;
    if (stage.backward)
      *stage.backward *= 1e3;
  }
  return schedule::Costs(std::move(stages));
}

static void printCsv(const schedule::Schedule &lists,
                     const schedule::Timeline &timeline,
                     llvm::raw_ostream &os) {
  os << "rank,action,start,end\n";
  for (auto [rank, list] : llvm::enumerate(lists.lists))
    for (auto [item, time] : llvm::zip(list, timeline.items[rank]))
      os << formatv("{0},{1},{2:f6},{3:f6}\n", rank, item.str(), time.start,
                    time.end);
}

static Error writeTimeline(const schedule::Schedule &lists,
                           const schedule::Timeline &timeline, StringRef path) {
  auto *print = path.ends_with(".svg")    ? &schedule::printSvg
                : path.ends_with(".json") ? &schedule::printPerfetto
                : path.ends_with(".csv")  ? &printCsv
                                          : nullptr;
  if (!print)
    return wrong("--simulate is '{0}', but the file must end in .svg (a "
                 "picture), .json (a trace for Perfetto) or .csv (a row for "
                 "each action)",
                 path);
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (code)
    return wrong("cannot write '{0}': {1}", path, code.message());
  print(lists, timeline, file.os());
  file.keep();
  return Error::success();
}

static std::string number(double value) {
  return formatv("{0:f4}", value).str();
}

/// Right-aligned columns under their headings.
static void printTable(ArrayRef<SmallVector<std::string>> rows,
                       llvm::raw_ostream &os) {
  SmallVector<size_t> widths(rows.front().size());
  for (auto &row : rows)
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
  for (auto &row : rows) {
    for (auto [width, cell] : llvm::zip(widths, row))
      os << "  " << std::string(width - cell.size(), ' ') << cell;
    os << "\n";
  }
}

Error pipemesh::simulateProgram(ModuleOp scheduled,
                                const StageMeasure &measured,
                                StringRef costsPath, StringRef path,
                                llvm::raw_ostream &os) {
  FailureOr<schedule::Schedule> lists = getActionLists(scheduled);
  if (failed(lists))
    return wrong("--simulate needs the program of a step");
  bool isMeasured = costsPath.empty();
  schedule::Costs costs = toMilliseconds(measured.stages);
  if (!isMeasured) {
    Expected<schedule::Costs> given = readCosts(costsPath);
    if (!given)
      return given.takeError();
    costs = std::move(*given);
  }
  Expected<schedule::Timeline> timeline = schedule::simulate(*lists, costs);
  if (!timeline)
    return timeline.takeError();
  if (!path.empty())
    if (Error error = writeTimeline(*lists, *timeline, path))
      return error;

  StringRef unit = isMeasured ? " ms" : "";
  os << formatv("simulated step of {0}: {1} ranks, {2} stages, {3} "
                "micro-batches\n",
                lists->name, lists->getNumRanks(), lists->getNumStages(),
                lists->microBatches)
     << formatv("  makespan {0:f4}{1}, longest span {2:f4}{1}, bubble {3:f2} "
                "%\n",
                timeline->makespan, unit, timeline->getLongestSpan(),
                timeline->bubble * 100);
  os << "ranks\n";
  SmallVector<SmallVector<std::string>> rows;
  rows.push_back({"rank", "span", "busy", "idle %", "chunks until W", "until I",
                  isMeasured ? "activations MB" : "memory"});
  if (isMeasured)
    rows.back().push_back("with state MB");
  for (int64_t rank = 0; rank < lists->getNumRanks(); ++rank) {
    double span = timeline->span[rank], busy = timeline->busy[rank];
    double memory = timeline->peakMemory[rank];
    rows.push_back({std::to_string(rank), number(span), number(busy),
                    formatv("{0:f2}", span > 0 ? (1 - busy / span) * 100 : 0),
                    std::to_string(timeline->peakUntilWeightGradient[rank]),
                    std::to_string(timeline->peakUntilInputGradient[rank]),
                    number(isMeasured ? memory / 1e6 : memory)});
    if (isMeasured)
      rows.back().push_back(number((memory + measured.stateBytes[rank]) / 1e6));
  }
  printTable(rows, os);
  os << (isMeasured ? "stages, by the cost interface\n"
                    : "stages, by the given costs\n");
  rows.clear();
  rows.push_back({"stage", "rank", "F", "I", "W", "B", "U", "transfer"});
  for (int64_t stage = 0; stage < lists->getNumStages(); ++stage) {
    const schedule::StageCosts &cost = costs[stage];
    rows.push_back({std::to_string(stage),
                    std::to_string(lists->rankOfStage[stage]),
                    number(cost.forward), number(cost.input),
                    number(cost.weight), number(cost.getBackward()),
                    number(cost.update), number(cost.transfer)});
  }
  printTable(rows, os);
  return Error::success();
}
