//===- Match.cpp - Are the calls those of the bundle? ---------------------===//

#include "trace/Matcher.h"

#include <algorithm>

namespace pipemesh::trace {

static uint32_t communicatorOf(const pmrt_instruction &instruction) {
  return static_cast<const uint32_t *>(instruction.descriptor)[0];
}

bool Matcher::isIn(const Range &range, uint32_t expected, bool reads,
                   bool writes) const {
  for (uint32_t i = 0; i < program.operandsOf(expected); ++i) {
    Access access = program.accessOf(expected, i);
    if (range.begin >= result.base + access.begin &&
        range.end <= result.base + access.end && (!reads || access.reads) &&
        (!writes || access.writes))
      return true;
  }
  return false;
}

/// Outside of what the program names.
bool Matcher::isWorkspace(const Range &range) const {
  if (range.end <= result.base ||
      range.begin >= result.base + program.role.arena_bytes)
    return true;
  return range.begin >= result.base &&
         !program.isOfProgram(range.begin - result.base,
                              range.end - result.base);
}

void Matcher::makeQueues() {
  for (uint32_t c = 0; c < program.role.num_communicators; ++c) {
    const pmrt_communicator &info = program.role.communicators[c];
    Lane lane;
    for (int64_t member :
         mesh.group(number, std::vector<uint32_t>(info.axes,
                                                  info.axes + info.num_axes)))
      lane.members.push_back(static_cast<uint32_t>(member));
    lanes.push_back(std::move(lane));
  }
  for (uint32_t e = 0; e < program.list.size(); ++e) {
    switch (program.list[e].kind) {
    case Expected::Collective:
    case Expected::Exchange: {
      uint32_t communicator = communicatorOf(program.instructionOf(e));
      lanes.at(communicator).queue.expected.push_back(e);
      break;
    }
    case Expected::Send:
    case Expected::Receive:
      channels[program.actionOf(e).channel].expected.push_back(e);
      break;
    default:
      computeQueue.expected.push_back(e);
      break;
    }
  }
}

void Matcher::beginStep(uint32_t op) {
  phase = 2 * ops[op].step - 1;
  computeStream = callOf(op).stream;
  computeQueue.next = 0;
  workDone = 0;
  lastCompute = 0;
  lastExchange = none;
  for (Lane &lane : lanes)
    lane.queue.next = lane.done = 0;
  for (auto &[number, queue] : channels)
    queue.next = 0;
  copyOf.clear();
}

bool Matcher::endStep(uint32_t op) {
  if (!waiting.empty() && !helpers(lastExchange, false))
    return false;
  auto missing = [&](uint32_t expected) {
    return refuse(op, " ends step ", ops[op].step, " without the ",
                  program.describe(expected));
  };
  if (computeQueue.hasNext())
    return missing(computeQueue.head());
  // A rank alone may leave its collectives out.
  for (const Lane &lane : lanes)
    if (lane.queue.hasNext() && (lane.members.size() > 1 || lane.queue.next))
      return missing(lane.queue.head());
  for (const auto &[channel, queue] : channels)
    if (queue.hasNext())
      return missing(queue.head());
  return true;
}

bool Matcher::launch(uint32_t op, uint32_t head) {
  const Call &call = callOf(op);
  const pmrt_kernel &kernel = program.kernelOf(head);
  const uint64_t *parameters = trace.numbers.data() + call.parameters.first;
  uint32_t operands = program.operandsOf(head);
  if (call.parameters.count != operands + 2)
    return refuse(op, " has ", call.parameters.count, " parameters, but the ",
                  program.describe(head), " has ", operands,
                  " operands, coordinates and scratch");
  if (program.role.device) {
    const pmrt_launch &shape =
        program.role.device->launches[&kernel - program.role.kernels];
    if (call.count != shape.blocks || call.key != int64_t(shape.threads))
      return refuse(op, " of '", kernel.name, "' is launched on ", call.count,
                    " blocks of ", call.key, " threads, but the bundle says ",
                    shape.blocks, " of ", shape.threads);
  }
  for (uint32_t i = 0; i < operands; ++i) {
    Access access = program.accessOf(head, i);
    if (access.begin == access.end)
      continue;
    setBase(parameters[i], access.begin);
    if (parameters[i] != result.base + access.begin)
      return refuse(op, " is handed ", parameters[i], " as operand ", i,
                    ", but that of the ", program.describe(head), " is at ",
                    result.base + access.begin, " (",
                    program.nameOf(access.begin), ")");
  }
  Range coordinates{parameters[operands],
                    parameters[operands] + 8 * program.role.num_axes};
  Range scratch{parameters[operands + 1],
                parameters[operands + 1] + kernel.scratch_bytes};
  if (!isWorkspace(coordinates))
    return refuse(op, " is handed ", coordinates.begin,
                  " as the rank's coordinates, which is in ",
                  program.nameOf(coordinates.begin - result.base));
  if (kernel.scratch_bytes && !isWorkspace(scratch))
    return refuse(op, " is handed ", scratch.begin, " as scratch of ",
                  kernel.scratch_bytes, " bytes, which is in ",
                  program.nameOf(scratch.begin - result.base));
  take(op, head);
  ++computeQueue.next;
  return true;
}

bool Matcher::product(uint32_t op, uint32_t head) {
  const Call &call = callOf(op);
  const auto &gemm =
      *static_cast<const pmrt_gemm *>(program.instructionOf(head).descriptor);
  auto work = static_cast<uint64_t>(gemm.m) * gemm.n * gemm.k;
  for (int64_t size : gemm.batch)
    work *= static_cast<uint64_t>(size);
  if (call.writes.count)
    setBase(ranges(call.writes)->begin, program.accessOf(head, 2).begin);
  for (bool writes : {false, true}) {
    const Slice &slice = writes ? call.writes : call.reads;
    for (uint32_t i = 0; i < slice.count; ++i) {
      const Range &range = ranges(slice)[i];
      if (!isIn(range, head, !writes, writes))
        return refuse(op, writes ? " writes" : " reads", " bytes [",
                      range.begin, ", ", range.end,
                      "), which is no operand of the ", program.describe(head));
    }
  }
  if (call.parameters.count) {
    uint64_t begin = trace.numbers[call.parameters.first];
    uint64_t bytes = trace.numbers[call.parameters.first + 1];
    if (bytes && !isWorkspace({begin, begin + bytes}))
      return refuse(op, " has its workspace of ", bytes, " bytes at ", begin,
                    ", which is in ", program.nameOf(begin - result.base));
  }
  workDone += call.work;
  if (workDone > work)
    return refuse(op, " makes ", workDone, " multiplications, but the ",
                  program.describe(head), " has ", work);
  take(op, head);
  if (workDone == work) {
    workDone = 0;
    ++computeQueue.next;
  }
  return true;
}

bool Matcher::attention(uint32_t op, uint32_t head) {
  const Call &call = callOf(op);
  uint32_t operands = program.operandsOf(head);
  if (!hasBase && call.reads.count)
    setBase(ranges(call.reads)->begin, program.accessOf(head, 0).begin);
  const pmrt_workspace &own = program.role.device->workspaces[0];
  const auto &attention = *static_cast<const pmrt_attention *>(
      program.instructionOf(head).descriptor);
  Range allowed{result.base + own.offset,
                result.base + own.offset +
                    std::min(own.bytes, attention.workspace_bytes)};
  auto isKept = [&](const Range &range) {
    return range.begin >= allowed.begin && range.end <= allowed.end;
  };
  auto isOperand = [&](const Range &range, uint32_t i) {
    Access access = program.accessOf(head, i);
    return range.begin == result.base + access.begin &&
           range.end == result.base + access.end;
  };
  for (bool writes : {false, true}) {
    const Slice &slice = writes ? call.writes : call.reads;
    std::vector<bool> isThere(operands);
    for (uint32_t r = 0; r < slice.count; ++r) {
      const Range &range = ranges(slice)[r];
      bool isKnown = isKept(range);
      for (uint32_t i = 0; i < operands; ++i)
        if (isOperand(range, i) && (writes ? program.accessOf(head, i).writes
                                           : program.accessOf(head, i).reads))
          isKnown = isThere[i] = true;
      if (!isKnown)
        return refuse(op, writes ? " writes" : " reads", " bytes [", range.begin,
                      ", ", range.end, "), which is no operand of the ",
                      program.describe(head));
    }
    for (uint32_t i = 0; i < operands; ++i) {
      Access access = program.accessOf(head, i);
      if ((writes ? access.writes : access.reads) && !isThere[i])
        return refuse(op, " does not ", writes ? "write" : "read", " operand ", i,
                      " (", program.nameOf(access.begin), ") of the ",
                      program.describe(head));
    }
  }
  uint64_t begin = trace.numbers[call.parameters.first];
  uint64_t bytes = trace.numbers[call.parameters.first + 1];
  if (bytes && !isKept({begin, begin + bytes}))
    return refuse(op, " has its workspace of ", bytes, " bytes at ", begin,
                  ", but may use [", allowed.begin, ", ", allowed.end, ")");
  take(op, head);
  ++computeQueue.next;
  return true;
}

bool Matcher::compute(uint32_t op) {
  const Call &call = callOf(op);
  bool isKernel = call.kind == Kind::Launch;
  std::string what =
      isKernel ? cat(" of '", trace.text(call), "'") : std::string();
  ++result.launches;
  if (!computeQueue.hasNext())
    return refuse(op, what,
                  " is added: all of the role's kernels and products "
                  "have run in step ",
                  ops[op].step);
  uint32_t head = computeQueue.head();
  auto isIt = [&](uint32_t expected) {
    Expected::Kind kind = program.list[expected].kind;
    return isKernel ? kind == Expected::Kernel &&
                          trace.text(call) == program.kernelOf(expected).name
           : call.kind == Kind::Attention ? kind == Expected::Attention
                                          : kind == Expected::Product;
  };
  if (!isIt(head)) {
    // Was something left out, or is this too much?
    size_t later = computeQueue.next + 1;
    size_t most = std::min(computeQueue.expected.size(), later + 8);
    while (later < most && !isIt(computeQueue.expected[later]))
      ++later;
    bool repeats =
        computeQueue.next && isIt(computeQueue.expected[computeQueue.next - 1]);
    return refuse(op, what, " stands where the ", program.describe(head),
                  " has to run",
                  repeats        ? "; it has just run"
                  : later < most ? ", which is left out"
                                 : "");
  }
  if (call.stream != computeStream)
    return refuse(op, what, " runs on stream ", call.stream,
                  ", but the step began on ", computeStream, ": it is the ",
                  program.describe(head));
  lastCompute = head + 1;
  return isKernel                        ? launch(op, head)
         : call.kind == Kind::Attention ? attention(op, head)
                                        : product(op, head);
}

/// A copy or a set: an instruction, a help of an exchange, or between host and
/// device.
bool Matcher::copy(uint32_t op) {
  const Call &call = callOf(op);
  bool isSet = call.kind == Kind::Set;
  if (!isSet && (!call.reads.count || !call.writes.count)) {
    place(op, lastCompute);
    for (uint32_t i = 0; i < call.writes.count; ++i) {
      const Range &range = ranges(call.writes)[i];
      if (hasBase && !isWorkspace(range) &&
          !program.isInput(range.begin - result.base, range.end - result.base))
        return refuse(op, " writes bytes [", range.begin, ", ", range.end,
                      ") of ", program.nameOf(range.begin - result.base),
                      ", which is no input, inside a step");
    }
    return true;
  }
  if (computeQueue.hasNext() && call.writes.count == 1 && !workDone) {
    uint32_t head = computeQueue.head();
    Expected::Kind kind = program.list[head].kind;
    bool isIt = isSet ? kind == Expected::Zero || kind == Expected::Clear
                      : kind == Expected::Copy;
    if (isIt) {
      Access from = program.accessOf(head, 0);
      Access to = isSet ? from : program.accessOf(head, 1);
      if (!hasBase)
        setBase(ranges(call.writes)->begin, to.begin);
      auto is = [&](const Range &range, const Access &access) {
        return range.begin == result.base + access.begin &&
               range.end == result.base + access.end;
      };
      if (is(*ranges(call.writes), to) &&
          (isSet || (call.reads.count == 1 && is(*ranges(call.reads), from)))) {
        if (call.stream != computeStream)
          return refuse(op, " runs on stream ", call.stream,
                        ", but the step began on ", computeStream,
                        ": it is the ", program.describe(head));
        take(op, head);
        lastCompute = head + 1;
        ++computeQueue.next;
        return true;
      }
    }
  }
  if (copyOfSend(op))
    return true;
  // What packs comes before its exchange, what unpacks behind it.
  bool packs =
      std::all_of(ranges(call.writes), ranges(call.writes) + call.writes.count,
                  [&](const Range &range) { return isWorkspace(range); });
  if (!packs && lastExchange != none && waiting.empty() &&
      isHelperOf(op, lastExchange)) {
    place(op, lastExchange + 1);
    return true;
  }
  waiting.push_back(op);
  return true;
}

bool Matcher::isHelperOf(uint32_t op, uint32_t expected) const {
  const Call &call = callOf(op);
  for (bool writes : {false, true}) {
    const Slice &slice = writes ? call.writes : call.reads;
    for (uint32_t i = 0; i < slice.count; ++i)
      if (!isWorkspace(ranges(slice)[i]) &&
          !isIn(ranges(slice)[i], expected, !writes, writes))
        return false;
  }
  return true;
}

/// Copies that pack what an exchange sends; the last exchange's, or the next
/// one's.
bool Matcher::helpers(uint32_t exchange, bool isNext) {
  for (uint32_t op : waiting) {
    if (exchange == none || !isHelperOf(op, exchange)) {
      const Call &call = callOf(op);
      std::string to = call.writes.count
                           ? cat(" to bytes [", ranges(call.writes)->begin,
                                 ", ", ranges(call.writes)->end, ")")
                           : std::string();
      return refuse(op, to, " is added: it is no instruction of the bundle, ",
                    exchange == none
                        ? std::string("and no exchange needs it")
                        : cat("and the ", isNext ? "next" : "last",
                              " exchange, the ", program.describe(exchange),
                              ", does not need it"));
    }
    place(op, exchange + 1);
  }
  waiting.clear();
  return true;
}

bool Matcher::one(uint32_t op) {
  const Call &call = callOf(op);
  bool isInStep = ops[op].step != 0;
  switch (call.kind) {
  case Kind::Launch:
  case Kind::Product:
  case Kind::Attention:
    if (!isInStep)
      return refuse(op, " stands outside of a step");
    return compute(op);
  case Kind::Copy:
  case Kind::Set:
    return !isInStep || copy(op);
  default:
    return true;
  }
}

/// What launches have touched lies in what the tables declare.
bool Matcher::checkTouched() {
  std::unordered_map<uint32_t, uint32_t> opOfLine;
  for (uint32_t op = 0; op < ops.size(); ++op)
    if (callOf(op).kind == Kind::Launch)
      opOfLine.try_emplace(callOf(op).line, op);
  for (const Call &call : trace.calls) {
    if (call.kind != Kind::Touched)
      continue;
    auto found = opOfLine.find(static_cast<uint32_t>(call.group));
    if (found == opOfLine.end()) {
      refusals.add("trace", placeOf(trace, number, call), " names line ",
                   call.group + 1, ", which launches no kernel");
      return isFine = false;
    }
    uint32_t op = found->second, expected = result.expected[op];
    if (expected == none)
      continue;
    const Call &launch = callOf(op);
    const uint64_t *parameters = trace.numbers.data() + launch.parameters.first;
    uint32_t operands = program.operandsOf(expected);
    for (bool writes : {false, true}) {
      std::vector<Range> allowed = {
          {parameters[operands + 1],
           parameters[operands + 1] + program.kernelOf(expected).scratch_bytes}};
      if (!writes)
        allowed.push_back({parameters[operands],
                           parameters[operands] + 8 * program.role.num_axes});
      for (uint32_t o = 0; o < operands; ++o)
        if (Access access = program.accessOf(expected, o);
            writes ? access.writes : access.reads)
          allowed.push_back({result.base + access.begin, result.base + access.end});
      std::sort(allowed.begin(), allowed.end(),
                [](const Range &a, const Range &b) { return a.begin < b.begin; });
      const Slice &slice = writes ? call.writes : call.reads;
      for (uint32_t i = 0; i < slice.count; ++i) {
        const Range &range = ranges(slice)[i];
        // It may run over operands that lie side by side.
        uint64_t at = range.begin;
        for (const Range &own : allowed)
          if (own.begin <= at)
            at = std::max(at, own.end);
        if (at >= range.end)
          continue;
        return refuse(op, " of '", trace.text(launch), "' has ",
                      writes ? "written" : "read", " bytes [", range.begin,
                      ", ", range.end, ") (line ", call.line + 1,
                      "), but the bundle does not say that the ",
                      program.describe(expected), " does");
      }
    }
  }
  return true;
}

Match Matcher::run() {
  result.expected.assign(ops.size(), none);
  result.order.assign(ops.size(), 0);
  makeQueues();
  uint32_t step = 0;
  for (uint32_t op = 0; op < ops.size() && isFine;) {
    if (ops[op].step && ops[op].step != step) {
      step = ops[op].step;
      beginStep(op);
    }
    // What lies between two steps comes behind the one and before the other.
    if (!ops[op].step && step)
      phase = 2 * step;
    place(op, ops[op].step ? lastCompute : 0);
    if (ops[op].unit != none) {
      uint32_t end = op;
      while (end < ops.size() && ops[end].unit == ops[op].unit) {
        place(end, lastCompute);
        ++end;
      }
      if (!ops[op].step)
        refuse(op, " stands outside of a step");
      else
        exchange(op, end);
      op = end;
      continue;
    }
    one(op);
    bool isLast =
        ops[op].step && (op + 1 == ops.size() || ops[op + 1].step != step);
    if (isLast && isFine) {
      endStep(op);
      // The end of the step is behind all of it.
      place(op, (uint64_t(1) << 40) - 1);
    }
    ++op;
  }
  if (isFine)
    checkTouched();
  result.isComplete = isFine;
  return std::move(result);
}

Match matchProgram(const Rank &rank, uint32_t number, const Program &program,
                   const runtime::Mesh &mesh,
                   const Communicators &communicators, Refusals &refusals) {
  return Matcher(rank, number, program, mesh, communicators, refusals).run();
}

std::string describe(const Rank &rank, uint32_t number, const Program &program,
                     const Match &match, uint32_t op) {
  const Call &call = rank.trace.calls[rank.timeline.ops[op].call];
  std::string text = placeOf(rank.trace, number, call);
  if (call.kind == Kind::Launch)
    text += cat(" of '", rank.trace.text(call), "'");
  if (match.expected[op] != none)
    text += cat(" (", program.describe(match.expected[op]), ")");
  return text;
}

} // namespace pipemesh::trace
