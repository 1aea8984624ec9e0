//===- StagePlaces.cpp - stages and lists that a strategy asks for --------===//

#include "StagePlaces.h"
#include "mlir/IR/Builders.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Schedule/ActionLists.h"
#include "pipemesh/Schedule/Generate.h"
#include "pipemesh/Schedule/ModuleAttrs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace pipemesh;

namespace {
class StagePlaces {
public:
  StagePlaces(ModuleOp module, StringRef text, const Strategy &strategy)
      : module(module), text(text), strategy(strategy),
        builder(module.getContext()) {}

  LogicalResult run();

private:
  InFlightDiagnostic fail() {
    return module.emitError("strategy '") << text << "': ";
  }
  FailureOr<schedule::Schedule> generate();
  FailureOr<schedule::Schedule> read(StringRef path);
  LogicalResult fits(const schedule::Schedule &lists, StringRef path);

  ModuleOp module;
  StringRef text;
  const Strategy &strategy;
  Builder builder;
};
} // namespace

FailureOr<schedule::Schedule> StagePlaces::generate() {
  schedule::Request request;
  request.name = strategy.schedule.empty() ? "1f1b" : strategy.schedule;
  request.ranks = strategy.sizeOf("pp");
  request.chunks = strategy.chunks;
  request.microBatches = strategy.sizeOf("mb");
  request.memoryLimit = strategy.memoryLimit;
  // That one is found when the costs of its stages are known.
  if (request.name == "zb-auto")
    request.microBatches = 1;
  llvm::Expected<schedule::Schedule> made = schedule::generate(request);
  if (!made)
    return LogicalResult(fail() << toString(made.takeError()));
  return std::move(*made);
}

FailureOr<schedule::Schedule> StagePlaces::read(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return LogicalResult(fail() << "cannot read the schedule '" << path
                                << "': " << buffer.getError().message());
  std::vector<std::string> remarks;
  llvm::Expected<schedule::Schedule> lists =
      schedule::parseActionLists((*buffer)->getBuffer(), remarks);
  if (!lists)
    return LogicalResult(fail() << "schedule '" << path
                                << "': " << toString(lists.takeError()));
  for (const std::string &remark : remarks)
    module.emitRemark("schedule '") << path << "': " << remark;
  if (failed(fits(*lists, path)))
    return failure();
  SmallVector<Attribute> rows;
  SmallVector<StringRef> lines;
  std::string printed = schedule::printActionLists(*lists);
  StringRef(printed).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    rows.push_back(builder.getStringAttr(line));
  module->setAttr(schedule::kActionsAttr, builder.getArrayAttr(rows));
  return std::move(*lists);
}

/// The lists are for the ranks, the micro-batches and the chunks of the
/// strategy, and begin with a stage on each rank.
LogicalResult StagePlaces::fits(const schedule::Schedule &lists,
                                StringRef path) {
  int64_t ranks = strategy.sizeOf("pp"), microBatches = strategy.sizeOf("mb");
  if (lists.getNumRanks() != ranks)
    return fail() << "schedule '" << path << "' has the rows of "
                  << lists.getNumRanks() << " ranks, but pp=" << ranks
                  << "; it works with pp=" << lists.getNumRanks();
  if (lists.microBatches != microBatches)
    return fail() << "schedule '" << path << "' runs " << lists.microBatches
                  << " micro-batches, but mb=" << microBatches
                  << "; it works with mb=" << lists.microBatches;
  if (strategy.chunks != 0 && strategy.chunks * ranks != lists.getNumStages())
    return fail() << "schedule '" << path << "' has " << lists.getNumStages()
                  << " stages, but pp=" << ranks
                  << " and chunks=" << strategy.chunks << " make "
                  << ranks * strategy.chunks << "; leave chunks out";
  for (int64_t stage = 0; stage < ranks; ++stage)
    if (lists.rankOfStage[stage] != stage)
      return fail() << "schedule '" << path << "' has stage " << stage
                    << " in row " << lists.rankOfStage[stage] + 1
                    << ", but the first " << ranks
                    << " stages lie one on each rank, in the order of the "
                       "rows; order the rows, or number the stages, so that "
                       "row "
                    << stage + 1 << " has it";
  return success();
}

LogicalResult StagePlaces::run() {
  StringRef name = strategy.schedule;
  FailureOr<schedule::Schedule> made =
      name.consume_front("@") ? read(name) : generate();
  if (failed(made))
    return failure();
  if (!strategy.schedule.empty())
    module->setAttr(pm::kScheduleAttr,
                    builder.getStringAttr(strategy.schedule));
  if (strategy.memoryLimit)
    module->setAttr(schedule::kMemoryLimitAttr,
                    builder.getF64FloatAttr(*strategy.memoryLimit));
  if (strategy.recomputes)
    module->setAttr(schedule::kRecomputeAttr, builder.getStringAttr("full"));
  int64_t stages = made->getNumStages();
  if (!strategy.stageLayers.empty()) {
    int64_t given = strategy.stageLayers.size();
    if (given != stages)
      return fail() << "'stages' has the layers of " << given
                    << (given == 1 ? " stage" : " stages")
                    << ", but pp=" << made->getNumRanks() << " and "
                    << (stages == made->getNumRanks()
                            ? std::string("one stage for each")
                            : "chunks=" +
                                  std::to_string(stages / made->getNumRanks()))
                    << " make " << stages;
    module->setAttr(schedule::kStageLayersAttr,
                    builder.getDenseI64ArrayAttr(strategy.stageLayers));
  }
  if (stages != made->getNumRanks()) {
    SmallVector<int64_t> ranks(made->rankOfStage.begin(),
                               made->rankOfStage.end());
    module->setAttr(schedule::kRankOfStageAttr,
                    builder.getDenseI64ArrayAttr(ranks));
  }
  return success();
}

LogicalResult pipemesh::placeStages(ModuleOp module, StringRef text,
                                    const Strategy &strategy) {
  return StagePlaces(module, text, strategy).run();
}
