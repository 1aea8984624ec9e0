//===- SplitStages.cpp - fragments that exchange buffers ------------------===//

#include "Placement.h"
#include "Stage.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Pipeline/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace pipemesh {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
/// One fragment in the making.
struct Fragment {
  FragmentKind kind;
  llvm::DenseSet<Operation *> ops;
  /// Arguments of the function, and values of other fragments.
  llvm::SetVector<Value> reads;
  /// Values for other fragments.
  llvm::SetVector<Value> writes;
  /// Results of the function: their indices.
  SmallVector<unsigned> results;
};

class Splitter {
public:
  Splitter(func::FuncOp function, pm::MeshOp mesh)
      : function(function), mesh(mesh),
        module(function->getParentOfType<ModuleOp>()),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  Fragment &fragment(FragmentKind kind) {
    return *llvm::find_if(fragments,
                          [&](const Fragment &f) { return f.kind == kind; });
  }
  LogicalResult demand(Fragment &fragment, Value value);
  bool isComputedIn(FragmentKind kind, Value value);
  void recompute();
  bool canRecompute(Value value, llvm::SetVector<Operation *> &chain);
  void makeBuffers();
  std::string nameOf(Value value, StringRef prefix);
  FlatSymbolRefAttr makeBuffer(Location loc, StringRef name,
                               pm::BufferKind kind, Value value, StringRef role,
                               StringRef parameter);
  /// The accumulator that a gradient output was summed in, or null.
  Value getAccumulator(unsigned resultIndex);
  void build(Fragment &fragment);

  func::FuncOp function;
  pm::MeshOp mesh;
  ModuleOp module;
  OpBuilder builder;
  Placement placement;
  /// In the order of time.
  SmallVector<Fragment, 4> fragments;
  pm::ProgramOp program;
  llvm::StringSet<> names;
  llvm::DenseMap<Value, FlatSymbolRefAttr> buffers;
  llvm::DenseMap<unsigned, FlatSymbolRefAttr> resultBuffers;
};
} // namespace

static StringRef wordOf(FragmentKind kind) {
  return pm::stringifyFragmentKind(kind);
}

/// Whether the fragment computes the value rather than reading it.
bool Splitter::isComputedIn(FragmentKind kind, Value value) {
  const OpPlacement &placed = placement.of(value.getDefiningOp());
  if (placed.home == kind || placed.cloned)
    return true;
  // What a prologue needs of the micro-batches' ops, it computes for all.
  if (kind == FragmentKind::Prologue)
    return true;
  // A view of a saved value is made again. So is a partial value: the buffer
  // of one would hold the sum over the micro-batches.
  return kind == FragmentKind::Backward &&
         placed.home == FragmentKind::Forward &&
         (placed.isView || placement.isPartial(value));
}

LogicalResult Splitter::demand(Fragment &needing, Value first) {
  SmallVector<Value> work{first};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op) {
      // An argument, or one of a region of an op in the fragment.
      if (cast<BlockArgument>(value).getOwner()->getParentOp() == function)
        needing.reads.insert(value);
      continue;
    }
    if (op->getParentOp() != function || needing.ops.contains(op))
      continue;
    if (!isComputedIn(needing.kind, value)) {
      const OpPlacement &placed = placement.of(op);
      if (placed.home > needing.kind)
        return op->emitError("belongs to the ")
               << wordOf(placed.home) << " fragment, but the "
               << wordOf(needing.kind)
               << " fragment, which runs before it, needs its result";
      if (placement.isPartial(value) &&
          pm::getSharding(value).getPartialKind() != pm::ReductionKind::Sum)
        return op->emitError("is a ")
               << pm::stringifyReductionKind(
                      pm::getSharding(value).getPartialKind())
               << " over micro-batches that the " << wordOf(needing.kind)
               << " fragment needs, but only sums can be accumulated over a "
                  "temporal axis";
      needing.reads.insert(value);
      fragment(placed.home).writes.insert(value);
      continue;
    }
    needing.ops.insert(op);
    op->walk([&](Operation *inner) {
      llvm::append_range(work, inner->getOperands());
    });
  }
  return success();
}

/// Whether the backward fragment can compute the value, by elementwise ops
/// only, from what it reads or computes anyhow; `chain` gets the ops.
bool Splitter::canRecompute(Value value, llvm::SetVector<Operation *> &chain) {
  constexpr unsigned longest = 16;
  Fragment &backward = fragment(FragmentKind::Backward);
  Operation *op = value.getDefiningOp();
  const OpPlacement &placed = placement.of(op);
  if (chain.contains(op))
    return true;
  if (chain.size() >= longest || placed.home != FragmentKind::Forward ||
      !(op->hasTrait<stablehlo::Elementwise>() || placed.isView))
    return false;
  chain.insert(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !source || backward.reads.contains(operand) ||
           backward.ops.contains(source) || placement.of(source).cloned ||
           canRecompute(operand, chain);
  });
}

/// An activation function's inner values, such as the logistic of a gate: where
/// the backward reads what they are computed from anyhow, and uses them in
/// elementwise ops only, which one loop computes together, saving them would
/// cost more memory traffic than computing them again. What a matrix product
/// reads has to be in memory, and is saved.
void Splitter::recompute() {
  Fragment &backward = fragment(FragmentKind::Backward);
  SmallVector<Value> saved;
  for (Value value : backward.reads)
    if (Operation *op = value.getDefiningOp())
      if (placement.of(op).home == FragmentKind::Forward)
        saved.push_back(value);
  llvm::sort(saved, [&](Value a, Value b) {
    return placement.of(a.getDefiningOp()).order <
           placement.of(b.getDefiningOp()).order;
  });
  for (Value value : saved) {
    Operation *op = value.getDefiningOp();
    if (op->getNumResults() != 1 ||
        fragment(FragmentKind::Update).reads.contains(value))
      continue;
    bool inLoops = llvm::all_of(value.getUsers(), [&](Operation *user) {
      return !backward.ops.contains(user) ||
             user->hasTrait<stablehlo::Elementwise>();
    });
    llvm::SetVector<Operation *> chain;
    if (!inLoops || !canRecompute(value, chain))
      continue;
    backward.reads.remove(value);
    fragment(FragmentKind::Forward).writes.remove(value);
    for (Operation *again : chain) {
      backward.ops.insert(again);
      for (Value operand : again->getOperands())
        // What the chain starts from is read or cloned already, or state.
        if (Operation *source = operand.getDefiningOp();
            !source || placement.of(source).cloned)
          (void)demand(backward, operand);
    }
  }
}

LogicalResult Splitter::run() {
  if (failed(placement.run(function, mesh)))
    return failure();
  fragments = {{FragmentKind::Prologue, {}, {}, {}, {}},
               {FragmentKind::Forward, {}, {}, {}, {}},
               {FragmentKind::Backward, {}, {}, {}, {}},
               {FragmentKind::Update, {}, {}, {}, {}}};

  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Operation *op = operand.get().getDefiningOp();
    if (!op) {
      unsigned arg = cast<BlockArgument>(operand.get()).getArgNumber();
      Attribute state = function.getResultAttr(index, pm::kStateAttr);
      // State that does not change stays in its buffer.
      if (!state || function.getArgAttr(arg, pm::kStateAttr) != state)
        fragment(FragmentKind::Update).results.push_back(index);
      continue;
    }
    fragment(placement.of(op).home).results.push_back(index);
  }
  // Later fragments say what they need of earlier ones.
  for (Fragment &current : llvm::reverse(fragments)) {
    for (unsigned index : current.results)
      if (failed(demand(current, terminator->getOperand(index))))
        return failure();
    for (Value value : SmallVector<Value>(current.writes.getArrayRef()))
      if (failed(demand(current, value)))
        return failure();
    if (current.kind == FragmentKind::Backward)
      recompute();
  }

  builder.setInsertionPoint(function);
  program = pm::ProgramOp::create(builder, function.getLoc(), "step",
                                  mesh.getSymName());
  program.getBody().emplaceBlock();
  makeBuffers();
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto role = pm::RoleOp::create(builder, function.getLoc(), /*rank=*/0);
  role.getBody().emplaceBlock();
  for (Fragment &current : fragments)
    if (!current.writes.empty() || !current.results.empty())
      build(current);
  function.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static std::string unique(llvm::StringSet<> &names, StringRef name) {
  std::string candidate = name.str();
  for (unsigned suffix = 1; !names.insert(candidate).second; ++suffix)
    candidate = (name + "_" + Twine(suffix)).str();
  return candidate;
}

/// `saved.model.layers.0.mlp.dot_general`: where the value comes from.
std::string Splitter::nameOf(Value value, StringRef prefix) {
  std::string name = prefix.str();
  StringRef module = pm::getModelName(value.getLoc());
  if (!module.empty())
    name += ("." + module).str();
  name += ("." + value.getDefiningOp()->getName().stripDialect()).str();
  return name;
}

FlatSymbolRefAttr Splitter::makeBuffer(Location loc, StringRef name,
                                       pm::BufferKind kind, Value value,
                                       StringRef role, StringRef parameter) {
  builder.setInsertionPointToEnd(&program.getBody().front());
  std::string symbol = unique(names, name);
  auto buffer = pm::BufferOp::create(
      builder, loc, builder.getStringAttr(symbol),
      pm::BufferKindAttr::get(builder.getContext(), kind),
      TypeAttr::get(value.getType()), pm::getSharding(value), TypeAttr(),
      role.empty() ? StringAttr() : builder.getStringAttr(role),
      parameter.empty() ? StringAttr() : builder.getStringAttr(parameter));
  return FlatSymbolRefAttr::get(buffer.getSymNameAttr());
}

Value Splitter::getAccumulator(unsigned resultIndex) {
  auto output =
      function.getResultAttrOfType<StringAttr>(resultIndex, pm::kOutputAttr);
  if (!output || output.getValue() != "gradient")
    return {};
  Value value =
      function.getBody().front().getTerminator()->getOperand(resultIndex);
  auto reshard = value.getDefiningOp<pm::ReshardOp>();
  if (!reshard || !fragment(FragmentKind::Update).ops.contains(reshard) ||
      !fragment(FragmentKind::Update).reads.contains(reshard.getInput()) ||
      !reshard.getInput().getDefiningOp() ||
      !placement.isPartial(reshard.getInput()))
    return {};
  return reshard.getInput();
}

void Splitter::makeBuffers() {
  // Inputs and state, in the order of the arguments.
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> states;
  for (BlockArgument arg : function.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (auto state =
            function.getArgAttrOfType<pm::StateAttr>(index, pm::kStateAttr)) {
      StringRef name = state.getName().getValue();
      StringRef kind = pm::stringifyStateKind(state.getKind());
      bool ofParameter = state.getKind() != pm::StateKind::Step;
      std::string symbol = name.str();
      if (state.getKind() != pm::StateKind::Parameter && ofParameter)
        symbol += ("." + kind).str();
      buffers[arg] = makeBuffer(arg.getLoc(), symbol, pm::BufferKind::State,
                                arg, kind, ofParameter ? name : "");
      states[state] = buffers[arg];
      continue;
    }
    auto input = function.getArgAttrOfType<StringAttr>(index, pm::kInputAttr);
    std::string name =
        input ? input.getValue().str() : ("input" + Twine(index)).str();
    buffers[arg] =
        makeBuffer(arg.getLoc(), name, pm::BufferKind::Input, arg, name, "");
  }

  // Outputs and new states.
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::DenseMap<Value, unsigned> gradients, outputs;
  SmallVector<unsigned> pending;
  for (Fragment &current : fragments)
    llvm::append_range(pending, current.results);
  llvm::sort(pending);
  for (unsigned index : pending) {
    if (Attribute state = function.getResultAttr(index, pm::kStateAttr))
      if (auto found = states.find(state); found != states.end()) {
        resultBuffers[index] = found->second;
        continue;
      }
    Value sum = getAccumulator(index);
    if (sum && gradients.try_emplace(sum, index).second)
      continue;
    outputs.try_emplace(terminator->getOperand(index), index);
  }
  auto outputName = [&](unsigned index, StringRef &role, StringRef &parameter) {
    auto output =
        function.getResultAttrOfType<StringAttr>(index, pm::kOutputAttr);
    auto name = function.getResultAttrOfType<StringAttr>(index, pm::kNameAttr);
    role = output ? output.getValue() : "";
    parameter = name ? name.getValue() : "";
    if (!parameter.empty())
      return (parameter + "." + role).str();
    return output ? role.str() : ("output" + Twine(index)).str();
  };
  auto kindOfOutput = [&](Value value) {
    return placement.isCut(value) ? pm::BufferKind::Activation
                                  : pm::BufferKind::Output;
  };

  // What fragments exchange, in the order of time.
  for (Fragment &current : fragments) {
    SmallVector<Value> values(current.writes.begin(), current.writes.end());
    llvm::sort(values, [&](Value a, Value b) {
      auto key = [&](Value value) {
        return std::make_pair(placement.of(value.getDefiningOp()).order,
                              cast<OpResult>(value).getResultNumber());
      };
      return key(a) < key(b);
    });
    current.writes.clear();
    for (Value value : values) {
      current.writes.insert(value);
      Location loc = value.getLoc();
      StringRef role, parameter;
      if (auto gradient = gradients.find(value); gradient != gradients.end()) {
        std::string name = outputName(gradient->second, role, parameter);
        buffers[value] = resultBuffers[gradient->second] = makeBuffer(
            loc, name, pm::BufferKind::Accumulator, value, role, parameter);
      } else if (placement.isPartial(value)) {
        buffers[value] = makeBuffer(loc, nameOf(value, "sum"),
                                    pm::BufferKind::Accumulator, value, "", "");
      } else if (auto output = outputs.find(value); output != outputs.end()) {
        // Also an output: one buffer serves both.
        std::string name = outputName(output->second, role, parameter);
        buffers[value] =
            makeBuffer(loc, name, kindOfOutput(value), value, role, parameter);
        resultBuffers[output->second] = buffers[value];
        llvm::erase(current.results, output->second);
      } else if (current.kind == FragmentKind::Prologue) {
        buffers[value] = makeBuffer(loc, nameOf(value, "value"),
                                    pm::BufferKind::Value, value, "", "");
      } else {
        buffers[value] = makeBuffer(loc, nameOf(value, "saved"),
                                    pm::BufferKind::Activation, value, "", "");
      }
    }
  }
  for (unsigned index : pending) {
    if (resultBuffers.count(index))
      continue;
    Value value = terminator->getOperand(index);
    StringRef role, parameter;
    std::string name = outputName(index, role, parameter);
    resultBuffers[index] = makeBuffer(value.getLoc(), name, kindOfOutput(value),
                                      value, role, parameter);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Splitter::build(Fragment &current) {
  SmallVector<Value> reads(current.reads.begin(), current.reads.end());
  llvm::sort(reads, [&](Value a, Value b) {
    auto key = [&](Value value) -> std::tuple<bool, unsigned, unsigned> {
      if (auto arg = dyn_cast<BlockArgument>(value))
        return {false, arg.getArgNumber(), 0};
      return {true, placement.of(value.getDefiningOp()).order,
              cast<OpResult>(value).getResultNumber()};
    };
    return key(a) < key(b);
  });
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> results(current.writes.begin(), current.writes.end());
  for (unsigned index : current.results)
    results.push_back(terminator->getOperand(index));

  builder.setInsertionPoint(program);
  auto made = func::FuncOp::create(
      builder, function.getLoc(), ("stage0_" + wordOf(current.kind)).str(),
      builder.getFunctionType(TypeRange(ValueRange(reads)),
                              TypeRange(ValueRange(results))));
  made->setAttr(pm::kFragmentAttr,
                pm::FragmentAttr::get(builder.getContext(), current.kind, 0));
  Block *body = made.addEntryBlock();
  IRMapping mapping;
  auto bind = [&](Value value, Attribute buffer) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr(pm::kBufferAttr, buffer),
         builder.getNamedAttr(pm::kShardingAttr, pm::getSharding(value))});
  };
  SmallVector<DictionaryAttr> argAttrs, resultAttrs;
  for (auto [index, value] : llvm::enumerate(reads)) {
    BlockArgument arg = body->getArgument(index);
    arg.setLoc(value.getLoc());
    mapping.map(value, arg);
    argAttrs.push_back(bind(value, buffers[value]));
  }
  made.setAllArgAttrs(argAttrs);
  builder.setInsertionPointToEnd(body);
  for (Operation &op : function.getBody().front())
    if (current.ops.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> returned;
  for (Value value : results)
    returned.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, terminator->getLoc(), returned);
  for (auto [index, value] : llvm::enumerate(results)) {
    bool isWrite = index < current.writes.size();
    FlatSymbolRefAttr buffer =
        isWrite ? buffers[value]
                : resultBuffers[current.results[index - current.writes.size()]];
    resultAttrs.push_back(bind(value, buffer));
  }
  made.setAllResultAttrs(resultAttrs);
}

namespace {
class SplitStages : public pipemesh::impl::SplitStagesPassBase<SplitStages> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    pm::MeshOp mesh = pm::lookupMesh(module);
    if (!mesh) {
      module.emitError(
          "the module has no mesh; run pm-apply-strategy, or add a pm.mesh");
      return signalPassFailure();
    }
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1) {
      module.emitError("a step is one function, but the module has ")
          << functions.size();
      return signalPassFailure();
    }
    if (!functions[0].getBody().hasOneBlock()) {
      functions[0].emitError("a step is one block, but this has ")
          << functions[0].getBody().getBlocks().size();
      return signalPassFailure();
    }
    if (failed(check(functions[0])) ||
        failed(Splitter(functions[0], mesh).run()))
      signalPassFailure();
  }

private:
  static LogicalResult check(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments())
      if (!pm::getSharding(arg))
        return function.emitError("argument ")
               << arg.getArgNumber() << " has no sharding; run pm-propagate";
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (!op.hasAttr(kStageAttr))
        return op.emitError("has no stage; run pm-assign-stages");
      for (Value result : op.getResults())
        if (!pm::getSharding(result))
          return op.emitError("has no sharding; run pm-propagate");
    }
    return success();
  }
};
} // namespace
