//===- MatchExchange.cpp - Is communication that of the bundle? -----------===//

#include "trace/Matcher.h"

#include <array>

namespace pipemesh::trace {

namespace {

/// NCCL's type for elements, and how many of them one is; bytes for what it
/// lacks.
std::pair<Type, uint64_t> typeOf(uint32_t dtype) {
  switch (dtype) {
  case PMRT_F32:
    return {Type::Float32, 1};
  case PMRT_F64:
    return {Type::Float64, 1};
  case PMRT_BF16:
    return {Type::Bfloat16, 1};
  case PMRT_F16:
    return {Type::Float16, 1};
  case PMRT_I32:
    return {Type::Int32, 1};
  case PMRT_I64:
    return {Type::Int64, 1};
  case PMRT_U32:
    return {Type::Uint32, 1};
  case PMRT_U64:
    return {Type::Uint64, 1};
  case PMRT_I8:
    return {Type::Int8, 1};
  case PMRT_C64:
    return {Type::Float32, 2};
  case PMRT_C128:
    return {Type::Float64, 2};
  case PMRT_I16:
  case PMRT_U16:
    return {Type::Uint8, 2};
  default:
    return {Type::Uint8, 1};
  }
}

uint32_t dtypeOf(const pmrt_instruction &instruction) {
  return static_cast<const uint32_t *>(instruction.descriptor)[1];
}
const pmrt_collective &collectiveOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_collective *>(instruction.descriptor);
}

} // namespace

std::string Matcher::collectiveProblem(uint32_t op, const Lane &lane) const {
  if (!lane.queue.hasNext())
    return "all of the role's collectives over these ranks have run";
  const Call &call = callOf(op);
  uint32_t head = lane.queue.head();
  const pmrt_instruction &instruction = program.instructionOf(head);
  uint32_t opcode = instruction.opcode;
  Kind kind = opcode == PMRT_OP_ALL_REDUCE       ? Kind::AllReduce
              : opcode == PMRT_OP_ALL_GATHER     ? Kind::AllGather
              : opcode == PMRT_OP_REDUCE_SCATTER ? Kind::ReduceScatter
                                                 : Kind::Send;
  auto it = [&](const auto &...args) {
    return cat("the ", program.describe(head), " ", args...);
  };
  if (call.kind != kind)
    return it("has to come");
  const pmrt_collective &collective = collectiveOf(instruction);
  auto [type, factor] = typeOf(collective.dtype);
  bool reduces = kind != Kind::AllGather;
  bool isBytes = !reduces && call.type == Type::Uint8;
  if (call.type != type && !isBytes)
    return it("is of ", textOf(type), ", not of ", textOf(call.type));
  constexpr uint8_t reductions[] = {0, 2, 3};
  if (reduces && (collective.reduction > 2 ||
                  call.reduction != reductions[collective.reduction]))
    return it("has the reduction ", collective.reduction, ", not NCCL's ",
              static_cast<int>(call.reduction));
  if (isBytes)
    factor *= bytesOf(type);
  // The operand that this call begins at, and the elements that are left.
  uint64_t total = 0, expectedCount = 0;
  uint32_t part = none;
  if (kind == Kind::AllReduce) {
    for (uint32_t i = 0; i < instruction.num_operands; ++i) {
      if (total == lane.done && part == none && collective.counts[i]) {
        part = i;
        expectedCount = collective.counts[i] * factor;
      }
      total += collective.counts[i] * factor;
    }
  } else {
    total = collective.outer * collective.counts[0] * factor;
    expectedCount = total;
  }
  if (call.count > total - lane.done)
    return it("has ", total - lane.done, " elements, not ", call.count);
  bool isPacked = true;
  for (const Slice &slice : {call.reads, call.writes})
    for (uint32_t i = 0; i < slice.count; ++i)
      isPacked &= isWorkspace(ranges(slice)[i]);
  if (isPacked)
    return "";
  if (kind == Kind::AllReduce && part != none && call.count != expectedCount)
    return it("has ", expectedCount, " elements of operand ", part, ", not ",
              call.count);
  for (bool writes : {false, true}) {
    const Slice &slice = writes ? call.writes : call.reads;
    for (uint32_t i = 0; i < slice.count; ++i) {
      const Range &range = ranges(slice)[i];
      if (isWorkspace(range))
        continue;
      bool isRight = isIn(range, head, !writes, writes);
      if (isRight && part != none) {
        Access access = program.accessOf(head, part);
        isRight = range.begin >= result.base + access.begin &&
                  range.end <= result.base + access.end;
      }
      if (!isRight)
        return it("does not ", writes ? "write" : "read", " bytes [",
                  range.begin, ", ", range.end, ")");
    }
  }
  return "";
}

bool Matcher::collective(uint32_t op, uint32_t index) {
  const std::vector<uint32_t> &members = communicators.list[index].members;
  std::string problem;
  for (uint32_t c = 0; c < lanes.size(); ++c) {
    Lane &lane = lanes[c];
    if (lane.members != members)
      continue;
    uint32_t number = program.role.communicators[c].lane;
    auto bound = laneOf.find(index);
    if (bound != laneOf.end() && bound->second != number)
      continue;
    std::string why = collectiveProblem(op, lane);
    if (!why.empty()) {
      if (problem.empty() || lane.queue.hasNext())
        problem = why;
      continue;
    }
    laneOf[index] = number;
    uint32_t head = lane.queue.head();
    take(op, head);
    const pmrt_instruction &instruction = program.instructionOf(head);
    const pmrt_collective &collective = collectiveOf(instruction);
    auto [type, factor] = typeOf(collective.dtype);
    if (callOf(op).type == Type::Uint8 && type != Type::Uint8)
      factor *= bytesOf(type);
    uint64_t total = 0;
    if (instruction.opcode == PMRT_OP_ALL_REDUCE)
      for (uint32_t i = 0; i < instruction.num_operands; ++i)
        total += collective.counts[i] * factor;
    else
      total = collective.outer * collective.counts[0] * factor;
    lane.done += callOf(op).count;
    if (!waiting.empty() && !helpers(head, true))
      return false;
    lastExchange = head;
    if (lane.done >= total) {
      lane.done = 0;
      ++lane.queue.next;
    }
    return true;
  }
  if (problem.empty())
    return refuse(op, " is of the communicator ", communicators.describe(index),
                  ", on which the role has no collectives",
                  laneOf.count(index) ? " beside those that it started there"
                                      : "");
  return refuse(op, " of ", callOf(op).count,
                " elements does not fit: ", problem);
}

bool Matcher::transfer(uint32_t op, uint32_t peer) {
  const Call &call = callOf(op);
  bool sends = call.kind == Kind::Send;
  const Slice &slice = sends ? call.reads : call.writes;
  for (auto &[channel, queue] : channels) {
    if (!queue.hasNext())
      continue;
    uint32_t head = queue.head();
    if ((program.list[head].kind == Expected::Send) != sends ||
        mesh.peer(number, program.actionOf(head).peer) !=
            static_cast<int64_t>(peer))
      continue;
    Access access = program.accessOf(head, 0);
    if (!hasBase && slice.count)
      setBase(ranges(slice)->begin, access.begin);
    Range place{result.base + access.begin, result.base + access.end};
    if (auto copied = copyOf.find(head); copied != copyOf.end())
      place = copied->second;
    if (slice.count != 1 || ranges(slice)->begin != place.begin ||
        ranges(slice)->end != place.end)
      continue;
    const pmrt_buffer &buffer =
        program.role.buffers[program.actionOf(head).index];
    auto [type, factor] = typeOf(buffer.dtype);
    if (call.type != type && call.type != Type::Uint8)
      return refuse(op, " is of ", textOf(call.type), ", but the ",
                    program.describe(head), " of ", textOf(type));
    if (call.count * bytesOf(call.type) != buffer.bytes)
      return refuse(op, " has ", call.count, " elements of ", textOf(call.type),
                    ", but the ", program.describe(head), " has ", buffer.bytes,
                    " bytes");
    take(op, head);
    ++queue.next;
    return true;
  }
  return false;
}

bool Matcher::copyOfSend(uint32_t op) {
  const Call &call = callOf(op);
  if (!hasBase || call.kind != Kind::Copy || call.stream != computeStream ||
      call.reads.count != 1 || call.writes.count != 1 ||
      !isWorkspace(*ranges(call.writes)))
    return false;
  const Range &from = *ranges(call.reads);
  for (auto &[channel, queue] : channels)
    for (size_t i = queue.next; i < queue.expected.size(); ++i) {
      uint32_t send = queue.expected[i];
      if (program.list[send].kind != Expected::Send)
        break;
      Access access = program.accessOf(send, 0);
      if (copyOf.count(send) || from.begin != result.base + access.begin ||
          from.end != result.base + access.end)
        continue;
      copyOf[send] = *ranges(call.writes);
      // In front of the send, behind what comes before it in the program.
      place(op, send);
      return true;
    }
  return false;
}

/// Whether the ops of a group are the lane's next all-to-all or permute.
std::string Matcher::exchangeProblem(uint32_t first, uint32_t end,
                                     const Lane &lane, uint32_t own) const {
  if (!lane.queue.hasNext())
    return "all of the role's collectives over these ranks have run";
  uint32_t head = lane.queue.head();
  if (program.list[head].kind != Expected::Exchange)
    return cat("the ", program.describe(head), " has to come");
  const pmrt_instruction &instruction = program.instructionOf(head);
  auto [type, factor] = typeOf(dtypeOf(instruction));
  // Bytes by peer: to it and from it. An all-to-all has at most these, a
  // permute exactly.
  auto members = static_cast<uint32_t>(lane.members.size());
  std::vector<std::array<uint64_t, 2>> bytes(members), found(members);
  bool isPermute = instruction.opcode == PMRT_OP_PERMUTE;
  uint64_t element = factor * bytesOf(type);
  if (isPermute) {
    const auto &permute =
        *static_cast<const pmrt_permute *>(instruction.descriptor);
    uint64_t part = permute.count / permute.num_parts * element;
    for (uint64_t p = 0; p < permute.num_parts; ++p)
      for (uint32_t m = 0; m < members; ++m) {
        int32_t source = permute.sources[p * members + m];
        if (source == static_cast<int32_t>(own))
          bytes[m][0] += part;
        if (m == own && source >= 0)
          bytes[static_cast<uint32_t>(source)][1] += part;
      }
  } else {
    const auto &all =
        *static_cast<const pmrt_all_to_all *>(instruction.descriptor);
    uint64_t block = all.outer * all.middle * all.inner * all.split_piece *
                     all.concat_piece * element;
    for (auto &peer : bytes)
      peer = {block, block};
  }
  for (uint32_t op = first; op < end; ++op) {
    const Call &call = callOf(op);
    if (!isTransfer(call.kind))
      return cat("the ", program.describe(head), " has to come");
    bool sends = call.kind == Kind::Send;
    found[call.peer][!sends] += call.count * bytesOf(call.type);
    const Slice &slice = sends ? call.reads : call.writes;
    for (uint32_t i = 0; i < slice.count; ++i)
      if (!isWorkspace(ranges(slice)[i]) &&
          !isIn(ranges(slice)[i], head, sends, !sends))
        return cat("the ", program.describe(head), " does not ",
                   sends ? "send" : "receive", " bytes [",
                   ranges(slice)[i].begin, ", ", ranges(slice)[i].end, ")");
  }
  for (uint32_t m = 0; m < members; ++m)
    for (int way : {0, 1}) {
      uint64_t want = bytes[m][way], got = found[m][way];
      // What a member keeps it may copy.
      bool isFine =
          got == want || (m == own && got == 0) || (!isPermute && got < want);
      if (!isFine)
        return cat("the ", program.describe(head), way ? " takes " : " sends ",
                   want, " bytes ", way ? "from" : "to", " rank ",
                   lane.members[m], ", not ", got);
    }
  return "";
}

/// Sends and receives of one group that are no transfers.
bool Matcher::permutation(uint32_t first, uint32_t end) {
  uint32_t index = communicators.ofRank[number].at(callOf(first).handle);
  const Communicator &communicator = communicators.list[index];
  std::string problem;
  for (Lane &lane : lanes) {
    if (lane.members != communicator.members)
      continue;
    std::string why =
        exchangeProblem(first, end, lane, communicator.rankOf(number));
    if (!why.empty()) {
      if (problem.empty() || lane.queue.hasNext())
        problem = why;
      continue;
    }
    uint32_t head = lane.queue.head();
    for (uint32_t op = first; op < end; ++op)
      take(op, head);
    ++lane.queue.next;
    if (!waiting.empty() && !helpers(head, true))
      return false;
    lastExchange = head;
    return true;
  }
  const Call &call = callOf(first);
  const Slice &slice = call.kind == Kind::Send ? call.reads : call.writes;
  std::string bytes = slice.count ? cat(" of bytes [", ranges(slice)->begin,
                                        ", ", ranges(slice)->end, ")")
                                  : std::string();
  return refuse(first, bytes, " on the communicator ",
                communicators.describe(index),
                " is no transfer that comes next on its channel",
                problem.empty() ? "" : ", and ", problem);
}

/// The ops of one group.
bool Matcher::exchange(uint32_t first, uint32_t end) {
  for (uint32_t op = first; op < end;) {
    const Call &call = callOf(op);
    uint32_t index = communicators.ofRank[number].at(call.handle);
    const std::vector<uint32_t> &members = communicators.list[index].members;
    if (!isTransfer(call.kind)) {
      if (call.count && !collective(op, index))
        return false;
      ++op;
      continue;
    }
    if (call.peer < 0 || call.peer >= static_cast<int64_t>(members.size()))
      return isFine = false; // has been refused
    if (members.size() == 2 && transfer(op, members[call.peer])) {
      ++op;
      continue;
    }
    if (!isFine)
      return false;
    uint32_t last = op;
    while (last < end && callOf(last).handle == call.handle)
      ++last;
    if (!permutation(op, last))
      return false;
    op = last;
  }
  return true;
}

} // namespace pipemesh::trace
