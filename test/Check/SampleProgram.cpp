//===- SampleProgram.cpp - Programs made in memory, for the checker -------===//

#include "SampleProgram.h"

#include <algorithm>
#include <map>
#include <set>

namespace pipemesh::proof::test {

using runtime::Axis;
using runtime::AxisKind;
using runtime::BufferInfo;
using runtime::BufferInit;
using runtime::BufferKind;
using runtime::RoleInfo;
using schedule::ActionKind;

namespace {
constexpr uint64_t elements = 32, bytes = 4 * elements;
/// More than the vote before the update looks at.
constexpr uint64_t gradientBytes = 512;
enum MeshAxis : uint32_t { dpAxis, ppAxis, tpAxis, mbAxis };
enum Communicator : uint32_t { overDp, overTp, overPp, overAll, overDpStarted };

void noKernel(void *const *, int64_t, int64_t, void *,
              const pmrt_kernel_context *) {}
} // namespace

/// Puts the instructions of a body together.
class BodyMaker {
public:
  BodyMaker(SampleProgram &program, const pmrt_kernel *kernel,
            const std::string &module, uint64_t &scratchBytes)
      : program(program), kernel(kernel), module(module),
        scratchBytes(scratchBytes) {}

  pmrt_operand scratch(uint64_t size) {
    pmrt_operand place = {PMRT_SCRATCH, 0, top, size};
    top += (size + 63) / 64 * 64;
    scratchBytes = std::max(scratchBytes, top);
    return place;
  }
  static pmrt_operand whole(uint32_t buffer, uint64_t size = bytes) {
    return {static_cast<int32_t>(buffer), 0, 0, size};
  }
  static pmrt_operand with(pmrt_operand place, uint32_t access) {
    place.access = access;
    return place;
  }

  void add(uint32_t opcode, std::vector<pmrt_operand> operands,
           const void *descriptor) {
    auto count = static_cast<uint32_t>(operands.size());
    list.push_back({opcode, 0, count, 0, program.keep(std::move(operands)),
                    descriptor,
                    program.keep(module + "." + std::to_string(list.size()))});
  }
  void call(const std::vector<pmrt_operand> &reads,
            const std::vector<pmrt_operand> &writes) {
    std::vector<pmrt_operand> operands;
    for (const pmrt_operand &place : reads)
      operands.push_back(with(place, PMRT_READ));
    for (const pmrt_operand &place : writes)
      operands.push_back(with(place, PMRT_WRITE));
    add(PMRT_OP_KERNEL, operands, kernel);
  }
  void copy(pmrt_operand from, pmrt_operand to) {
    add(PMRT_OP_COPY, {with(from, PMRT_READ), with(to, PMRT_WRITE)}, nullptr);
  }
  void zero(pmrt_operand to) {
    add(PMRT_OP_ZERO, {with(to, PMRT_WRITE)}, nullptr);
  }
  /// Adds to `sum` the product of two matrices of 4 x 8.
  void gemm(pmrt_operand a, pmrt_operand b, pmrt_operand c, bool accumulate) {
    pmrt_gemm product = {4, 4, 8, 8, 8, 8, {1, 1, 1, 1}, {}, {}, {}, 1.0f,
                         0, 1, accumulate, PMRT_F32, 0, 0};
    add(PMRT_OP_GEMM,
        {with(a, PMRT_READ), with(b, PMRT_READ),
         with(c, accumulate ? PMRT_READ | PMRT_WRITE : PMRT_WRITE)},
        program.keep(std::vector<pmrt_gemm>{product}));
  }
  void allReduce(uint32_t communicator, std::vector<pmrt_operand> places) {
    std::vector<uint64_t> counts;
    for (pmrt_operand &place : places) {
      place.access = PMRT_READ | PMRT_WRITE;
      counts.push_back(place.bytes / 4);
    }
    pmrt_collective collective = {communicator, PMRT_F32, PMRT_SUM, sequence++,
                                  program.keep(counts), 1};
    add(PMRT_OP_ALL_REDUCE, places,
        program.keep(std::vector<pmrt_collective>{collective}));
  }
  void start(uint32_t communicator, const std::vector<pmrt_operand> &places,
             uint32_t event) {
    allReduce(communicator, places);
    list.back().stream = 2;
    list.back().event = event;
  }
  void wait(uint32_t event) {
    add(PMRT_OP_WAIT, {}, nullptr);
    list.back().event = event;
  }
  void gather(uint32_t communicator, uint32_t members, pmrt_operand block,
              pmrt_operand row) {
    pmrt_collective collective = {
        communicator, PMRT_F32, PMRT_SUM, sequence++,
        program.keep(std::vector<uint64_t>{block.bytes / 4, row.bytes / 4}), 1};
    (void)members;
    add(PMRT_OP_ALL_GATHER, {with(block, PMRT_READ), with(row, PMRT_WRITE)},
        program.keep(std::vector<pmrt_collective>{collective}));
  }
  void scatter(uint32_t communicator, pmrt_operand row, pmrt_operand block) {
    pmrt_collective collective = {
        communicator, PMRT_F32, PMRT_MAX, sequence++,
        program.keep(std::vector<uint64_t>{block.bytes / 4, row.bytes / 4}), 1};
    add(PMRT_OP_REDUCE_SCATTER, {with(row, PMRT_READ), with(block, PMRT_WRITE)},
        program.keep(std::vector<pmrt_collective>{collective}));
  }
  void permute(uint32_t communicator, uint32_t members, pmrt_operand from,
               pmrt_operand to) {
    std::vector<int32_t> sources;
    for (uint32_t i = 0; i < members; ++i)
      sources.push_back(static_cast<int32_t>((i + 1) % members));
    pmrt_permute permute = {communicator, PMRT_F32, sequence++, members,
                            from.bytes / 4, program.keep(sources), 1};
    add(PMRT_OP_PERMUTE, {with(from, PMRT_READ), with(to, PMRT_WRITE)},
        program.keep(std::vector<pmrt_permute>{permute}));
  }
  void allToAll(uint32_t communicator, uint32_t members, pmrt_operand from,
                pmrt_operand to) {
    uint64_t count = from.bytes / 4;
    pmrt_all_to_all exchange = {
        communicator, PMRT_F32, sequence++, 1, 1, 1, count / (members * members),
        members, 1, members, 1};
    exchange.inner = count / members;
    add(PMRT_OP_ALL_TO_ALL, {with(from, PMRT_READ), with(to, PMRT_WRITE)},
        program.keep(std::vector<pmrt_all_to_all>{exchange}));
  }
  /// Goes to targets[i] for the value i of one element.
  size_t choose(pmrt_operand place, uint32_t dtype, size_t count) {
    pmrt_jump jump = {static_cast<uint32_t>(count), dtype,
                      program.keep(std::vector<uint64_t>(count))};
    add(PMRT_OP_SWITCH, {with(place, PMRT_READ)},
        program.keep(std::vector<pmrt_jump>{jump}));
    return list.size() - 1;
  }
  size_t jump(uint64_t target) {
    pmrt_jump jump = {1, PMRT_I1,
                      program.keep(std::vector<uint64_t>{target})};
    add(PMRT_OP_JUMP, {}, program.keep(std::vector<pmrt_jump>{jump}));
    return list.size() - 1;
  }
  void setTarget(size_t at, uint32_t number, uint64_t target) {
    const auto &jump = *static_cast<const pmrt_jump *>(list[at].descriptor);
    const_cast<uint64_t *>(jump.targets)[number] = target;
  }
  size_t next() const { return list.size(); }

  pmrt_body make(const std::string &name, uint32_t kind, uint32_t stage) {
    uint64_t count = list.size();
    return {program.keep(name), kind, stage, count, program.keep(list)};
  }

private:
  SampleProgram &program;
  const pmrt_kernel *kernel;
  std::string module;
  uint64_t &scratchBytes;
  uint64_t top = 0;
  uint32_t sequence = 0;
  std::vector<pmrt_instruction> list;
};

/// Puts a role together.
class RoleMaker {
public:
  RoleMaker(SampleProgram &program, const SampleOptions &options,
            uint32_t number)
      : program(program), options(options), made(options.schedule),
        number(number), random(options.seed * 977 + number),
        stages(made.getNumStages()) {}

  void makeBodies();
  void makeActions(const std::map<std::string, std::vector<uint32_t>> &sent);
  /// The micro-batches of each value, in the order in which it is sent.
  void findSent(std::map<std::string, std::vector<uint32_t>> &sent) const;
  void finish();

private:
  uint32_t rankOf(int64_t stage) const { return made.rankOfStage[stage]; }
  uint32_t draw(uint32_t count) {
    return std::uniform_int_distribution<uint32_t>(0, count - 1)(random);
  }
  uint32_t addBuffer(const std::string &name, BufferKind kind, uint64_t size,
                     bool perMicroBatch,
                     BufferInit init = BufferInit::None,
                     const char *dtype = "f32");
  uint32_t find(const std::string &name) const {
    for (uint32_t i = 0; i < info.buffers.size(); ++i)
      if (info.buffers[i].name == name)
        return i;
    return ~0u;
  }
  void work(BodyMaker &maker, std::vector<pmrt_operand> &values);
  void oneOf(BodyMaker &maker, std::vector<pmrt_operand> &values);
  void makeStage(int64_t stage);
  std::vector<std::string> inputsOf(ActionKind kind, int64_t stage) const;
  std::vector<std::string> resultsOf(ActionKind kind, int64_t stage) const;
  void setSlots();

  SampleProgram &program;
  const SampleOptions &options;
  const schedule::Schedule &made;
  uint32_t number;
  std::mt19937 random;
  int64_t stages;
  RoleInfo info;
  const pmrt_kernel *kernels = nullptr;
  uint64_t scratchBytes = 64;
  std::vector<pmrt_body> bodies;
  std::map<std::pair<ActionKind, int64_t>, uint32_t> bodyOf, lastBodyOf;
  std::vector<pmrt_action> actions;
  std::vector<std::set<uint32_t>> uses; // buffers per micro-batch, by body
};

uint32_t RoleMaker::addBuffer(const std::string &name, BufferKind kind,
                              uint64_t size, bool perMicroBatch,
                              BufferInit init, const char *dtype) {
  if (uint32_t known = find(name); known != ~0u)
    return known;
  BufferInfo buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.dtype = dtype;
  buffer.init = init;
  buffer.bytes = size;
  if (perMicroBatch)
    buffer.sharding = {{"dp", "mb"}};
  info.buffers.push_back(buffer);
  return static_cast<uint32_t>(info.buffers.size()) - 1;
}

/// One random operation on random values.
void RoleMaker::oneOf(BodyMaker &maker, std::vector<pmrt_operand> &values) {
  pmrt_operand from = values[draw(values.size())];
  auto fresh = [&](uint64_t size) { return maker.scratch(size); };
  // Values that are exchanged are all of one size.
  pmrt_operand to = fresh(bytes);
  uint32_t over = draw(2) ? overTp : overDp;
  uint32_t members = over == overTp ? options.tp : options.dp;
  switch (draw(7)) {
  case 0:
    maker.call({from, values[draw(values.size())]}, {to});
    break;
  case 1:
    maker.copy(from, to);
    maker.allReduce(over, {to});
    break;
  case 2: {
    pmrt_operand block = fresh(bytes / members);
    maker.call({from}, {block});
    maker.gather(over, members, block, to);
    break;
  }
  case 3: {
    pmrt_operand block = fresh(bytes / members);
    maker.scatter(over, from, block);
    maker.call({block}, {to});
    break;
  }
  case 4:
    maker.permute(over, members, from, to);
    break;
  case 5:
    maker.allToAll(over, members, from, to);
    break;
  default:
    maker.zero(to);
    maker.gemm(from, values[draw(values.size())], to, true);
    break;
  }
  values.push_back(to);
}

/// Random operations, some of them in loops and choices by a value that is the
/// same everywhere.
void RoleMaker::work(BodyMaker &maker, std::vector<pmrt_operand> &values) {
  for (uint32_t i = 0; i < options.operations; ++i) {
    uint32_t form = options.loops ? draw(4) : 0;
    if (form < 2) {
      oneOf(maker, values);
      continue;
    }
    std::vector<pmrt_operand> inside = values;
    if (form == 2) { // while (more) ...
      pmrt_operand count = maker.scratch(4), more = maker.scratch(1);
      maker.zero(count);
      size_t begin = maker.next();
      maker.call({count}, {more});
      size_t leave = maker.choose(more, PMRT_I1, 2);
      oneOf(maker, inside);
      maker.call({count}, {count});
      maker.jump(begin);
      maker.setTarget(leave, 0, maker.next());
      maker.setTarget(leave, 1, leave + 1);
      continue;
    }
    pmrt_operand index = maker.scratch(4), result = maker.scratch(bytes);
    maker.zero(index);
    maker.call({index}, {index});
    size_t choose = maker.choose(index, PMRT_I32, 2);
    maker.setTarget(choose, 0, maker.next());
    oneOf(maker, inside);
    maker.copy(inside.back(), result);
    size_t end = maker.jump(0);
    maker.setTarget(choose, 1, maker.next());
    maker.zero(result);
    maker.setTarget(end, 0, maker.next());
    values.push_back(result);
  }
}

std::vector<std::string> RoleMaker::inputsOf(ActionKind kind,
                                             int64_t stage) const {
  std::string s = std::to_string(stage), before = std::to_string(stage - 1);
  std::vector<std::string> names;
  switch (kind) {
  case ActionKind::Forward:
    if (stage)
      names.push_back("h" + before);
    break;
  case ActionKind::BackwardInput:
  case ActionKind::Backward:
    names.push_back("a" + s);
    if (stage + 1 < stages)
      names.push_back("d" + s);
    break;
  case ActionKind::BackwardWeight:
    names.push_back("k" + s);
    break;
  case ActionKind::Update:
    break;
  }
  return names;
}

std::vector<std::string> RoleMaker::resultsOf(ActionKind kind,
                                              int64_t stage) const {
  std::string s = std::to_string(stage), before = std::to_string(stage - 1);
  std::vector<std::string> names;
  if (kind == ActionKind::Forward) {
    names.push_back("a" + s);
    if (stage + 1 < stages)
      names.push_back("h" + s);
  }
  bool input = kind == ActionKind::BackwardInput;
  if ((input || kind == ActionKind::Backward) && stage)
    names.push_back("d" + before);
  if (input)
    names.push_back("k" + s);
  return names;
}

void RoleMaker::makeStage(int64_t stage) {
  std::string s = std::to_string(stage), name = "stage" + s;
  uint32_t weight =
      addBuffer("w" + s, BufferKind::State, bytes, false, BufferInit::Weights);
  uint32_t sum = addBuffer("g" + s, BufferKind::Accumulator, gradientBytes, false);
  struct Part {
    ActionKind action;
    uint32_t kind;
    const char *suffix;
  };
  std::vector<Part> parts = {{ActionKind::Forward, PMRT_FORWARD, "_forward"}};
  bool both = false, cut = false;
  for (const schedule::Item &item : made.lists[number])
    for (const schedule::Action *action :
         {&item.action, item.partner ? &*item.partner : nullptr})
      if (action && action->stage == stage) {
        both |= action->kind == ActionKind::Backward;
        cut |= action->kind == ActionKind::BackwardInput;
      }
  // A schedule may run some backwards whole and others in two.
  if (cut) {
    parts.push_back({ActionKind::BackwardInput, PMRT_INPUT_GRADIENT,
                     "_input_gradient"});
    parts.push_back({ActionKind::BackwardWeight, PMRT_WEIGHT_GRADIENT,
                     "_weight_gradient"});
  } else if (both) {
    parts.push_back({ActionKind::Backward, PMRT_BACKWARD, "_backward"});
  }
  for (const Part &part : parts) {
    BodyMaker maker(program, kernels, "model.layers." + s, scratchBytes);
    std::vector<pmrt_operand> values = {BodyMaker::whole(weight)};
    std::set<uint32_t> &used = uses.emplace_back();
    for (const std::string &input : inputsOf(part.action, stage)) {
      uint32_t buffer = addBuffer(input, BufferKind::Activation, bytes, true);
      used.insert(buffer);
      values.push_back(BodyMaker::whole(buffer));
    }
    if (part.action == ActionKind::Forward && stage == 0)
      values.push_back(BodyMaker::whole(addBuffer(
          "input_ids", BufferKind::Input, bytes, true, BufferInit::Input)));
    work(maker, values);
    for (const std::string &result : resultsOf(part.action, stage)) {
      uint32_t buffer = addBuffer(result, BufferKind::Activation, bytes, true);
      used.insert(buffer);
      maker.call({values.back(), values.front(), values[values.size() / 2]},
                 {BodyMaker::whole(buffer)});
    }
    if (part.kind == PMRT_WEIGHT_GRADIENT || part.kind == PMRT_BACKWARD)
      maker.gemm(values.back(), values[values.size() / 2],
                 BodyMaker::whole(sum, gradientBytes), true);
    bodyOf[{part.action, stage}] = static_cast<uint32_t>(bodies.size());
    bodies.push_back(maker.make(name + part.suffix, part.kind,
                                static_cast<uint32_t>(stage)));
    if (!options.starts || (part.kind != PMRT_WEIGHT_GRADIENT &&
                            part.kind != PMRT_BACKWARD))
      continue;
    maker.start(overDpStarted, {BodyMaker::whole(sum, gradientBytes)},
                static_cast<uint32_t>(stage) + 1);
    maker.call({values.front()}, {maker.scratch(bytes)});
    lastBodyOf[{part.action, stage}] = static_cast<uint32_t>(bodies.size());
    uses.push_back(std::set<uint32_t>(used));
    bodies.push_back(maker.make(name + part.suffix + "_last", part.kind,
                                static_cast<uint32_t>(stage)));
  }
}

void RoleMaker::makeBodies() {
  kernels = program.keep(std::vector<pmrt_kernel>{
      {program.keep("kernel"), noKernel, 4, 1, 256, 8, 64}});
  std::vector<int64_t> own = made.getStagesOf(number);
  auto first = static_cast<uint32_t>(own.front());
  for (int64_t stage : own)
    makeStage(stage);

  BodyMaker prologue(program, kernels, "start", scratchBytes);
  uint32_t count = addBuffer("count", BufferKind::Value, 4, false);
  prologue.call({}, {BodyMaker::whole(count, 4)});
  prologue.allReduce(overDp, {BodyMaker::whole(count, 4)});
  for (int64_t stage : own)
    prologue.zero(BodyMaker::whole(find("g" + std::to_string(stage)),
                                   gradientBytes));
  uses.emplace_back();
  bodies.push_back(prologue.make("stage" + std::to_string(first) + "_prologue",
                                 PMRT_PROLOGUE, first));

  BodyMaker reduce(program, kernels, "reduce", scratchBytes);
  std::vector<pmrt_operand> sums;
  for (int64_t stage : own)
    sums.push_back(
        BodyMaker::whole(find("g" + std::to_string(stage)), gradientBytes));
  for (int64_t stage : own)
    if (options.starts)
      reduce.wait(static_cast<uint32_t>(stage) + 1);
  if (!options.starts)
    reduce.allReduce(overDp, sums);
  uint32_t norm = addBuffer("grad_norm", BufferKind::Output, 4, false);
  reduce.call({sums.front()}, {BodyMaker::whole(norm, 4)});
  if (options.spanning) {
    reduce.allReduce(overPp, {BodyMaker::whole(norm, 4)});
    pmrt_operand all = reduce.scratch(8);
    reduce.call({BodyMaker::whole(norm, 4)}, {all});
    reduce.allReduce(overAll, {all});
    reduce.call({all}, {BodyMaker::whole(norm, 4)});
  }
  uses.emplace_back();
  bodies.push_back(reduce.make("stage" + std::to_string(first) + "_reduce",
                               PMRT_REDUCE, first));

  BodyMaker update(program, kernels, "update", scratchBytes);
  for (int64_t stage : own) {
    std::string s = std::to_string(stage);
    update.call({BodyMaker::whole(find("g" + s)), BodyMaker::whole(norm, 4),
                 BodyMaker::whole(count, 4), BodyMaker::whole(find("w" + s))},
                {BodyMaker::whole(find("w" + s))});
  }
  uses.emplace_back();
  bodies.push_back(update.make("stage" + std::to_string(first) + "_update",
                               PMRT_UPDATE, first));
}

/// The actions of a list, one after the other; the parts of a backward that this
/// program has cut run together.
template <typename Visit>
static void forEachAction(const schedule::ActionList &list,
                          const std::map<std::pair<ActionKind, int64_t>,
                                         uint32_t> &bodyOf,
                          Visit visit) {
  auto one = [&](const schedule::Action &action) {
    if (bodyOf.count({action.kind, action.stage})) {
      visit(action);
      return;
    }
    for (ActionKind kind : {ActionKind::BackwardInput, ActionKind::BackwardWeight})
      visit({kind, action.stage, action.microBatch});
  };
  for (const schedule::Item &item : list) {
    one(item.action);
    if (item.partner)
      one(*item.partner);
  }
}

void RoleMaker::findSent(
    std::map<std::string, std::vector<uint32_t>> &sent) const {
  forEachAction(made.lists[number], bodyOf, [&](schedule::Action action) {
    for (const std::string &name : resultsOf(action.kind, action.stage))
      if (name[0] == 'h' || name[0] == 'd')
        sent[name].push_back(static_cast<uint32_t>(action.microBatch));
  });
}

void RoleMaker::makeActions(
    const std::map<std::string, std::vector<uint32_t>> &sent) {
  auto once = [&](uint32_t kind) {
    for (uint32_t b = 0; b < bodies.size(); ++b)
      if (bodies[b].kind == kind)
        actions.push_back({PMRT_RUN, b, 0, 0, 0, 0});
  };
  once(PMRT_PROLOGUE);
  // "h3" goes from stage 3 to 4, "d3" from 4 to 3.
  auto channelOf = [&](const std::string &name) {
    auto stage = static_cast<uint32_t>(std::stoul(name.substr(1)));
    return 2 * stage + (name[0] == 'd');
  };
  std::map<std::string, size_t> received;
  forEachAction(made.lists[number], bodyOf, [&](schedule::Action action) {
    auto microBatch = static_cast<uint32_t>(action.microBatch);
    for (const std::string &name : inputsOf(action.kind, action.stage)) {
      if (name[0] != 'h' && name[0] != 'd')
        continue;
      uint32_t from =
          rankOf(name[0] == 'h' ? action.stage - 1 : action.stage + 1);
      if (from == number)
        continue;
      size_t &next = received[name];
      const std::vector<uint32_t> &order = sent.at(name);
      size_t wanted = std::find(order.begin(), order.end(), microBatch) -
                      order.begin();
      for (; next <= wanted; ++next)
        actions.push_back({PMRT_RECEIVE, find(name), order[next], from,
                           channelOf(name), 0});
    }
    actions.push_back({PMRT_RUN, bodyOf.at({action.kind, action.stage}),
                       microBatch, 0, 0, 0});
    for (const std::string &name : resultsOf(action.kind, action.stage)) {
      if (name[0] != 'h' && name[0] != 'd')
        continue;
      uint32_t to =
          rankOf(name[0] == 'h' ? action.stage + 1 : action.stage - 1);
      if (to != number)
        actions.push_back({PMRT_SEND, find(name), microBatch, to,
                           channelOf(name), 0});
    }
  });
  for (const auto &[key, last] : lastBodyOf) {
    uint32_t usual = bodyOf.at(key);
    auto action = std::find_if(actions.rbegin(), actions.rend(), [&](auto &each) {
      return each.kind == PMRT_RUN && each.index == usual;
    });
    action->index = last;
  }
  once(PMRT_REDUCE);
  once(PMRT_UPDATE);
}

/// The fewest slots in which no value comes to the place of another one that is
/// needed: micro-batch m lies in slot m mod slots.
void RoleMaker::setSlots() {
  auto microBatches = static_cast<uint32_t>(made.microBatches);
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> alive(
      info.buffers.size(),
      std::vector<std::pair<uint64_t, uint64_t>>(microBatches, {~0ull, 0}));
  for (uint64_t a = 0; a < actions.size(); ++a) {
    auto use = [&](uint32_t buffer) {
      auto &[first, last] = alive[buffer][actions[a].micro_batch];
      first = std::min(first, a);
      last = std::max(last, a);
    };
    if (actions[a].kind != PMRT_RUN)
      use(actions[a].index);
    else
      for (uint32_t buffer : uses[actions[a].index])
        use(buffer);
  }
  for (uint32_t i = 0; i < info.buffers.size(); ++i) {
    BufferInfo &buffer = info.buffers[i];
    if (buffer.sharding.empty() || buffer.kind == BufferKind::Input) {
      buffer.slots = buffer.sharding.empty() ? 1 : microBatches;
      continue;
    }
    auto works = [&](uint32_t slots) {
      for (uint32_t s = 0; s < slots; ++s) {
        std::vector<std::pair<uint64_t, uint64_t>> lives;
        for (uint32_t m = s; m < microBatches; m += slots)
          if (alive[i][m].first != ~0ull)
            lives.push_back(alive[i][m]);
        std::sort(lives.begin(), lives.end());
        for (size_t l = 1; l < lives.size(); ++l)
          if (lives[l].first <= lives[l - 1].second)
            return false;
      }
      return true;
    };
    buffer.slots = 1;
    while (buffer.slots < microBatches && !works(buffer.slots))
      ++buffer.slots;
  }
}

void RoleMaker::finish() {
  setSlots();
  std::vector<pmrt_buffer> buffers;
  uint64_t offset = 0;
  for (const BufferInfo &buffer : info.buffers) {
    uint64_t stride = (buffer.bytes + 63) / 64 * 64;
    buffers.push_back({program.keep(buffer.name), offset, buffer.bytes, stride,
                       static_cast<uint32_t>(buffer.slots), PMRT_F32});
    offset += stride * buffer.slots;
  }
  info.file = "role_" + std::to_string(number) + ".so";
  info.arenaBytes = offset + scratchBytes;
  info.scratchBytes = scratchBytes;
  std::vector<pmrt_axis> axes;
  for (const Axis &axis : program.manifest.mesh.getAxes())
    axes.push_back({program.keep(axis.name), static_cast<uint32_t>(axis.kind),
                    static_cast<uint32_t>(axis.size)});
  auto over = [&](std::vector<uint32_t> list) {
    auto count = static_cast<uint32_t>(list.size());
    return pmrt_communicator{"group", count, 0, program.keep(std::move(list))};
  };
  std::vector<pmrt_communicator> communicators = {
      over({dpAxis}), over({tpAxis}), over({ppAxis}),
      over({dpAxis, ppAxis, tpAxis}), over({dpAxis})};
  communicators.back().lane = 1;
  auto sizeOf = [](const auto &list) {
    return static_cast<uint32_t>(list.size());
  };
  pmrt_role role = {PMRT_ABI_VERSION, sizeOf(axes), nullptr,
                    info.arenaBytes, offset, scratchBytes,
                    sizeOf(buffers), 1, sizeOf(bodies), sizeOf(communicators),
                    actions.size(), nullptr, kernels, nullptr, nullptr, nullptr,
                    "sample", nullptr};
  role.axes = program.keep(std::move(axes));
  role.buffers = program.keep(std::move(buffers));
  role.bodies = program.keep(std::move(bodies));
  role.communicators = program.keep(std::move(communicators));
  role.actions = program.keep(std::move(actions));
  program.tables.push_back(role);
  program.manifest.roles.push_back(std::move(info));
}

SampleProgram::SampleProgram(const SampleOptions &options) {
  int64_t ranks = options.schedule.getNumRanks();
  manifest.hash = "sample";
  manifest.mesh = runtime::Mesh(
      {{"dp", AxisKind::Spatial, options.dp},
       {"pp", AxisKind::Stage, ranks},
       {"tp", AxisKind::Spatial, options.tp},
       {"mb", AxisKind::Temporal, options.schedule.microBatches}});
  std::vector<RoleMaker> makers;
  for (uint32_t r = 0; r < ranks; ++r)
    makers.emplace_back(*this, options, r).makeBodies();
  std::map<std::string, std::vector<uint32_t>> sent;
  for (RoleMaker &maker : makers)
    maker.findSent(sent);
  for (RoleMaker &maker : makers) {
    maker.makeActions(sent);
    maker.finish();
  }
}

Proof SampleProgram::prove(const ProveOptions &options) const {
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : tables)
    roles.push_back(&role);
  return proof::prove(manifest, roles, options);
}

std::string SampleProgram::refusal(const ProveOptions &options) const {
  try {
    prove(options);
  } catch (const Refused &refused) {
    return refused.what();
  }
  return "";
}

pmrt_buffer &SampleProgram::buffer(uint32_t role, const std::string &name) {
  int64_t index = manifest.roles[role].find(name);
  return const_cast<pmrt_buffer &>(tables[role].buffers[index]);
}

pmrt_body &SampleProgram::body(uint32_t role, const std::string &name) {
  for (uint32_t b = 0; b < tables[role].num_bodies; ++b)
    if (name == tables[role].bodies[b].name)
      return const_cast<pmrt_body &>(tables[role].bodies[b]);
  throw std::runtime_error("no body " + name);
}

pmrt_instruction &SampleProgram::instruction(uint32_t role,
                                             const std::string &name,
                                             uint32_t opcode, uint32_t number) {
  pmrt_body &of = body(role, name);
  for (uint64_t i = 0; i < of.num_instructions; ++i)
    if (of.instructions[i].opcode == opcode && number-- == 0)
      return const_cast<pmrt_instruction &>(of.instructions[i]);
  throw std::runtime_error("no such instruction in " + name);
}

} // namespace pipemesh::proof::test
