//===- Strategy.cpp - the strategy string ---------------------------------===//

#include "Strategy.h"
#include "pipemesh/Schedule/Generate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;
using llvm::StringLiteral;
using llvm::Twine;

/// Words that the strategy language has, but this version does not compile.
static constexpr StringLiteral laterWords[] = {"ep", "cp"};

static constexpr StringLiteral axisWords[] = {"dp", "tp", "pp", "mb"};
static constexpr StringLiteral otherWords[] = {
    "zero", "sp", "schedule", "chunks", "stages", "memory", "recompute"};
static constexpr StringLiteral knownWords =
    "dp (data parallel ranks), tp (tensor parallel ranks), pp (pipeline "
    "ranks), mb (micro-batches), zero (0, 1 or 3), sp (0 or 1), schedule "
    "(1f1b, gpipe, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-auto, zb-v, "
    "dualpipe-v or @FILE.csv), chunks (stages of each pipeline rank), stages "
    "(layers of each stage, such as 3:5), memory (micro-batches that zb-auto "
    "may hold) and recompute (none or full)";

static constexpr int64_t largestSize = int64_t(1) << 20;

bool Strategy::has(StringRef name) const {
  return llvm::any_of(
      axes, [&](const StrategyAxis &axis) { return axis.name == name; });
}

int64_t Strategy::sizeOf(StringRef name) const {
  for (const StrategyAxis &axis : axes)
    if (axis.name == name)
      return axis.size;
  return 1;
}

namespace {
class StrategyParser {
public:
  StrategyParser(StringRef text, std::string &error)
      : text(text), error(error) {}

  FailureOr<Strategy> parse();

private:
  LogicalResult fail(const Twine &message) {
    error = ("strategy '" + text + "': " + message).str();
    return failure();
  }
  LogicalResult checkWord(StringRef name);
  LogicalResult parseSchedule(StringRef value);
  LogicalResult parseAxis(StringRef name, StringRef value);
  LogicalResult parseChunks(StringRef value);
  LogicalResult parseZero(StringRef value);
  LogicalResult parseSequence(StringRef value);
  LogicalResult parseStages(StringRef value);
  LogicalResult parseMemory(StringRef value);
  LogicalResult parseRecompute(StringRef value);
  LogicalResult checkRanks();

  StringRef text;
  std::string &error;
  Strategy strategy;
  bool hasZero = false, hasSequence = false, hasRecompute = false;
};
} // namespace

LogicalResult StrategyParser::checkWord(StringRef name) {
  if (llvm::is_contained(axisWords, name) ||
      llvm::is_contained(otherWords, name))
    return success();
  if (llvm::is_contained(laterWords, name))
    return fail("'" + name +
                "' is a strategy of a later version; this one has " +
                knownWords);
  return fail("unknown word '" + name + "'; known are " + knownWords);
}

LogicalResult StrategyParser::parseSchedule(StringRef value) {
  if (!strategy.schedule.empty())
    return fail("'schedule' is given twice, as '" + strategy.schedule +
                "' and as '" + value + "'");
  if (value == "@")
    return fail(
        "'schedule=@' lacks the path of a file of action lists, such as "
        "schedule=@lists.csv");
  if (!value.starts_with("@") && !schedule::isScheduleName(value))
    return fail("unknown schedule '" + value + "'; known are " +
                llvm::join(schedule::getScheduleNames(), ", ") +
                ", and @FILE.csv for lists of your own");
  strategy.schedule = value.str();
  return success();
}

LogicalResult StrategyParser::parseChunks(StringRef value) {
  if (strategy.chunks != 0)
    return fail("'chunks' is given twice, as " + Twine(strategy.chunks) +
                " and as '" + value + "'");
  if (value.getAsInteger(10, strategy.chunks) || strategy.chunks < 1 ||
      strategy.chunks > largestSize)
    return fail("'chunks' must be a whole number from 1 on, but is '" + value +
                "'");
  return success();
}

LogicalResult StrategyParser::parseStages(StringRef value) {
  if (!strategy.stageLayers.empty())
    return fail("'stages' is given twice");
  SmallVector<StringRef> parts;
  value.split(parts, ':');
  for (StringRef part : parts) {
    int64_t layers = 0;
    if (part.trim().getAsInteger(10, layers) || layers < 1 ||
        layers > largestSize)
      return fail("'stages' must be the layers of each stage, whole numbers "
                  "from 1 on such as 3:5, but has '" +
                  part.trim() + "'");
    strategy.stageLayers.push_back(layers);
  }
  return success();
}

LogicalResult StrategyParser::parseMemory(StringRef value) {
  if (strategy.memoryLimit)
    return fail("'memory' is given twice");
  double limit = 0;
  if (value.getAsDouble(limit) || !(limit > 0) || !(limit <= largestSize))
    return fail("'memory' must be a number of micro-batches above 0, but is '" +
                value + "'");
  strategy.memoryLimit = limit;
  return success();
}

LogicalResult StrategyParser::parseRecompute(StringRef value) {
  if (hasRecompute)
    return fail("'recompute' is given twice");
  hasRecompute = true;
  if (value != "none" && value != "full")
    return fail("'recompute' must be none or full (a backward computes its "
                "stage's forward again), but is '" +
                value + "'");
  strategy.recomputes = value == "full";
  return success();
}

LogicalResult StrategyParser::parseAxis(StringRef name, StringRef value) {
  for (const StrategyAxis &axis : strategy.axes)
    if (axis.name == name)
      return fail("'" + name + "' is given twice, as " + Twine(axis.size) +
                  " and as '" + value + "'");
  int64_t size = 0;
  if (value.getAsInteger(10, size) || value.starts_with("+"))
    return fail("the size of '" + name + "' must be a whole number, but is '" +
                value + "'");
  if (size < 1)
    return fail("'" + name + "' must be at least 1, but is " + Twine(size));
  if (size > largestSize)
    return fail("'" + name + "' is " + Twine(size) + ", but at most " +
                Twine(largestSize) + " are possible");
  strategy.axes.push_back({name.str(), size});
  return success();
}

LogicalResult StrategyParser::parseZero(StringRef value) {
  if (hasZero)
    return fail("'zero' is given twice");
  hasZero = true;
  if (value == "2")
    return fail("'zero=2' is a strategy of a later version; this one has 0, 1 "
                "(moments in pieces over dp) and 3 (parameters too)");
  if (value != "0" && value != "1" && value != "3")
    return fail("'zero' must be 0, 1 (moments in pieces over dp) or 3 "
                "(parameters too), but is '" +
                value + "'");
  strategy.zero = value[0] - '0';
  return success();
}

LogicalResult StrategyParser::parseSequence(StringRef value) {
  if (hasSequence)
    return fail("'sp' is given twice");
  hasSequence = true;
  if (value != "0" && value != "1")
    return fail("'sp' must be 0 or 1 (the sequence in pieces over tp between "
                "the blocks that tp divides), but is '" +
                value + "'");
  strategy.sequenceParallel = value == "1";
  return success();
}

LogicalResult StrategyParser::checkRanks() {
  int64_t ranks = 1;
  for (const StrategyAxis &axis : strategy.axes)
    if (axis.name != "mb" &&
        (llvm::MulOverflow(ranks, axis.size, ranks) || ranks > largestSize))
      return fail("dp, tp and pp ask for more than " + Twine(largestSize) +
                  " ranks together");
  return success();
}

FailureOr<Strategy> StrategyParser::parse() {
  if (text.trim().empty())
    return strategy;
  SmallVector<StringRef> items;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [name, value] = item.split('=');
    name = name.trim();
    value = value.trim();
    if (name.empty() || value.empty())
      return fail("expected word=size, such as dp=2, but found '" +
                  item.trim() + "'");
    if (failed(checkWord(name)) ||
        failed(name == "schedule"    ? parseSchedule(value)
               : name == "chunks"    ? parseChunks(value)
               : name == "stages"    ? parseStages(value)
               : name == "memory"    ? parseMemory(value)
               : name == "recompute" ? parseRecompute(value)
               : name == "zero"      ? parseZero(value)
               : name == "sp"        ? parseSequence(value)
                                     : parseAxis(name, value)))
      return failure();
  }
  if (failed(checkRanks()))
    return failure();
  if (strategy.memoryLimit && strategy.schedule != "zb-auto")
    return fail(
        "'memory' is the limit that zb-auto keeps, but the schedule is " +
        (strategy.schedule.empty() ? StringRef("1f1b")
                                   : StringRef(strategy.schedule)) +
        "; give schedule=zb-auto, or leave it out");
  return strategy;
}

FailureOr<Strategy> pipemesh::parseStrategy(StringRef text,
                                            std::string &error) {
  return StrategyParser(text, error).parse();
}
