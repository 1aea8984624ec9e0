//===- Rank.cpp - One rank: its memory and its instruction loop -----------===//

#include "host/Rank.h"

#include "host/Collective.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pipemesh::runtime {

/// All bits set: NaN in every float type, -1 in signed integers.
static constexpr int poisonByte = 0xff;

/// Events of a rank; at 40 bytes each they stay below 20 MB.
static constexpr size_t mostEvents = 500000;

Rank::Rank(const Program &program, const Mesh &mesh, int64_t rank,
           Transport &transport, std::vector<Group *> groups, bool votes,
           const HostOptions &options, const std::atomic<bool> &aborted,
           int spin)
    : program(program), mesh(mesh), rank(rank), transport(transport),
      groups(std::move(groups)), votes(votes), options(options),
      aborted(aborted), pool(options.threads, spin, &running),
      recorder(options.flightFolder.empty()
                   ? ""
                   : flightPath(options.flightFolder, rank),
               rank, mesh.describe(rank), options.bundleHash),
      record(recorder.activity()),
      coordinates(mesh.coordinates(rank)) {
  for (Group *group : this->groups) {
    const std::vector<int64_t> &members = group->members();
    memberIndex.push_back(std::find(members.begin(), members.end(), rank) -
                          members.begin());
  }
  collectives.resize(this->groups.size());
  operands.resize(program.mostOperands);
  context.sgemm = &sgemm;
  context.coordinates = coordinates.data();
  patience.limit = options.deadline;
  patience.late = [this](const std::vector<int64_t> &absent) {
    if (onLate)
      onLate(*this, absent);
  };
  for (uint32_t b = 0; b < program.role.num_bodies; ++b)
    counts.instructions.emplace_back(program.role.bodies[b].num_instructions);
  counts.actions.resize(program.role.num_actions);
  if (!program.starts.empty() && !program.role.device)
    courier = std::make_unique<Courier>(
        static_cast<uint32_t>(program.starts.size()), cat("courier ", rank));
}

void Rank::settle() {
  if (courier)
    courier->settle();
}

void Rank::allocate() {
  running.rank = rank;
  setRunning(&running);
  useOneGemmThread();
  arena = Arena(program.role.arena_bytes);
  std::memset(arena.data(), 0, arena.size());
  if (program.kernelScratchBytes)
    for (int thread = 0; thread < pool.threads(); ++thread)
      kernelScratch.emplace_back(program.kernelScratchBytes);
  if (options.poisonFreed)
    slices =
        std::make_unique<Slices>(*program.lastReads, program, arena.data());
}

std::byte *Rank::slot(int64_t index, int64_t microBatch) const {
  const pmrt_buffer &buffer = program.role.buffers[index];
  return arena.data() + buffer.offset +
         (static_cast<uint64_t>(microBatch) % buffer.slots) *
             buffer.slot_stride;
}

bool holdsFirstCopy(const Mesh &mesh, int64_t rank, const BufferInfo &buffer) {
  std::vector<int64_t> own = mesh.coordinates(rank);
  for (size_t axis = 0; axis < own.size(); ++axis) {
    bool cut = mesh.getAxes()[axis].kind == AxisKind::Stage;
    for (const auto &names : buffer.sharding)
      cut |= std::find(names.begin(), names.end(), mesh.getAxes()[axis].name) !=
             names.end();
    if (!cut && own[axis] != 0)
      return false;
  }
  return true;
}

void Rank::copyIn(int64_t index, int64_t microBatch, const void *whole) {
  const BufferInfo &buffer = program.info.buffers[index];
  uint64_t size = elementSize(buffer.dtype);
  Block block = blockOf(mesh, buffer.globalShape, buffer.localShape,
                        buffer.sharding, mesh.coordinates(rank, microBatch));
  edit(index, microBatch, [&](std::byte *local) {
    forEachRun(buffer.globalShape, buffer.localShape, block,
               [&](int64_t from, int64_t to, int64_t count) {
                 std::memcpy(local + to * size,
                             static_cast<const std::byte *>(whole) + from * size,
                             count * size);
               });
  });
}

void Rank::feed(int64_t index, int64_t microBatch, const void *whole) {
  if (options.poison)
    edit(index, microBatch, [&](std::byte *local) {
      std::memset(local, poisonByte, program.role.buffers[index].bytes);
    });
  copyIn(index, microBatch, whole);
}

void copyOutOf(const Mesh &mesh, const BufferInfo &buffer, int64_t rank,
               int64_t microBatch, const std::byte *local, std::byte *whole) {
  uint64_t size = elementSize(buffer.dtype);
  Block block = blockOf(mesh, buffer.globalShape, buffer.localShape,
                        buffer.sharding, mesh.coordinates(rank, microBatch));
  forEachRun(buffer.globalShape, buffer.localShape, block,
             [&](int64_t to, int64_t from, int64_t count) {
               std::memcpy(whole + to * size, local + from * size,
                           count * size);
             });
}

float Rank::readScalar(const std::string &buffer) const {
  float value;
  std::memcpy(&value, view(program.info.find(buffer), 0), sizeof(value));
  return value;
}

void Rank::beginStep() {
  uint64_t start = nanoseconds();
  for (uint32_t index : program.accumulators) {
    const pmrt_buffer &buffer = program.role.buffers[index];
    for (uint32_t s = 0; s < buffer.slots; ++s)
      std::memset(slot(index, s), 0, buffer.bytes);
  }
  if (slices && !searching)
    slices->beginStep();
  time.other += nanoseconds() - start;
}

void Rank::runStep(int64_t step) {
  record.step.store(step, std::memory_order_relaxed);
  record.set(Record::none, Record::none, Record::Running, nanoseconds());
  beginStep();
  for (uint64_t action = 0; action <= program.role.num_actions; ++action) {
    if (votes && action == program.voteAt)
      vote();
    if (action == program.role.num_actions)
      break;
    if (options.fault && !options.fault->operation &&
        action == program.role.num_actions / 2 &&
        options.fault->rank == rank && options.fault->step == step)
      options.fault->happen(isAlone());
    runAction(action);
    if (afterAction)
      afterAction(*this, action);
  }
  if (slices)
    slices->endStep();
  ++counts.steps;
  record.set(Record::none, Record::none, Record::Idle, nanoseconds());
}

std::optional<NonFiniteValue> Rank::findNonFinite() {
  searching = true;
  found.reset();
  beginStep();
  for (uint64_t action = 0; action < program.voteAt; ++action)
    runAction(action);
  searching = false;
  record.set(Record::none, Record::none, Record::Idle, nanoseconds());
  return found;
}

std::optional<Objection> Rank::objection() const {
  for (uint32_t index : program.checkedBeforeUpdate) {
    const auto *values = reinterpret_cast<const float *>(slot(index, 0));
    for (uint64_t i = 0; i < program.role.buffers[index].bytes / 4; ++i)
      if (!std::isfinite(values[i]))
        return Objection{rank, values[i],
                         program.info.buffers[index].role == "gradient",
                         program.info.buffers[index].name};
  }
  return std::nullopt;
}

void Rank::vote() {
  uint64_t begin = nanoseconds(), waited = 0;
  record.set(Record::vote, Record::none, Record::Waiting, begin);
  std::optional<Objection> common =
      transport.vote(rank, objection(), patience, waited);
  time.waiting += waited;
  time.other += nanoseconds() - begin - waited;
  // What was started meets the others all the same: they have started it too.
  if (common && courier)
    courier->settle();
  if (common)
    throw NonFiniteLoss(common->value, common->buffer);
}

void Rank::stopWhenAsked() const {
  if (courier && courier->hasFailed())
    courier->wait(0);
  if (aborted.load(std::memory_order_relaxed))
    throw Aborted();
  if (options.interrupts &&
      options.interrupts->load(std::memory_order_relaxed) >= 2)
    fail("interrupted");
}

bool Rank::comesToCommunication() {
  ++communications;
  if (!options.fault || !options.fault->isAt(rank, communications))
    return true;
  switch (options.fault->kind) {
  case Fault::Skip:
    return false;
  case Fault::WrongSize:
    return true;
  default:
    options.fault->happen(isAlone());
    return true;
  }
}

std::string Rank::placeOf(const pmrt_instruction &instruction) const {
  const pmrt_communicator &communicator =
      program.role.communicators[communicatorOf(instruction)];
  std::string text = laneText(mesh, communicator);
  if (instruction.location && *instruction.location)
    text += cat(" at ", instruction.location);
  return text;
}

/// Cut to the field's size.
static void setPlace(FlightEntry &entry, const std::string &text) {
  text.copy(entry.place, sizeof(entry.place) - 1);
}

uint64_t Rank::runCollective(uint32_t action,
                             const pmrt_instruction &instruction,
                             void *const *pointers) {
  // Nothing waits for what is started in a step that is only looked through.
  if (instruction.event && searching)
    return 0;
  uint32_t communicator = communicatorOf(instruction);
  uint64_t number = ++collectives[communicator];
  if (!comesToCommunication())
    return 0;
  const pmrt_instruction *brought = &instruction;
  if (isFaulty(Fault::WrongSize)) {
    shorter = std::make_unique<ShorterCollective>(instruction);
    brought = &shorter->instruction;
  }
  FlightEntry entry;
  entry.number = communications;
  entry.begin = nanoseconds();
  entry.step = record.step.load(std::memory_order_relaxed);
  entry.run = number;
  entry.kind = instruction.opcode;
  entry.dtype = dtypeOf(instruction);
  entry.elements = operandBytes(*brought) / dtypeSize(entry.dtype);
  entry.microBatch = program.role.actions[action].micro_batch;
  setPlace(entry, placeOf(instruction));
  FlightEntry &recorded = recorder.begin(entry);
  if (instruction.event) {
    start(action, instruction, *brought, pointers, number, recorded);
    return 0;
  }
  uint64_t waited = groups[communicator]->run(
      memberIndex[communicator], number, *brought, pointers, pool, patience);
  recorded.end = nanoseconds();
  return waited;
}

void Rank::start(uint32_t action, const pmrt_instruction &instruction,
                 const pmrt_instruction &brought, void *const *pointers,
                 uint64_t number, FlightEntry &recorded) {
  const pmrt_body &body = program.role.bodies[program.role.actions[action].index];
  auto index = static_cast<uint32_t>(&instruction - body.instructions);
  bool traced = options.trace && !traceFull;
  courier->start(instruction.event, [this, action, index, &instruction, &brought,
                                     number, &recorded, traced,
                                     step = stepNumber(),
                                     operation = recorded.number,
                                     places = std::vector<void *>(
                                         pointers,
                                         pointers + brought.num_operands)] {
    uint64_t begin = nanoseconds();
    Patience own = patience;
    own.late = [&](const std::vector<int64_t> &absent) {
      // The job ends with what this rank waits for, whatever else it does.
      record.set(action, index, Record::Waiting, begin);
      patience.late(absent);
    };
    uint32_t communicator = communicatorOf(instruction);
    uint64_t waited = groups[communicator]->run(memberIndex[communicator], number,
                                                brought, places.data(),
                                                courierPool, own);
    uint64_t end = nanoseconds();
    if (recorded.number == operation)
      recorded.end = end;
    if (traced)
      started.push_back({begin, end, waited, action, step, &instruction});
  });
}

void Rank::runTransfer(uint64_t index) {
  const pmrt_action &action = program.role.actions[index];
  stopWhenAsked();
  uint64_t begin = nanoseconds(), waited = 0;
  bool send = action.kind == PMRT_SEND;
  record.set(static_cast<uint32_t>(index), Record::none,
             send ? Record::Running : Record::Waiting, begin);
  if (!comesToCommunication()) {
    ++counts.actions[index];
    return;
  }
  int64_t peer = mesh.peer(rank, action.peer);
  std::byte *place = slot(action.index, action.micro_batch);
  const pmrt_buffer &buffer = program.role.buffers[action.index];
  uint64_t size = dtypeSize(buffer.dtype);
  Parcel parcel{buffer.bytes, record.step.load(std::memory_order_relaxed),
                action.micro_batch, buffer.dtype};
  if (isFaulty(Fault::WrongSize))
    parcel.bytes -= size;
  FlightEntry entry;
  entry.number = communications;
  entry.begin = begin;
  entry.step = parcel.step;
  entry.elements = buffer.bytes / size;
  entry.kind = send ? FlightEntry::Send : FlightEntry::Receive;
  entry.dtype = buffer.dtype;
  entry.peer = static_cast<int32_t>(peer);
  entry.microBatch = action.micro_batch;
  setPlace(entry, program.info.buffers[action.index].name);
  FlightEntry &recorded = recorder.begin(entry);
  Slices *followed = searching ? nullptr : slices.get();
  if (followed)
    followed->beginTransfer(index);
  if (send)
    transport.send({rank, peer, action.channel}, parcel, place);
  else
    waited =
        transport.receive({peer, rank, action.channel}, parcel, place, patience);
  if (followed)
    followed->endTransfer(index);
  uint64_t end = nanoseconds();
  recorded.end = end;
  time.waiting += waited;
  time.transfers += end - begin - waited;
  ++counts.actions[index];
  if (options.trace && !traceFull)
    events.push_back({begin, end, waited, static_cast<uint32_t>(index),
                      stepNumber(), nullptr});
}

void Rank::sleepThrough(uint64_t index, const pmrt_body &body) {
  stopWhenAsked();
  uint64_t begin = nanoseconds();
  auto action = static_cast<uint32_t>(index);
  record.set(action, Record::none, Record::Running, begin);
  Pace::sleepUntil(begin + options.pace->of(body.kind, body.stage));
  uint64_t end = nanoseconds();
  time.other += end - begin;
  if (options.trace && !traceFull)
    events.push_back({begin, end, 0, action, stepNumber(), nullptr});
}

void Rank::runAction(uint64_t index) {
  const pmrt_action &action = program.role.actions[index];
  if (action.kind != PMRT_RUN)
    return runTransfer(index);
  const pmrt_body &body = program.role.bodies[action.index];
  if (options.pace)
    return sleepThrough(index, body);
  uint32_t microBatch = runsOnce(body) ? 0 : action.micro_batch;
  std::vector<int64_t> position = mesh.coordinates(rank, microBatch);
  std::copy(position.begin(), position.end(), coordinates.begin());

  if (options.poison) {
    std::memset(arena.data() + program.role.scratch_offset, poisonByte,
                program.role.scratch_bytes);
    for (uint32_t buffer : program.firstTouched[index])
      std::memset(slot(buffer, microBatch), poisonByte,
                  program.role.buffers[buffer].bytes);
  }

  uint64_t begin = nanoseconds(), now = begin;
  auto actionNumber = static_cast<uint32_t>(index);
  size_t actionEvent = events.size();
  bool tracing = options.trace && !traceFull &&
                 events.size() + body.num_instructions < mostEvents;
  if (tracing)
    events.push_back({begin, begin, 0, actionNumber, stepNumber(), nullptr});
  else if (options.trace)
    traceFull = true;

  Slices *followed = searching ? nullptr : slices.get();
  if (followed)
    followed->beginAction(index);
  running.body = &body;
  std::byte *scratch = arena.data() + program.role.scratch_offset;
  for (uint64_t i = 0, next = 0; i < body.num_instructions; i = next) {
    const pmrt_instruction &instruction = body.instructions[i];
    next = i + 1;
    stopWhenAsked();
    for (uint32_t o = 0; o < instruction.num_operands; ++o) {
      const pmrt_operand &operand = instruction.operands[o];
      operands[o] =
          (operand.buffer == PMRT_SCRATCH ? scratch
                                          : slot(operand.buffer, microBatch)) +
          operand.offset;
    }
    running.instruction = &instruction;
    transport.progress();
    record.set(actionNumber, static_cast<uint32_t>(i),
               (isCollective(instruction) && !instruction.event) ||
                       instruction.opcode == PMRT_OP_WAIT
                   ? Record::Waiting
                   : Record::Running,
               now);
    uint64_t waited = 0;
    if (followed)
      followed->beginInstruction(i, scratchOf(instruction));
    if (instruction.opcode == PMRT_OP_JUMP ||
        instruction.opcode == PMRT_OP_SWITCH)
      next = targetOf(instruction, operands.empty() ? nullptr : operands[0]);
    else
      waited = execute(actionNumber, action.index, i, operands.data());
    uint64_t end = nanoseconds();
    uint64_t spent = end - now - waited;
    time.waiting += waited;
    switch (instruction.opcode) {
    case PMRT_OP_GEMM:
      time.gemm += spent;
      time.gemmFlops += program.plan(action.index, i).flops();
      break;
    case PMRT_OP_KERNEL:
      time.kernels += spent;
      break;
    case PMRT_OP_ALL_REDUCE:
    case PMRT_OP_ALL_GATHER:
    case PMRT_OP_REDUCE_SCATTER:
    case PMRT_OP_ALL_TO_ALL:
    case PMRT_OP_PERMUTE:
      time.collectives += spent;
      break;
    default:
      time.other += spent;
    }
    ++counts.instructions[action.index][i];
    // Loops may have more events than the body has instructions.
    if (tracing && events.size() < mostEvents)
      events.push_back(
          {now, end, waited, actionNumber, stepNumber(), &instruction});
    else if (tracing)
      traceFull = true;
    if (searching && !found)
      findInResults(index, i, body, operands.data());
    if (followed)
      followed->endInstruction(i, next);
    now = end;
  }
  running.instruction = nullptr;
  if (tracing)
    events[actionEvent].end = now;
}

uint64_t Rank::execute(uint32_t action, uint32_t body, uint64_t index,
                       void *const *pointers) {
  const pmrt_instruction &instruction =
      program.role.bodies[body].instructions[index];
  switch (instruction.opcode) {
  case PMRT_OP_GEMM:
    program.plan(body, index)
        .run(static_cast<const float *>(pointers[0]),
             static_cast<const float *>(pointers[1]),
             static_cast<float *>(pointers[2]), pool);
    break;
  case PMRT_OP_KERNEL:
    runKernel(kernelOf(instruction), pointers);
    break;
  case PMRT_OP_ALL_REDUCE:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
  case PMRT_OP_ALL_TO_ALL:
  case PMRT_OP_PERMUTE:
    return runCollective(action, instruction, pointers);
  case PMRT_OP_WAIT:
    return courier ? courier->wait(instruction.event) : 0;
  case PMRT_OP_COPY:
  case PMRT_OP_ZERO: {
    bool copy = instruction.opcode == PMRT_OP_COPY;
    auto *to = static_cast<std::byte *>(pointers[copy ? 1 : 0]);
    int64_t bytes = instruction.operands[0].bytes;
    constexpr int64_t part = 1 << 20;
    pool.run((bytes + part - 1) / part, [&](int64_t i, int) {
      int64_t size = std::min(part, bytes - i * part);
      if (copy)
        std::memcpy(to + i * part,
                    static_cast<const std::byte *>(pointers[0]) + i * part,
                    size);
      else
        std::memset(to + i * part, 0, size);
    });
    break;
  }
  }
  if (gemmFailed())
    fail(describe(instruction), ": oneDNN refuses the matrix product; the "
                                "bundle is damaged, compile it again");
  return 0;
}

int64_t Rank::partsOf(const pmrt_kernel &kernel) const {
  return std::clamp<int64_t>(
      kernel.extent / std::max<int64_t>(kernel.grain, 1), 1, pool.threads());
}

uint64_t Rank::scratchOf(const pmrt_instruction &instruction) const {
  if (instruction.opcode != PMRT_OP_KERNEL)
    return 0;
  const pmrt_kernel &kernel = kernelOf(instruction);
  return static_cast<uint64_t>(partsOf(kernel)) * kernel.scratch_bytes;
}

void Rank::runKernel(const pmrt_kernel &kernel, void *const *pointers) {
  if (kernel.extent <= 0)
    return;
  int64_t parts = partsOf(kernel);
  pool.run(parts, [&](int64_t part, int thread) {
    int64_t begin = kernel.extent * part / parts;
    int64_t end = kernel.extent * (part + 1) / parts;
    void *scratch = nullptr;
    if (kernel.scratch_bytes) {
      scratch = kernelScratch[thread].data();
      if (options.poison)
        std::memset(scratch, poisonByte, kernel.scratch_bytes);
    }
    kernel.function(pointers, begin, end, scratch, &context);
  });
}

/// Index of the first of `count` values that is not finite, or -1. Where the
/// type is not known, only the NaN that arithmetic makes counts: small integers
/// and bytes do not look like it.
static int64_t firstNonFinite(const void *data, int64_t count, bool isFloat) {
  const auto *values = static_cast<const float *>(data);
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i]))
      continue;
    uint32_t bits;
    std::memcpy(&bits, &values[i], sizeof(bits));
    if (isFloat || (bits & 0x7fffffffu) == 0x7fc00000u)
      return i;
  }
  return -1;
}

void Rank::findInResults(uint64_t action, uint64_t index, const pmrt_body &body,
                         void *const *pointers) {
  const pmrt_instruction &instruction = body.instructions[index];
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    if (!(operand.access & PMRT_WRITE))
      continue;
    // The scratch region has no types; what a product writes is float32.
    bool isFloat = instruction.opcode == PMRT_OP_GEMM;
    if (operand.buffer != PMRT_SCRATCH) {
      isFloat = program.info.buffers[operand.buffer].dtype == "f32";
      if (!isFloat)
        continue;
    }
    int64_t place = firstNonFinite(pointers[o], operand.bytes / 4, isFloat);
    if (place < 0)
      continue;
    bool forward = body.kind <= PMRT_FORWARD;
    auto stage = static_cast<int64_t>(body.stage);
    found = NonFiniteValue{
        {!forward, forward ? stage : -stage, static_cast<int64_t>(action),
         static_cast<int64_t>(index)},
        static_cast<const float *>(pointers[o])[place],
        cat(describe(instruction), " (fragment '", body.name, "', micro-batch ",
            program.role.actions[action].micro_batch, ", ", mesh.describe(rank),
            ")")};
    return;
  }
}

} // namespace pipemesh::runtime
