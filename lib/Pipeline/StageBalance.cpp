//===- StageBalance.cpp - layers and lists that fit the costs -------------===//

#include "StageBalance.h"
#include "Splitter.h"
#include "Stage.h"
#include "StageAssignment.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Schedule/ActionLists.h"
#include "pipemesh/Schedule/Balance.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pipemesh;

static constexpr StringLiteral fitted = "zb-auto";

StageBalance::StageBalance(ModuleOp module, func::FuncOp function,
                           pm::MeshOp mesh)
    : module(module), function(function), mesh(mesh),
      rankOfStage(getRankOfStage(module, mesh)),
      numRanks(getNumPipelineRanks(mesh)),
      microBatches(getAxesSize(mesh, pm::AxisKind::Temporal)) {}

bool StageBalance::isFitted() const {
  auto name = module->getAttrOfType<StringAttr>(pm::kScheduleAttr);
  return name && name == fitted && !module->hasAttr(schedule::kActionsAttr);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// zb-auto for the costs, within the limit that the strategy or the device has.
llvm::Expected<schedule::Schedule>
StageBalance::fit(const StageMeasure &measure) {
  schedule::Request request;
  request.name = fitted.str();
  request.ranks = numRanks;
  request.microBatches = microBatches;
  std::vector<schedule::StageCosts> costs = measure.stages;
  auto limit = module->getAttrOfType<FloatAttr>(schedule::kMemoryLimitAttr);
  double memory = pm::getDevice(module).memory;
  for (auto [stage, cost] : llvm::enumerate(costs)) {
    // In micro-batches, each with the most that it takes between F and W, or in
    // shares of what parameters leave of the device.
    double unit = std::max(cost.activation, cost.kept);
    if (!limit && memory > 0) {
      unit = memory - measure.stateBytes[rankOfStage[stage]];
      if (unit <= 0)
        return llvm::createStringError(
            llvm::formatv("parameters, moments and gradients of stage {0} "
                          "take {1:f3} GB of the device's {2:f3}; take more "
                          "stages, or tp, or zero=1",
                          stage, measure.stateBytes[rankOfStage[stage]] / 1e9,
                          memory / 1e9)
                .str());
    }
    cost.kept = unit > 0 ? cost.kept / unit : 0;
    cost.activation = unit > 0 ? cost.activation / unit : 0;
  }
  request.costs = schedule::Costs(std::move(costs));
  if (limit)
    request.memoryLimit = limit.getValueAsDouble();
  else if (memory > 0)
    request.memoryLimit = 1;
  return schedule::generate(request);
}

/// The lists that will run; without costs, zb-h1 stands in for what is fitted.
llvm::Expected<schedule::Schedule>
StageBalance::getSchedule(const StageMeasure *measure) {
  if (auto rows = module->getAttrOfType<ArrayAttr>(schedule::kActionsAttr)) {
    std::vector<std::string> remarks;
    return schedule::parseActionLists(
        llvm::join(rows.getAsValueRange<StringAttr>(), "\n"), remarks);
  }
  if (isFitted() && measure)
    return fit(*measure);
  schedule::Request request;
  if (auto name = module->getAttrOfType<StringAttr>(pm::kScheduleAttr))
    request.name = name == fitted ? "zb-h1" : name.str();
  request.ranks = numRanks;
  request.chunks = rankOfStage.size() / numRanks;
  request.microBatches = microBatches;
  return schedule::generate(request);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The lists with the updates behind them, which those of a file may have.
static schedule::Schedule withUpdates(schedule::Schedule lists) {
  for (schedule::ActionList &list : lists.lists)
    llvm::erase_if(list, [](const schedule::Item &item) {
      return item.action.kind == schedule::ActionKind::Update;
    });
  schedule::addUpdates(lists);
  return lists;
}

/// As many pipeline ranks as given.
static void setStages(pm::MeshOp mesh, int64_t count) {
  SmallVector<Attribute> axes;
  bool hasStages = false;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    bool isStage = axis.getKind() == pm::AxisKind::Stage;
    hasStages |= isStage;
    axes.push_back(isStage ? pm::MeshAxisAttr::get(mesh.getContext(),
                                                   axis.getName(),
                                                   axis.getKind(), count)
                           : axis);
    if (isStage)
      count = 1;
  }
  // Chunks of one rank.
  if (!hasStages)
    axes.push_back(pm::MeshAxisAttr::get(
        mesh.getContext(), StringAttr::get(mesh.getContext(), "stages"),
        pm::AxisKind::Stage, count));
  mesh.setAxesAttr(ArrayAttr::get(mesh.getContext(), axes));
}

std::optional<StageMeasure>
StageBalance::measure(ArrayRef<int64_t> layers,
                      ArrayRef<int64_t> placeOfStage) {
  // What cannot be cut is reported when the step itself is.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = module.clone();
  auto step = copy->lookupSymbol<func::FuncOp>(function.getSymName());
  pm::MeshOp copiedMesh = pm::lookupMesh(*copy);
  for (auto other : llvm::to_vector(copy->getOps<func::FuncOp>()))
    if (other != step)
      other.erase();
  int64_t ranks = *llvm::max_element(placeOfStage) + 1;
  if (ranks != numRanks)
    setStages(copiedMesh, ranks);
  copy.get()->setAttr(
      schedule::kRankOfStageAttr,
      DenseI64ArrayAttr::get(module.getContext(), placeOfStage));
  int64_t stages = placeOfStage.size();
  StageAssignment assignment(step, stages, layers);
  if (stages > 1 && failed(assignment.run()))
    return std::nullopt;
  for (Operation &op : step.getBody().front().without_terminator()) {
    std::optional<int64_t> stage = assignment.lookup(&op);
    if (stages == 1)
      stage = 0;
    if (stage)
      op.setAttr(
          kStageAttr,
          IntegerAttr::get(IntegerType::get(op.getContext(), 64), *stage));
  }
  Splitter splitter(step, copiedMesh, SmallVector<int64_t>(placeOfStage),
                    {splitsBackward(module), recomputes(module)});
  if (failed(splitter.run()))
    return std::nullopt;
  buildFragments(splitter, copiedMesh);
  FailureOr<StageMeasure> measured = measureStages(*copy, mesh);
  if (failed(measured))
    return std::nullopt;
  return std::move(*measured);
}

std::optional<StageBalance::Measured>
StageBalance::measureDivision(ArrayRef<int64_t> layers) {
  std::optional<StageMeasure> measured = measure(layers, rankOfStage);
  if (!measured)
    return std::nullopt;
  Measured result;
  result.layers.assign(layers.begin(), layers.end());
  result.measure = std::move(*measured);
  llvm::Expected<schedule::Schedule> lists = getSchedule(&result.measure);
  if (!lists) {
    llvm::consumeError(lists.takeError());
    return std::nullopt;
  }
  result.schedule = std::move(*lists);
  llvm::Expected<schedule::Timeline> timeline = schedule::simulate(
      withUpdates(result.schedule), schedule::Costs(result.measure.stages));
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return std::nullopt;
  }
  result.makespan = timeline->makespan;
  for (auto [rank, bytes] : llvm::enumerate(timeline->peakMemory))
    result.memory =
        std::max(result.memory, bytes + result.measure.stateBytes[rank]);
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static std::string joinLayers(ArrayRef<int64_t> layers) {
  return llvm::join(llvm::map_range(layers,
                                    [](int64_t count) {
                                      return std::to_string(count);
                                    }),
                    ":");
}

LogicalResult StageBalance::refuseMemory(const Measured &least, double limit) {
  auto name = module->getAttrOfType<StringAttr>(pm::kScheduleAttr);
  InFlightDiagnostic diagnostic = function.emitError("no division of the ");
  diagnostic << countLayers(function) << " layers over " << rankOfStage.size()
             << " stages fits into the device's "
             << llvm::formatv("{0:f6}", limit / 1e9).str()
             << " GB: the least that a rank needs is "
             << llvm::formatv("{0:f6}", least.memory / 1e9).str()
             << " GB, with stages=" << joinLayers(least.layers)
             << "; take more stages, tp or zero=1, which share parameters, or ";
  if (name && (name == "gpipe" || name == "looped-bfs"))
    diagnostic << "schedule=1f1b, which keeps fewer micro-batches at once, or ";
  diagnostic << "smaller micro-batches";
  if (!recomputes(module))
    diagnostic << ", or recompute=full";
  return diagnostic;
}

/// What the division that is taken gains over equal layers.
static DictionaryAttr makeBalance(MLIRContext *context,
                                  ArrayRef<int64_t> layers, double makespan,
                                  ArrayRef<int64_t> equal,
                                  double makespanOfEqual) {
  Builder builder(context);
  auto entry = [&](StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  return builder.getDictionaryAttr(
      {entry("layers", builder.getDenseI64ArrayAttr(layers)),
       entry("makespan", builder.getF64FloatAttr(makespan)),
       entry("equal_layers", builder.getDenseI64ArrayAttr(equal)),
       entry("equal_makespan", builder.getF64FloatAttr(makespanOfEqual))});
}

/// Each layer as a stage of its own.
std::optional<schedule::BalanceProblem>
StageBalance::getProblem(int64_t layers) {
  llvm::Expected<schedule::Schedule> lists = getSchedule(nullptr);
  if (!lists) {
    llvm::consumeError(lists.takeError());
    return std::nullopt;
  }
  std::optional<StageMeasure> measured =
      measure(SmallVector<int64_t>(layers, 1),
              llvm::to_vector(llvm::seq<int64_t>(0, layers)));
  if (!measured)
    return std::nullopt;
  schedule::BalanceProblem problem;
  problem.schedule = withUpdates(std::move(*lists));
  problem.layers = std::move(measured->stages);
  problem.state = std::move(measured->stateBytes);
  if (double memory = pm::getDevice(module).memory; memory > 0)
    problem.memoryLimit = memory;
  return problem;
}

FailureOr<SmallVector<int64_t>> StageBalance::findLayers() {
  SmallVector<int64_t> none;
  int64_t count = countLayers(function), stages = rankOfStage.size();
  double limit = pm::getDevice(module).memory;
  // Too few are refused where they are cut; one for each stage is no choice.
  if (count < stages)
    return none;
  if (count == stages) {
    if (limit > 0)
      chosen = measureDivision(SmallVector<int64_t>(stages, 1));
    if (chosen && chosen->memory > limit)
      return refuseMemory(*chosen, limit);
    return none;
  }
  std::optional<schedule::BalanceProblem> problem = getProblem(count);
  if (!problem)
    return none;
  std::vector<int64_t> equal = schedule::divideEqually(count, stages);
  llvm::Expected<schedule::Division> found = schedule::balance(*problem);
  llvm::Expected<schedule::Division> even = schedule::evaluate(*problem, equal);
  if (!found || !even) {
    llvm::consumeError(found.takeError());
    llvm::consumeError(even.takeError());
    return none;
  }
  // The sum of layers is not quite their stage: what decides is the stages.
  chosen = measureDivision(found->layers);
  std::optional<Measured> ofEqual =
      found->layers == equal ? chosen : measureDivision(equal);
  if (!chosen || !ofEqual)
    return none;
  double makespanOfEqual = ofEqual->makespan;
  auto excess = [&](const Measured &measured) {
    return limit > 0 ? std::max(0.0, measured.memory - limit) : 0.0;
  };
  if (excess(*ofEqual) < excess(*chosen) ||
      (excess(*ofEqual) == excess(*chosen) &&
       makespanOfEqual <= chosen->makespan))
    chosen = std::move(ofEqual);
  if (excess(*chosen) > 0)
    return refuseMemory(*chosen, limit);
  module->setAttr(schedule::kBalanceAttr,
                  makeBalance(module.getContext(), chosen->layers,
                              chosen->makespan, equal, makespanOfEqual));
  return chosen->layers;
}

LogicalResult StageBalance::fitLists(ArrayRef<int64_t> layers) {
  if (!isFitted())
    return success();
  std::optional<StageMeasure> measured;
  if (chosen && ArrayRef<int64_t>(chosen->layers) == layers)
    measured = chosen->measure;
  else
    measured = measure(layers, rankOfStage);
  // The step cannot be cut, as pm-split-stages will say.
  if (!measured)
    return success();
  llvm::Expected<schedule::Schedule> lists = fit(*measured);
  if (!lists)
    return function.emitError("zb-auto: ") << toString(lists.takeError());
  SmallVector<Attribute> rows;
  SmallVector<StringRef> lines;
  std::string printed = schedule::printActionLists(*lists);
  StringRef(printed).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    rows.push_back(StringAttr::get(module.getContext(), line));
  module->setAttr(schedule::kActionsAttr,
                  ArrayAttr::get(module.getContext(), rows));
  return success();
}
