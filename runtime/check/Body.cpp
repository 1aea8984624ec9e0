//===- Body.cpp - What a body reads and writes ----------------------------===//

#include "check/Body.h"

#include <map>
#include <optional>

namespace pipemesh::proof {

namespace {

/// What has been written, by place; scratch is -1.
using Written = std::map<int64_t, Ranges>;

class BodyReader {
public:
  BodyReader(const Role &role, uint32_t number)
      : role(role), number(number), body(role.table.bodies[number]),
        flow(role, number) {}

  BodyFacts run();

private:
  int64_t placeOf(const pmrt_operand &operand) const {
    return operand.buffer == PMRT_SCRATCH
               ? -1
               : static_cast<int64_t>(role.place[operand.buffer]);
  }
  static void addWrites(const BodyReader &reader,
                        const pmrt_instruction &instruction, Written &written);
  void findWritten();
  void visit(uint64_t index, Written &written);
  BufferUse &use(uint32_t buffer);

  const Role &role;
  uint32_t number;
  const pmrt_body &body;
  Flow flow;
  /// At the beginning of a block, on every way to it; none where no way has
  /// been followed yet.
  std::vector<std::optional<Written>> before;
  std::map<uint32_t, BufferUse> uses;
};

} // namespace

void BodyReader::addWrites(const BodyReader &reader,
                           const pmrt_instruction &instruction,
                           Written &written) {
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    if (operand.access & PMRT_WRITE)
      written[reader.placeOf(operand)].add(operand.offset,
                                           operand.offset + operand.bytes);
  }
}

static void intersect(Written &into, const Written &other) {
  for (auto entry = into.begin(); entry != into.end();) {
    auto found = other.find(entry->first);
    if (found == other.end()) {
      entry = into.erase(entry);
      continue;
    }
    entry->second.intersect(found->second);
    ++entry;
  }
}

void BodyReader::findWritten() {
  before.resize(flow.blocks().size());
  before[0].emplace();
  if (flow.isStraight())
    return;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block : flow.order()) {
      if (!before[block])
        continue;
      Written written = *before[block];
      for (uint64_t i = flow.blocks()[block].begin;
           i < flow.blocks()[block].end; ++i)
        addWrites(*this, body.instructions[i], written);
      for (uint32_t next : flow.blocks()[block].successors) {
        if (!before[next]) {
          before[next] = written;
          changed = true;
          continue;
        }
        Written common = *before[next];
        intersect(common, written);
        if (common != *before[next]) {
          before[next] = std::move(common);
          changed = true;
        }
      }
    }
  }
}

BufferUse &BodyReader::use(uint32_t buffer) {
  BufferUse &found = uses[buffer];
  found.buffer = buffer;
  return found;
}

void BodyReader::visit(uint64_t index, Written &written) {
  const pmrt_instruction &instruction = body.instructions[index];
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    uint64_t end = operand.offset + operand.bytes;
    if (!(operand.access & PMRT_READ) || !operand.bytes)
      continue;
    written[placeOf(operand)].forEachGap(
        operand.offset, end, [&](uint64_t begin, uint64_t gapEnd) {
          if (operand.buffer == PMRT_SCRATCH)
            refuse("undefined", describe(role, number, index),
                   " reads bytes [", begin, ", ", gapEnd,
                   ") of the scratch region, which nothing before it has "
                   "written");
          use(operand.buffer).reads.add(begin, gapEnd);
        });
  }
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    if (!(operand.access & PMRT_WRITE) || operand.buffer == PMRT_SCRATCH)
      continue;
    BufferUse &of = use(operand.buffer);
    of.mayWrite.add(operand.offset, operand.offset + operand.bytes);
  }
  addWrites(*this, instruction, written);
}

BodyFacts BodyReader::run() {
  findWritten();
  BodyFacts facts;
  Written end;
  for (uint32_t block : flow.order()) {
    Written written = std::move(*before[block]);
    for (uint64_t i = flow.blocks()[block].begin; i < flow.blocks()[block].end;
         ++i) {
      visit(i, written);
      if (isCollective(body.instructions[i]))
        facts.collectives.push_back(i);
    }
    if (flow.isStraight() || block == flow.exit())
      end = std::move(written);
    if (flow.isStraight())
      break;
  }
  for (auto &[buffer, of] : uses) {
    // Another name of the same place counts for it, too.
    of.writes = of.mayWrite;
    auto found = end.find(role.place[buffer]);
    of.writes.intersect(found == end.end() ? Ranges() : found->second);
    facts.uses.push_back(std::move(of));
  }
  std::sort(facts.collectives.begin(), facts.collectives.end());
  if (!facts.collectives.empty() && !flow.isStraight()) {
    std::vector<uint8_t> decided(flow.blocks().size());
    for (uint32_t block : flow.order())
      if (flow.endsInSwitch(block))
        for (uint32_t other : flow.decidedBy(block))
          decided[other] = 1;
    for (uint32_t block : flow.order())
      if (decided[block])
        for (uint64_t i = flow.blocks()[block].begin;
             i < flow.blocks()[block].end; ++i)
          if (isCollective(body.instructions[i]))
            facts.conditional.push_back(i);
  }
  return facts;
}

BodyFacts readBody(const Role &role, uint32_t body) {
  return BodyReader(role, body).run();
}

uint64_t firstReader(const pmrt_body &body, uint32_t buffer, uint64_t begin,
                     uint64_t end) {
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
      const pmrt_operand &operand = body.instructions[i].operands[o];
      if (operand.buffer == static_cast<int32_t>(buffer) &&
          (operand.access & PMRT_READ) && operand.offset < end &&
          begin < operand.offset + operand.bytes)
        return i;
    }
  return 0;
}

} // namespace pipemesh::proof
