//===- Placement.cpp - the fragment of every op ---------------------------===//

#include "Placement.h"
#include "Stage.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// When an op can run, from what it depends on.
enum class Time {
  /// Before any micro-batch.
  Early,
  /// Once for each micro-batch.
  Body,
  /// After all micro-batches.
  Late
};

/// What is known of an op on the way.
struct Facts {
  Time time = Time::Early;
  bool dependsOnState = false;
  bool dependsOnInput = false;
  /// Its slice holds an op that depends on state and on a micro-batch.
  bool hasActivation = false;
  bool cloned = false;
  int64_t stage = 0;
  /// A forward or backward op needs its result.
  bool neededByBody = false;
};
} // namespace

bool Placement::isTemporal(StringAttr axis) const {
  pm::MeshAxisAttr found =
      const_cast<pm::MeshOp &>(mesh).lookupAxis(axis.getValue());
  return found && found.getKind() == pm::AxisKind::Temporal;
}

bool Placement::isCut(Value value) const {
  pm::ShardingAttr sharding = pm::getSharding(value);
  return llvm::any_of(sharding.getDims(), [&](pm::DimShardingAttr dim) {
    return llvm::any_of(dim.getAxes(),
                        [&](StringAttr axis) { return isTemporal(axis); });
  });
}

bool Placement::isPartial(Value value) const {
  return llvm::any_of(pm::getSharding(value).getPartialAxes(),
                      [&](StringAttr axis) { return isTemporal(axis); });
}

static bool isView(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op);
}

/// Ops that move or compare elements: computing them again is no more than
/// reading what they would have stored.
static bool isCheap(Operation *op, bool dependsOnState) {
  if (isView(op) || isa<stablehlo::SliceOp, stablehlo::ConstantOp>(op))
    return true;
  if (dependsOnState)
    return false;
  if (isa<stablehlo::IotaOp, stablehlo::ConcatenateOp, stablehlo::TransposeOp,
          stablehlo::PadOp, stablehlo::CompareOp, stablehlo::SelectOp,
          stablehlo::ConvertOp, stablehlo::AndOp, stablehlo::OrOp,
          stablehlo::NotOp, stablehlo::ReverseOp>(op))
    return true;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return op->hasTrait<stablehlo::Elementwise>() && type &&
         isa<IntegerType>(type.getElementType());
}

LogicalResult Placement::run(func::FuncOp function, pm::MeshOp meshOp) {
  mesh = meshOp;
  placements.clear();
  llvm::DenseMap<Operation *, Facts> facts;
  Block &body = function.getBody().front();

  // Forward: when each op can run.
  for (Operation &op : body.without_terminator()) {
    Facts &known = facts[&op];
    bool cutHere = false, partialHere = false, allCloned = true;
    // Parts of a sum over micro-batches come from several stages.
    bool joinsStages = false;
    Operation *late = nullptr;
    if (auto stage = op.getAttrOfType<IntegerAttr>(kStageAttr))
      known.stage = stage.getInt();
    auto look = [&](Value value) {
      cutHere |= isCut(value);
      partialHere |= isPartial(value);
    };
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        auto arg = dyn_cast<BlockArgument>(operand);
        if (arg && arg.getOwner() == &body) {
          bool isState = static_cast<bool>(
              function.getArgAttr(arg.getArgNumber(), pm::kStateAttr));
          known.dependsOnState |= isState;
          known.dependsOnInput |= !isState;
          look(arg);
          continue;
        }
        auto source = facts.find(operand.getDefiningOp());
        if (source == facts.end() || arg)
          continue;
        look(operand);
        const Facts &from = source->second;
        known.dependsOnState |= from.dependsOnState;
        known.dependsOnInput |= from.dependsOnInput;
        known.hasActivation |= from.hasActivation;
        allCloned &= from.cloned;
        if (from.time == Time::Late)
          late = operand.getDefiningOp();
        joinsStages |= from.time == Time::Body && from.dependsOnState &&
                       from.stage != known.stage && isPartial(operand);
      }
    });
    for (Value result : op.getResults())
      look(result);

    auto phase = op.getAttrOfType<StringAttr>(pm::kPhaseAttr);
    bool update = phase && phase.getValue() == "update";
    bool sums = isa<pm::ReshardOp>(op) && (cutHere || partialHere) &&
                !isCut(op.getResult(0)) && !isPartial(op.getResult(0));
    if (!sums)
      known.hasActivation |= known.dependsOnState && (cutHere || partialHere);

    if (update) {
      known.time = Time::Late;
    } else if (late) {
      if (cutHere) {
        InFlightDiagnostic diagnostic =
            op.emitError("needs, within a micro-batch, a sum over all "
                         "micro-batches of activations, which is complete only "
                         "after the last one; compute it in the update, or use "
                         "one micro-batch");
        diagnostic.attachNote(late->getLoc()) << "the sum is needed here";
        return diagnostic;
      }
      known.time = Time::Late;
    } else if (sums) {
      known.time = known.hasActivation ? Time::Late : Time::Early;
    } else if (joinsStages && !cutHere) {
      // The parts are complete after all micro-batches, and are added then.
      known.time = Time::Late;
    } else if (cutHere || partialHere) {
      known.time = Time::Body;
    }
    known.cloned = known.time != Time::Late && allCloned && !sums &&
                   op.getNumResults() > 0 && isCheap(&op, known.dependsOnState);
  }

  // Backward: which early ops a micro-batch waits for.
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    Facts &known = facts[&op];
    for (Operation *user : op.getUsers()) {
      auto found = facts.find(body.findAncestorOpInBlock(*user));
      if (found == facts.end())
        continue;
      known.neededByBody |=
          found->second.time == Time::Body ||
          (found->second.time == Time::Early && found->second.neededByBody);
    }
  }

  unsigned order = 0;
  for (Operation &op : body.without_terminator()) {
    const Facts &known = facts[&op];
    OpPlacement &placement = placements[&op];
    placement.order = order++;
    placement.cloned = known.cloned;
    placement.isView = isView(&op);
    placement.isStateless = !known.dependsOnState;
    placement.stage = known.stage;
    auto phase = op.getAttrOfType<StringAttr>(pm::kPhaseAttr);
    switch (known.time) {
    case Time::Early:
      placement.home = known.neededByBody ? pm::FragmentKind::Prologue
                                          : pm::FragmentKind::Update;
      break;
    case Time::Body:
      placement.home = phase && phase.getValue() == "backward"
                           ? pm::FragmentKind::Backward
                           : pm::FragmentKind::Forward;
      break;
    case Time::Late:
      placement.home = pm::FragmentKind::Update;
      break;
    }
  }
  return success();
}
