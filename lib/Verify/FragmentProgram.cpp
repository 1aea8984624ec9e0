//===- FragmentProgram.cpp - programs of fragments ------------------------===//
//
// A step of a pm.program: its buffers on every rank, with a slot for each
// micro-batch where a temporal axis cuts them, and the fragments run between
// them by the binding rules of pm.program.
//
//===----------------------------------------------------------------------===//

#include "FragmentProgram.h"
#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pipemesh::interp {

namespace {

struct Buffer {
  Buffer(pm::BufferOp op, const RankGrid &grid, bool isPartitioned)
      : op(op), kind(op.getKind()), layout(op.getSharding(), grid) {
    local = cast<RankedTensorType>(op.getType());
    global = local;
    if (isPartitioned && op.getGlobalType())
      global = cast<RankedTensorType>(*op.getGlobalType());
    role = op.getRole().value_or("").str();
    name = role;
    // There is one step counter, and it belongs to no parameter.
    if (auto parameter = op.getParameter(); parameter && role != "step")
      name += " " + parameter->str();
    isSlotted = layout.isCutByTime();
    isAccumulator = layout.isPartialOverTime();
  }
  /// An input or a state: it has a value when the step starts.
  bool isGiven() const {
    return kind == pm::BufferKind::Input || kind == pm::BufferKind::State;
  }
  bool isOutput() const {
    return !role.empty() && kind != pm::BufferKind::Input;
  }

  pm::BufferOp op;
  pm::BufferKind kind;
  Layout layout;
  RankedTensorType local, global;
  std::string name, role;
  bool isSlotted, isAccumulator;
  /// values[rank][slot]; null before the first write.
  SmallVector<SmallVector<Tensor>> values;
  /// The micro-batch that wrote a plain buffer, or -1.
  int64_t writer = -1;
  /// An update has put the joined value where the parts were.
  bool isJoined = false;
};

struct Action {
  pm::FragmentKind kind;
  int64_t stage, microBatch;
};

class FragmentProgram : public Program {
public:
  LogicalResult initialize(pm::ProgramOp programOp);
  FailureOr<NamedTensors> run(const NamedTensors &values) override;
  std::string describe() const override {
    std::string text = "fragments of '" + name + "'";
    if (isPartitioned)
      text += " on " + std::to_string(grid.getNumRanks()) + " ranks x " +
              std::to_string(grid.getNumMicroBatches()) + " micro-batches";
    return text;
  }

private:
  void addDefaultActions();
  LogicalResult runAction(const Action &action);
  FailureOr<Tensor> read(func::FuncOp fragment, Buffer &buffer, unsigned rank,
                         const Action &action);
  LogicalResult write(func::FuncOp fragment, Buffer &buffer,
                      ArrayRef<Tensor> values, const Action &action);
  Buffer *lookupBuffer(func::FuncOp fragment, DictionaryAttr attrs,
                       const Twine &what);

  pm::ProgramOp program;
  std::string name;
  bool isPartitioned = false;
  RankGrid grid;
  llvm::MapVector<StringAttr, std::unique_ptr<Buffer>> buffers;
  std::map<std::pair<pm::FragmentKind, int64_t>, func::FuncOp> fragments;
  std::vector<Action> actions;
};

bool isPerMicroBatch(pm::FragmentKind kind) {
  return kind != pm::FragmentKind::Prologue && kind != pm::FragmentKind::Update;
}

} // namespace

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

LogicalResult FragmentProgram::initialize(pm::ProgramOp programOp) {
  program = programOp;
  name = program.getSymName().str();
  auto module = program->getParentOfType<ModuleOp>();
  for (auto op : program.getBody().getOps<pm::BufferOp>())
    isPartitioned |= op.getGlobalType().has_value();
  if (isPartitioned) {
    auto mesh = module.lookupSymbol<pm::MeshOp>(program.getMesh());
    if (!mesh)
      return program.emitError("its mesh '")
             << program.getMesh() << "' is not in the module";
    grid = makeGrid(mesh, /*temporal=*/true);
  }
  for (auto op : program.getBody().getOps<pm::BufferOp>()) {
    auto buffer = std::make_unique<Buffer>(op, grid, isPartitioned);
    if (!Tensor::isSupported(buffer->local.getElementType()))
      return op.emitError("the interpreter has no values of type ")
             << buffer->local;
    if (buffer->isGiven() && buffer->role.empty())
      return op.emitError("an input or state has no role to be found by");
    if (buffer->isGiven())
      inputs.push_back({buffer->name, buffer->role, buffer->global});
    if (buffer->isOutput())
      outputs.push_back({buffer->name, buffer->role, buffer->global});
    buffers[op.getSymNameAttr()] = std::move(buffer);
  }
  for (auto function : module.getOps<func::FuncOp>())
    if (auto fragment =
            function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr))
      fragments[{fragment.getKind(), fragment.getStage()}] = function;
  if (fragments.empty())
    return program.emitError("its module has no fragments to run");

  SmallVector<pm::RoleOp> roles(program.getBody().getOps<pm::RoleOp>());
  if (isPartitioned && roles.size() == 1)
    for (auto op : roles.front().getBody().getOps<pm::ActionOp>())
      actions.push_back(
          {op.getKind(), int64_t(op.getStage()), int64_t(op.getMicroBatch())});
  if (actions.empty())
    addDefaultActions();
  return success();
}

/// P of all stages; for each micro-batch F from the first stage to the last and
/// I, W or B from the last to the first; U of all stages.
void FragmentProgram::addDefaultActions() {
  auto add = [&](pm::FragmentKind kind, int64_t microBatch) {
    for (auto &[key, function] : fragments)
      if (key.first == kind)
        actions.push_back({kind, key.second, microBatch});
  };
  add(pm::FragmentKind::Prologue, 0);
  for (int64_t i = 0; i < grid.getNumMicroBatches(); ++i) {
    add(pm::FragmentKind::Forward, i);
    SmallVector<Action> backward;
    for (auto &[key, function] : fragments)
      if (isPerMicroBatch(key.first) && key.first != pm::FragmentKind::Forward)
        backward.push_back({key.first, key.second, i});
    llvm::sort(backward, [](const Action &a, const Action &b) {
      return a.stage != b.stage ? a.stage > b.stage : a.kind < b.kind;
    });
    actions.insert(actions.end(), backward.begin(), backward.end());
  }
  add(pm::FragmentKind::Update, 0);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Buffer *FragmentProgram::lookupBuffer(func::FuncOp fragment,
                                      DictionaryAttr attrs, const Twine &what) {
  auto name = attrs ? attrs.getAs<FlatSymbolRefAttr>(pm::kBufferAttr)
                    : FlatSymbolRefAttr();
  if (!name) {
    fragment.emitError() << what << " names no pm.buffer";
    return nullptr;
  }
  auto it = buffers.find(name.getAttr());
  if (it == buffers.end()) {
    fragment.emitError() << what << " names " << name
                         << ", which the program does not have";
    return nullptr;
  }
  return it->second.get();
}

FailureOr<Tensor> FragmentProgram::read(func::FuncOp fragment, Buffer &buffer,
                                        unsigned rank, const Action &action) {
  ArrayRef<Tensor> slots = buffer.values[rank];
  auto unwritten = [&](int64_t microBatch) -> LogicalResult {
    return fragment.emitError("reads buffer '")
           << buffer.op.getSymName() << "'"
           << (buffer.isSlotted
                   ? " of micro-batch " + std::to_string(microBatch)
                   : "")
           << " before anything has written it";
  };
  if (buffer.isAccumulator && isPerMicroBatch(action.kind))
    return fragment.emitError("reads buffer '")
           << buffer.op.getSymName()
           << "', a sum over the micro-batches that is complete only when all "
              "of them have run; a prologue or an update may read it";
  if (!buffer.isSlotted) {
    if (!slots[0])
      return unwritten(0);
    return slots[0];
  }
  if (isPerMicroBatch(action.kind)) {
    if (!slots[action.microBatch])
      return unwritten(action.microBatch);
    return slots[action.microBatch];
  }
  for (auto [microBatch, slot] : llvm::enumerate(slots))
    if (!slot)
      return unwritten(microBatch);
  return buffer.layout.joinMicroBatches(slots);
}

LogicalResult FragmentProgram::write(func::FuncOp fragment, Buffer &buffer,
                                     ArrayRef<Tensor> values,
                                     const Action &action) {
  bool perMicroBatch = isPerMicroBatch(action.kind);
  for (auto [rank, given] : llvm::enumerate(values)) {
    Tensor value = given;
    SmallVector<Tensor> &slots = buffer.values[rank];
    RankedTensorType wanted = buffer.local;
    if (buffer.isSlotted && !perMicroBatch) {
      slots = buffer.layout.splitMicroBatches(value);
      value = slots[0];
    } else if (buffer.isSlotted) {
      slots[action.microBatch] = value;
    } else if (buffer.isAccumulator && perMicroBatch) {
      if (slots[0] && slots[0].getType() == value.getType()) {
        Tensor sum = slots[0].clone();
        joinInto(sum, value, buffer.op.getSharding().getPartialKind());
        slots[0] = sum;
      } else {
        slots[0] = value;
      }
    } else {
      if (perMicroBatch && buffer.writer >= 0 &&
          buffer.writer != action.microBatch && !agree(slots[0], value))
        return fragment.emitError("gives buffer '")
               << buffer.op.getSymName() << "' another value in micro-batch "
               << action.microBatch << " than in micro-batch " << buffer.writer
               << ", but its sharding says that they are the same";
      slots[0] = value;
    }
    if (value.getType() != wanted)
      return fragment.emitError("writes ")
             << value.getType() << " to buffer '" << buffer.op.getSymName()
             << "' of type " << wanted;
  }
  if (perMicroBatch)
    buffer.writer = action.microBatch;
  else
    buffer.isJoined = true;
  return success();
}

LogicalResult FragmentProgram::runAction(const Action &action) {
  auto it = fragments.find({action.kind, action.stage});
  if (it == fragments.end())
    return program.emitError("has an action for the ")
           << pm::stringifyFragmentKind(action.kind) << " of stage "
           << action.stage << ", and there is no such fragment";
  func::FuncOp fragment = it->second;
  if (action.microBatch < 0 || action.microBatch >= grid.getNumMicroBatches())
    return program.emitError("has an action for micro-batch ")
           << action.microBatch << " of " << grid.getNumMicroBatches();

  SmallVector<SmallVector<Tensor>> arguments(grid.getNumRanks());
  for (unsigned i = 0; i < fragment.getNumArguments(); ++i) {
    Buffer *buffer = lookupBuffer(fragment, fragment.getArgAttrDict(i),
                                  "argument " + Twine(i));
    if (!buffer)
      return failure();
    for (unsigned rank = 0; rank < grid.getNumRanks(); ++rank) {
      FailureOr<Tensor> value = read(fragment, *buffer, rank, action);
      if (failed(value))
        return failure();
      arguments[rank].push_back(*value);
    }
  }
  auto results =
      runFunctionOnRanks(fragment, grid, arguments, action.microBatch);
  if (failed(results))
    return failure();
  for (unsigned i = 0; i < fragment.getNumResults(); ++i) {
    Buffer *buffer = lookupBuffer(fragment, fragment.getResultAttrDict(i),
                                  "result " + Twine(i));
    if (!buffer)
      return failure();
    SmallVector<Tensor> values;
    for (SmallVector<Tensor> &list : *results)
      values.push_back(list[i]);
    if (failed(write(fragment, *buffer, values, action)))
      return failure();
  }
  return success();
}

FailureOr<NamedTensors> FragmentProgram::run(const NamedTensors &values) {
  for (auto &[symbol, buffer] : buffers) {
    int64_t slots = buffer->isSlotted ? grid.getNumMicroBatches() : 1;
    buffer->writer = -1;
    buffer->isJoined = false;
    buffer->values.assign(grid.getNumRanks(), SmallVector<Tensor>(slots));
    if (buffer->isAccumulator &&
        buffer->op.getSharding().getPartialKind() == pm::ReductionKind::Sum)
      for (SmallVector<Tensor> &list : buffer->values)
        list[0] = Tensor(buffer->local);
    if (!buffer->isGiven())
      continue;
    auto it = values.find(buffer->name);
    if (it == values.end())
      return buffer->op.emitError("no value is given for '")
             << buffer->name << "'";
    if (it->second.getType() != buffer->global)
      return buffer->op.emitError("is ")
             << buffer->global << ", and the value given is "
             << it->second.getType();
    for (auto [rank, list] : llvm::enumerate(buffer->values))
      for (auto [slot, tensor] : llvm::enumerate(list))
        tensor = buffer->layout.take(it->second, buffer->local, rank, slot,
                                     buffer->kind == pm::BufferKind::State);
  }

  for (const Action &action : actions)
    if (failed(runAction(action)))
      return failure();

  NamedTensors named;
  for (auto &[symbol, buffer] : buffers) {
    if (!buffer->isOutput())
      continue;
    for (auto [rank, list] : llvm::enumerate(buffer->values))
      for (const Tensor &tensor : list)
        if (!tensor)
          return buffer->op.emitError("is an output, but no fragment has "
                                      "written it at the end of the step");
    auto whole =
        buffer->layout.assemble(buffer->values, buffer->global,
                                buffer->isJoined, [op = buffer->op]() mutable {
                                  return op.emitError("buffer '")
                                         << op.getSymName() << "' ";
                                });
    if (failed(whole))
      return failure();
    named[buffer->name] = *whole;
  }
  return named;
}

FailureOr<std::unique_ptr<Program>> loadFragmentProgram(pm::ProgramOp op) {
  auto program = std::make_unique<FragmentProgram>();
  if (failed(program->initialize(op)))
    return failure();
  return std::unique_ptr<Program>(std::move(program));
}

} // namespace pipemesh::interp
