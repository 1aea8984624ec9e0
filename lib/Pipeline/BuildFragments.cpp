//===- BuildFragments.cpp - the program and the functions of a step -------===//

#include "Splitter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
class FragmentBuilder {
public:
  FragmentBuilder(Splitter &splitter, pm::MeshOp mesh)
      : splitter(splitter), function(splitter.function),
        placement(splitter.placement), mesh(mesh),
        builder(function.getContext()) {}

  void run();

private:
  void countOrigins();
  void makeArgumentBuffers();
  void makeBuffers();
  void makeWriteBuffer(Fragment &fragment, Value value);
  FlatSymbolRefAttr makeBuffer(Location loc, StringRef name,
                               pm::BufferKind kind, Value value,
                               StringRef role = "", StringRef parameter = "");
  /// The buffer of a result of the function.
  FlatSymbolRefAttr makeOutput(unsigned index, Value value,
                               pm::BufferKind kind);
  pm::BufferKind kindOfOutput(Value value) const {
    return placement.isCut(value) ? pm::BufferKind::Activation
                                  : pm::BufferKind::Output;
  }
  std::string nameOf(Value value, StringRef prefix) const;
  HomedValue findAccumulator(unsigned resultIndex);
  HomedValue findPart(const Fragment &reading, Value sum, Value total);
  void build(Fragment &fragment);
  FlatSymbolRefAttr bufferOf(const Fragment &fragment, Value read) {
    if (isa<BlockArgument>(read))
      return argumentBuffers[read];
    return buffers[{read, fragment.sources.lookup(read)}];
  }

  Splitter &splitter;
  func::FuncOp function;
  const Placement &placement;
  pm::MeshOp mesh;
  OpBuilder builder;
  pm::ProgramOp program;
  llvm::StringSet<> names;
  /// How many ops of that kind and place in the model stand before an op, where
  /// there are some.
  llvm::DenseMap<Operation *, unsigned> repetition;
  llvm::DenseMap<Value, FlatSymbolRefAttr> argumentBuffers;
  llvm::DenseMap<HomedValue, FlatSymbolRefAttr> buffers;
  llvm::DenseMap<unsigned, FlatSymbolRefAttr> resultBuffers;
  /// The result that an accumulator is reduced to, and the results that are
  /// reduced accumulators.
  llvm::DenseMap<HomedValue, unsigned> gradients;
  llvm::DenseMap<Value, unsigned> reduced;
  /// The first result that returns a value.
  llvm::DenseMap<Value, unsigned> outputs;
};
} // namespace

void pipemesh::buildFragments(Splitter &splitter, pm::MeshOp mesh) {
  FragmentBuilder(splitter, mesh).run();
}

void FragmentBuilder::run() {
  builder.setInsertionPoint(function);
  program = pm::ProgramOp::create(builder, function.getLoc(), "step",
                                  mesh.getSymName());
  program.getBody().emplaceBlock();
  countOrigins();
  makeArgumentBuffers();
  makeBuffers();
  builder.setInsertionPointToEnd(&program.getBody().front());
  for (int64_t rank = 0; rank < splitter.numRanks; ++rank)
    pm::RoleOp::create(builder, function.getLoc(), rank)
        .getBody()
        .emplaceBlock();
  // The fragments of a stage stand together.
  for (int64_t stage = 0; stage < splitter.numStages; ++stage)
    for (Fragment &fragment : splitter.fragments)
      if (fragment.stage == stage &&
          !(fragment.writes.empty() && fragment.results.empty()))
        build(fragment);
  function.erase();
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

/// `.model.layers.0.mlp.dot_general`: where the value comes from.
static std::string getOrigin(Operation *op) {
  std::string name;
  StringRef module = pm::getModelName(op->getLoc());
  if (!module.empty())
    name += ("." + module).str();
  return name + ("." + op->getName().stripDialect()).str();
}

void FragmentBuilder::countOrigins() {
  llvm::StringMap<unsigned> counts;
  for (Operation &op : function.getBody().front().without_terminator())
    if (!pm::getModelName(op.getLoc()).empty())
      if (unsigned before = counts[getOrigin(&op)]++)
        repetition[&op] = before;
}

/// `saved.model.layers.0.add_1`: the second add of the layer, whatever else is
/// saved, so that bundles of other stages have the same name for it.
std::string FragmentBuilder::nameOf(Value value, StringRef prefix) const {
  Operation *op = value.getDefiningOp();
  std::string name = prefix.str() + getOrigin(op);
  bool isSaved = prefix == "saved" || prefix == "again";
  if (auto found = repetition.find(op); isSaved && found != repetition.end())
    name += "_" + std::to_string(found->second);
  return name;
}

FlatSymbolRefAttr FragmentBuilder::makeBuffer(Location loc, StringRef name,
                                              pm::BufferKind kind, Value value,
                                              StringRef role,
                                              StringRef parameter) {
  builder.setInsertionPointToEnd(&program.getBody().front());
  std::string symbol = unique(names, name);
  auto buffer = pm::BufferOp::create(
      builder, loc, builder.getStringAttr(symbol),
      pm::BufferKindAttr::get(builder.getContext(), kind),
      TypeAttr::get(value.getType()), pm::getSharding(value), TypeAttr(),
      role.empty() ? StringAttr() : builder.getStringAttr(role),
      parameter.empty() ? StringAttr() : builder.getStringAttr(parameter));
  if (auto arg = dyn_cast<BlockArgument>(value))
    if (Attribute stored =
            function.getArgAttr(arg.getArgNumber(), pm::kStoredShapeAttr))
      buffer->setAttr(pm::kStoredShapeAttr, stored);
  return FlatSymbolRefAttr::get(buffer.getSymNameAttr());
}

FlatSymbolRefAttr FragmentBuilder::makeOutput(unsigned index, Value value,
                                              pm::BufferKind kind) {
  auto output =
      function.getResultAttrOfType<StringAttr>(index, pm::kOutputAttr);
  auto name = function.getResultAttrOfType<StringAttr>(index, pm::kNameAttr);
  StringRef role = output ? output.getValue() : "";
  StringRef parameter = name ? name.getValue() : "";
  std::string symbol = ("output" + Twine(index)).str();
  if (!parameter.empty())
    symbol = (parameter + "." + role).str();
  else if (output)
    symbol = role.str();
  return resultBuffers[index] =
             makeBuffer(value.getLoc(), symbol, kind, value, role, parameter);
}

/// Inputs and state, in the order of the arguments.
void FragmentBuilder::makeArgumentBuffers() {
  llvm::DenseMap<Attribute, SmallVector<unsigned, 1>> resultsOfState;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (Attribute state = function.getResultAttr(i, pm::kStateAttr))
      resultsOfState[state].push_back(i);
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
      argumentBuffers[arg] =
          makeBuffer(arg.getLoc(), symbol, pm::BufferKind::State, arg, kind,
                     ofParameter ? name : "");
      for (unsigned i : resultsOfState.lookup(state))
        resultBuffers[i] = argumentBuffers[arg];
      continue;
    }
    auto input = function.getArgAttrOfType<StringAttr>(index, pm::kInputAttr);
    std::string name =
        input ? input.getValue().str() : ("input" + Twine(index)).str();
    argumentBuffers[arg] =
        makeBuffer(arg.getLoc(), name, pm::BufferKind::Input, arg, name);
  }
}

/// The part of `total` that `reading` gets from its own stage's backward, by
/// the additions between them; null where there is none.
HomedValue FragmentBuilder::findPart(const Fragment &reading, Value sum,
                                     Value total) {
  if (reading.reads.contains(sum)) {
    auto source = reading.sources.find(sum);
    if (source == reading.sources.end())
      return {};
    const Fragment &from = splitter.fragments[source->second];
    bool fits = splitter.rankOfStage[from.stage] == reading.stage &&
                placement.isPartial(sum) && sum.getType() == total.getType() &&
                pm::getSharding(sum) == pm::getSharding(total);
    return fits ? HomedValue(sum, source->second) : HomedValue();
  }
  auto add = sum.getDefiningOp<stablehlo::AddOp>();
  if (!add || !reading.ops.contains(add))
    return {};
  for (Value operand : add->getOperands())
    if (HomedValue part = findPart(reading, operand, total); part.first)
      return part;
  return {};
}

/// The accumulator that a gradient output was summed in, or null.
HomedValue FragmentBuilder::findAccumulator(unsigned resultIndex) {
  auto output =
      function.getResultAttrOfType<StringAttr>(resultIndex, pm::kOutputAttr);
  if (!output || output.getValue() != "gradient")
    return {};
  Value value = splitter.getTerminator()->getOperand(resultIndex);
  auto reshard = value.getDefiningOp<pm::ReshardOp>();
  if (!reshard || reshard.getSource().withoutPartial() != reshard.getTarget())
    return {};
  for (const Fragment &fragment : splitter.fragments)
    if (fragment.kind == splitter.getSumKind() &&
        fragment.ops.contains(reshard))
      return findPart(fragment, reshard.getInput(), reshard.getInput());
  return {};
}

void FragmentBuilder::makeBuffers() {
  SmallVector<unsigned> pending;
  for (Fragment &fragment : splitter.fragments)
    llvm::append_range(pending, fragment.results);
  llvm::sort(pending);
  for (unsigned index : pending) {
    if (resultBuffers.count(index))
      continue;
    Value value = splitter.getTerminator()->getOperand(index);
    HomedValue sum = findAccumulator(index);
    if (sum.first && gradients.try_emplace(sum, index).second)
      reduced.try_emplace(value, index);
    else
      outputs.try_emplace(value, index);
  }
  // What fragments exchange, in the order of time.
  for (Fragment &fragment : splitter.fragments) {
    SmallVector<Value> values(fragment.writes.begin(), fragment.writes.end());
    llvm::sort(values, [&](Value a, Value b) {
      auto key = [&](Value value) {
        return std::make_pair(placement.of(value.getDefiningOp()).order,
                              cast<OpResult>(value).getResultNumber());
      };
      return key(a) < key(b);
    });
    fragment.writes.clear();
    for (Value value : values) {
      fragment.writes.insert(value);
      makeWriteBuffer(fragment, value);
    }
  }
  for (unsigned index : pending) {
    if (resultBuffers.count(index))
      continue;
    Value value = splitter.getTerminator()->getOperand(index);
    makeOutput(index, value, kindOfOutput(value));
  }
}

void FragmentBuilder::makeWriteBuffer(Fragment &fragment, Value value) {
  HomedValue homed(value, splitter.indexOf(fragment));
  FlatSymbolRefAttr &buffer = buffers[homed];
  Location loc = value.getLoc();
  // One buffer serves a result too, where this fragment gives it.
  auto isResult = [&](unsigned index) {
    return llvm::is_contained(fragment.results, index);
  };
  if (auto gradient = gradients.find(homed); gradient != gradients.end()) {
    buffer = makeOutput(gradient->second, value, pm::BufferKind::Accumulator);
    return;
  }
  if (auto result = reduced.find(value);
      result != reduced.end() && isResult(result->second)) {
    buffer = resultBuffers[result->second];
    llvm::erase(fragment.results, result->second);
    return;
  }
  if (placement.isPartial(value)) {
    buffer = makeBuffer(loc, nameOf(value, "sum"), pm::BufferKind::Accumulator,
                        value);
    return;
  }
  if (auto output = outputs.find(value);
      output != outputs.end() && isResult(output->second)) {
    buffer = makeOutput(output->second, value, kindOfOutput(value));
    llvm::erase(fragment.results, output->second);
    return;
  }
  bool isActivation =
      pm::FragmentAttr::get(builder.getContext(), fragment.kind, fragment.stage)
          .isPerMicroBatch();
  // What a backward computes again is another value than the forward's.
  bool isAgain =
      placement.of(value.getDefiningOp()).home == pm::FragmentKind::Forward &&
      fragment.kind != pm::FragmentKind::Forward;
  buffer = isActivation
               ? makeBuffer(loc, nameOf(value, isAgain ? "again" : "saved"),
                            pm::BufferKind::Activation, value)
               : makeBuffer(loc, nameOf(value, "value"), pm::BufferKind::Value,
                            value);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void FragmentBuilder::build(Fragment &fragment) {
  SmallVector<Value> reads(fragment.reads.begin(), fragment.reads.end());
  llvm::sort(reads, [&](Value a, Value b) {
    auto key = [&](Value value) -> std::tuple<bool, unsigned, unsigned> {
      if (auto arg = dyn_cast<BlockArgument>(value))
        return {false, arg.getArgNumber(), 0};
      return {true, placement.of(value.getDefiningOp()).order,
              cast<OpResult>(value).getResultNumber()};
    };
    return key(a) < key(b);
  });
  Operation *terminator = splitter.getTerminator();
  SmallVector<Value> results(fragment.writes.begin(), fragment.writes.end());
  for (unsigned index : fragment.results)
    results.push_back(terminator->getOperand(index));

  builder.setInsertionPoint(program);
  std::string name = "stage" + std::to_string(fragment.stage) + "_" +
                     pm::stringifyFragmentKind(fragment.kind).str();
  auto made = func::FuncOp::create(
      builder, function.getLoc(), name,
      builder.getFunctionType(TypeRange(ValueRange(reads)),
                              TypeRange(ValueRange(results))));
  made->setAttr(pm::kFragmentAttr,
                pm::FragmentAttr::get(builder.getContext(), fragment.kind,
                                      fragment.stage));
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
    argAttrs.push_back(bind(value, bufferOf(fragment, value)));
  }
  made.setAllArgAttrs(argAttrs);
  builder.setInsertionPointToEnd(body);
  SmallVector<Operation *> ops(fragment.ops.begin(), fragment.ops.end());
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return placement.of(a).order < placement.of(b).order;
  });
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> returned;
  for (Value value : results)
    returned.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, terminator->getLoc(), returned);
  unsigned own = splitter.indexOf(fragment);
  for (auto [index, value] : llvm::enumerate(results)) {
    bool isWrite = index < fragment.writes.size();
    FlatSymbolRefAttr buffer =
        isWrite
            ? buffers[{value, own}]
            : resultBuffers[fragment.results[index - fragment.writes.size()]];
    resultAttrs.push_back(bind(value, buffer));
  }
  made.setAllResultAttrs(resultAttrs);
}
