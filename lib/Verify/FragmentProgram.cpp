//===- FragmentProgram.cpp - programs of fragments ------------------------===//
//
// A step of a pm.program: its buffers on every rank of every pipeline stage,
// with a slot for each micro-batch where a temporal axis cuts them, and the
// fragments run between them by the binding rules of pm.program. Each stage has
// its own copy of a buffer. Where the roles hold no actions yet, a stage reads
// what it does not write itself from the one that does; where they do, only
// what it has received.
//
//===----------------------------------------------------------------------===//

#include "FragmentProgram.h"
#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Schedule/Schedule.h"
#include "llvm/ADT/MapVector.h"
#include <deque>
#include <set>

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

  /// What one stage (or role) holds.
  struct Copy {
    /// values[rank][slot]; null before the first write.
    SmallVector<SmallVector<Tensor>> values;
    /// The micro-batch that wrote a plain buffer, or -1.
    int64_t writer = -1;
    /// The joined value has been put where the parts were.
    bool isJoined = false;
  };
  std::map<int64_t, Copy> copies;
  /// The stages (or roles) whose fragments write it, and those that use it.
  std::set<int64_t> writers, users;
};

struct Action {
  pm::FragmentKind kind;
  int64_t stage, microBatch;
};

/// An action, or one end of a transfer.
struct Item {
  enum { Act, Send, Receive } what;
  Operation *op;
  Action action;
  Buffer *buffer;
  int64_t peer;
};

/// Values under way: the micro-batch, one tensor a rank, and what else is known
/// of them.
struct Message {
  int64_t microBatch;
  SmallVector<Tensor> values;
  bool isJoined;
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
    std::set<int64_t> stages;
    for (auto &[key, function] : fragments)
      stages.insert(key.second);
    if (stages.size() > 1)
      text += " x " + std::to_string(stages.size()) + " stages";
    return text;
  }

private:
  void addDefaultActions();
  LogicalResult addItems(pm::RoleOp role);
  LogicalResult findUsers();
  int64_t placeOf(int64_t stage) const {
    auto found = roleOfStage.find(stage);
    return found == roleOfStage.end() ? stage : found->second;
  }
  void resetCopies(Buffer &buffer);
  LogicalResult runRoles();
  FailureOr<bool> runItem(int64_t role, const Item &item);
  LogicalResult runAction(const Action &action);
  FailureOr<Tensor> read(func::FuncOp fragment, Buffer &buffer, unsigned rank,
                         const Action &action);
  LogicalResult write(func::FuncOp fragment, Buffer &buffer,
                      ArrayRef<Tensor> values, const Action &action);
  FailureOr<Tensor> assemble(Buffer &buffer);
  Buffer *lookupBuffer(func::FuncOp fragment, DictionaryAttr attrs,
                       const Twine &what);

  pm::ProgramOp program;
  std::string name;
  bool isPartitioned = false;
  RankGrid grid;
  llvm::MapVector<StringAttr, std::unique_ptr<Buffer>> buffers;
  std::map<std::pair<pm::FragmentKind, int64_t>, func::FuncOp> fragments;
  /// Without roles' actions: the fragments in the order of time.
  std::vector<Action> actions;
  /// With them: the list of each role.
  std::map<int64_t, std::vector<Item>> roles;
  std::map<int64_t, int64_t> roleOfStage;
  std::map<std::tuple<Buffer *, int64_t, int64_t>, std::deque<Message>>
      messages;
};

bool isPerMicroBatch(pm::FragmentKind kind) {
  return kind != pm::FragmentKind::Prologue &&
         kind != pm::FragmentKind::Reduce && kind != pm::FragmentKind::Update;
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

  if (auto ranks =
          module->getAttrOfType<DenseI64ArrayAttr>(schedule::kRankOfStageAttr))
    for (auto [stage, rank] : llvm::enumerate(ranks.asArrayRef()))
      roleOfStage[stage] = rank;
  if (isPartitioned)
    for (auto role : program.getBody().getOps<pm::RoleOp>())
      if (failed(addItems(role)))
        return failure();
  if (roles.empty())
    addDefaultActions();
  return findUsers();
}

LogicalResult FragmentProgram::addItems(pm::RoleOp role) {
  for (Operation &op : role.getBody().front()) {
    Item item = {Item::Act, &op, {}, nullptr, -1};
    auto transfer = [&](FlatSymbolRefAttr name, int64_t peer,
                        int64_t microBatch) -> LogicalResult {
      auto found = buffers.find(name.getAttr());
      if (found == buffers.end())
        return op.emitError("names ")
               << name << ", which the program does not have";
      item.buffer = found->second.get();
      item.peer = peer;
      item.action.microBatch = microBatch;
      if (!item.buffer->isSlotted && microBatch != 0)
        return op.emitError("names a micro-batch of buffer '")
               << name.getValue() << "', which holds one value a step";
      return success();
    };
    if (auto action = dyn_cast<pm::ActionOp>(op)) {
      item.action = {action.getKind(), int64_t(action.getStage()),
                     int64_t(action.getMicroBatch())};
      roleOfStage[item.action.stage] = role.getPipelineRank();
    } else if (auto send = dyn_cast<pm::SendOp>(op)) {
      item.what = Item::Send;
      if (failed(transfer(send.getBufferAttr(), send.getPeer(),
                          send.getMicroBatch())))
        return failure();
    } else if (auto receive = dyn_cast<pm::ReceiveOp>(op)) {
      item.what = Item::Receive;
      if (failed(transfer(receive.getBufferAttr(), receive.getPeer(),
                          receive.getMicroBatch())))
        return failure();
    }
    if (item.action.microBatch < 0 ||
        item.action.microBatch >= grid.getNumMicroBatches())
      return program.emitError("has an action for micro-batch ")
             << item.action.microBatch << " of " << grid.getNumMicroBatches();
    roles[role.getPipelineRank()].push_back(item);
  }
  return success();
}

/// Which stages hold a copy of a buffer, and which of them make its value.
LogicalResult FragmentProgram::findUsers() {
  for (auto &[key, function] : fragments) {
    int64_t place = placeOf(key.second);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Buffer *buffer = lookupBuffer(function, function.getArgAttrDict(i),
                                    "argument " + Twine(i));
      if (!buffer)
        return failure();
      buffer->users.insert(place);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      Buffer *buffer = lookupBuffer(function, function.getResultAttrDict(i),
                                    "result " + Twine(i));
      if (!buffer)
        return failure();
      buffer->users.insert(place);
      buffer->writers.insert(place);
    }
  }
  return success();
}

/// P of all stages; for each micro-batch F from the first stage to the last and
/// I, W or B from the last to the first; R and then U of all stages.
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
  add(pm::FragmentKind::Reduce, 0);
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
  int64_t place = placeOf(action.stage);
  bool isOwn = buffer.isGiven() || buffer.writers.count(place);
  // Nothing is sent before there are actions: values pass by themselves.
  if (!isOwn && roles.empty() && !buffer.writers.empty())
    place = *buffer.writers.begin();
  ArrayRef<Tensor> slots = buffer.copies[place].values[rank];
  auto unwritten = [&](int64_t microBatch) -> LogicalResult {
    InFlightDiagnostic diagnostic = fragment.emitError("reads buffer '")
                                    << buffer.op.getSymName() << "'";
    if (buffer.isSlotted)
      diagnostic << " of micro-batch " << microBatch;
    if (isOwn || roles.empty())
      return diagnostic << " before anything has written it";
    return diagnostic << ", which role " << place << " has not received";
  };
  if (buffer.isAccumulator && isPerMicroBatch(action.kind))
    return fragment.emitError("reads buffer '")
           << buffer.op.getSymName()
           << "', a sum over the micro-batches that is complete only when all "
              "of them have run; a reduce or an update may read it";
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
  Buffer::Copy &copy = buffer.copies[placeOf(action.stage)];
  for (auto [rank, given] : llvm::enumerate(values)) {
    Tensor value = given;
    SmallVector<Tensor> &slots = copy.values[rank];
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
      if (perMicroBatch && copy.writer >= 0 &&
          copy.writer != action.microBatch && !agree(slots[0], value))
        return fragment.emitError("gives buffer '")
               << buffer.op.getSymName() << "' another value in micro-batch "
               << action.microBatch << " than in micro-batch " << copy.writer
               << ", but its sharding says that they are the same";
      slots[0] = value;
    }
    if (value.getType() != wanted)
      return fragment.emitError("writes ")
             << value.getType() << " to buffer '" << buffer.op.getSymName()
             << "' of type " << wanted;
  }
  if (perMicroBatch)
    copy.writer = action.microBatch;
  else
    copy.isJoined = true;
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

/// False where a receive has to wait.
FailureOr<bool> FragmentProgram::runItem(int64_t role, const Item &item) {
  if (item.what == Item::Act) {
    if (failed(runAction(item.action)))
      return failure();
    return true;
  }
  int64_t slot = item.action.microBatch;
  Buffer::Copy &copy = item.buffer->copies[role];
  if (item.what == Item::Send) {
    Message message{slot, {}, copy.isJoined};
    for (SmallVector<Tensor> &list : copy.values) {
      if (!list[slot])
        return item.op->emitError("sends buffer '")
               << item.buffer->op.getSymName()
               << "' before anything has written it";
      message.values.push_back(list[slot]);
    }
    messages[{item.buffer, role, item.peer}].push_back(message);
    return true;
  }
  std::deque<Message> &arrived = messages[{item.buffer, item.peer, role}];
  if (arrived.empty())
    return false;
  if (arrived.front().microBatch != slot)
    return item.op->emitError("receives micro-batch ")
           << slot << " of buffer '" << item.buffer->op.getSymName()
           << "', but micro-batch " << arrived.front().microBatch
           << " is what arrives";
  for (auto [list, value] : llvm::zip(copy.values, arrived.front().values))
    list[slot] = value;
  copy.isJoined = arrived.front().isJoined;
  arrived.pop_front();
  return true;
}

/// Each role as far as it comes, until all are done.
LogicalResult FragmentProgram::runRoles() {
  messages.clear();
  std::map<int64_t, size_t> next;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &[role, items] : roles)
      for (size_t &position = next[role]; position < items.size(); ++position) {
        FailureOr<bool> ran = runItem(role, items[position]);
        if (failed(ran))
          return failure();
        if (!*ran)
          break;
        moved = true;
      }
  }
  for (auto &[role, items] : roles)
    if (next[role] < items.size())
      return items[next[role]].op->emitError("waits forever: role ")
             << items[next[role]].peer << " does not come to send buffer '"
             << items[next[role]].buffer->op.getSymName() << "'";
  return success();
}

void FragmentProgram::resetCopies(Buffer &buffer) {
  Buffer::Copy empty;
  int64_t slots = buffer.isSlotted ? grid.getNumMicroBatches() : 1;
  empty.values.assign(grid.getNumRanks(), SmallVector<Tensor>(slots));
  buffer.copies.clear();
  for (int64_t place : buffer.users)
    buffer.copies[place] = empty;
  // What nothing uses keeps its value.
  if (buffer.users.empty())
    buffer.copies[0] = empty;
  for (auto &[role, items] : roles)
    for (const Item &item : items)
      if (item.buffer == &buffer)
        buffer.copies.try_emplace(role, empty);
  if (!buffer.isAccumulator ||
      buffer.op.getSharding().getPartialKind() != pm::ReductionKind::Sum)
    return;
  for (int64_t place : buffer.writers)
    for (SmallVector<Tensor> &list : buffer.copies[place].values)
      list[0] = Tensor(buffer.local);
}

/// The global value of an output, which must be the same on every stage that
/// makes or keeps it.
FailureOr<Tensor> FragmentProgram::assemble(Buffer &buffer) {
  Tensor whole;
  int64_t first = 0;
  for (auto &[place, copy] : buffer.copies) {
    if (!buffer.isGiven() && !buffer.writers.count(place))
      continue;
    for (const SmallVector<Tensor> &list : copy.values)
      for (const Tensor &tensor : list)
        if (!tensor)
          return buffer.op.emitError("is an output, but no fragment has "
                                     "written it at the end of the step");
    auto value = buffer.layout.assemble(
        copy.values, buffer.global, copy.isJoined, [op = buffer.op]() mutable {
          return op.emitError("buffer '") << op.getSymName() << "' ";
        });
    if (failed(value))
      return failure();
    if (whole && !agree(whole, *value))
      return buffer.op.emitError("buffer '")
             << buffer.op.getSymName() << "' is another on stage " << place
             << " than on stage " << first;
    if (!whole) {
      whole = *value;
      first = place;
    }
  }
  if (!whole)
    return buffer.op.emitError("is an output, but no fragment has written it "
                               "at the end of the step");
  return whole;
}

FailureOr<NamedTensors> FragmentProgram::run(const NamedTensors &values) {
  for (auto &[symbol, buffer] : buffers) {
    resetCopies(*buffer);
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
    for (auto &[place, copy] : buffer->copies)
      for (auto [rank, list] : llvm::enumerate(copy.values))
        for (auto [slot, tensor] : llvm::enumerate(list))
          tensor = buffer->layout.take(it->second, buffer->local, rank, slot,
                                       buffer->kind == pm::BufferKind::State);
  }

  for (const Action &action : actions)
    if (failed(runAction(action)))
      return failure();
  if (failed(runRoles()))
    return failure();

  NamedTensors named;
  for (auto &[symbol, buffer] : buffers) {
    if (!buffer->isOutput())
      continue;
    FailureOr<Tensor> whole = assemble(*buffer);
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
