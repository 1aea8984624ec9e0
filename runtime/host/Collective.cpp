//===- Collective.cpp - What a collective moves, whoever carries it -------===//

#include "host/Collective.h"

#include "host/Program.h"

#include <algorithm>

namespace pipemesh::runtime {

/// FNV-1a over whole numbers.
static uint64_t digest(uint64_t before, uint64_t number) {
  return (before ^ number) * 1099511628211u;
}
static constexpr uint64_t emptyDigest = 14695981039346656037u;

Signature signatureOf(const pmrt_instruction &instruction, uint64_t run) {
  Signature signature = {};
  signature.run = static_cast<uint32_t>(run);
  signature.opcode = instruction.opcode;
  signature.numOperands = instruction.num_operands;
  signature.counts = emptyDigest;
  if (instruction.opcode == PMRT_OP_ALL_TO_ALL) {
    const pmrt_all_to_all &exchange = allToAllOf(instruction);
    signature.sequence = exchange.sequence;
    signature.dtype = exchange.dtype;
    signature.outer = exchange.outer;
    signature.elements = exchange.outer * exchange.middle * exchange.inner *
                         exchange.split_size * exchange.concat_piece;
    for (uint64_t size :
         {uint64_t(exchange.split_first), exchange.middle, exchange.inner,
          exchange.split_size, exchange.split_piece, exchange.concat_size,
          exchange.concat_piece})
      signature.counts = digest(signature.counts, size);
    return signature;
  }
  if (instruction.opcode == PMRT_OP_PERMUTE) {
    const pmrt_permute &permute = permuteOf(instruction);
    signature.sequence = permute.sequence;
    signature.dtype = permute.dtype;
    signature.elements = permute.count;
    for (uint64_t i = 0; i < permute.num_parts * permute.num_members; ++i)
      signature.counts =
          digest(signature.counts, static_cast<uint64_t>(permute.sources[i]));
    return signature;
  }
  const pmrt_collective &collective = collectiveOf(instruction);
  signature.sequence = collective.sequence;
  signature.dtype = collective.dtype;
  signature.reduction = collective.reduction;
  bool reduce = instruction.opcode == PMRT_OP_ALL_REDUCE;
  signature.outer = reduce ? 1 : collective.outer;
  for (uint32_t i = 0; i < instruction.num_operands; ++i) {
    signature.elements += collective.counts[i];
    signature.counts = digest(signature.counts, collective.counts[i]);
  }
  return signature;
}

std::string mismatch(const Signature &a, const Signature &b) {
  if (a.opcode != b.opcode)
    return "they are of two kinds";
  if (a.sequence != b.sequence)
    return cat("number ", a.sequence, " against ", b.sequence);
  if (a.dtype != b.dtype)
    return cat("type ", a.dtype, " against ", b.dtype);
  if (a.reduction != b.reduction)
    return cat("reduction ", a.reduction, " against ", b.reduction);
  if (a.numOperands != b.numOperands)
    return cat(a.numOperands, " operands against ", b.numOperands);
  if (a.outer != b.outer)
    return cat(a.outer, " rows against ", b.outer);
  if (a.elements != b.elements)
    return cat(a.elements, " elements against ", b.elements);
  if (a.counts != b.counts)
    return a.opcode == PMRT_OP_PERMUTE ? "other sources"
                                       : "operands of other sizes";
  if (a.run != b.run)
    return cat("the ", a.run, ". collective of the communicator against the ",
               b.run, ".");
  return "";
}

ShorterCollective::ShorterCollective(const pmrt_instruction &whole)
    : instruction(whole) {
  if (whole.opcode == PMRT_OP_ALL_TO_ALL) {
    exchange = allToAllOf(whole);
    --exchange.split_size;
    instruction.descriptor = &exchange;
  } else if (whole.opcode == PMRT_OP_PERMUTE) {
    permute = permuteOf(whole);
    --permute.count;
    instruction.descriptor = &permute;
  } else {
    collective = collectiveOf(whole);
    counts.assign(collective.counts, collective.counts + whole.num_operands);
    --counts.back();
    collective.counts = counts.data();
    instruction.descriptor = &collective;
  }
}

/// "rank 3", "ranks 0, 1 and 2".
static std::string ranksText(const std::vector<const Brought *> &members) {
  std::string text = members.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < members.size(); ++i)
    text += cat(i == 0                    ? ""
                : i + 1 < members.size() ? ", "
                                         : " and ",
                members[i]->rank);
  return text;
}

void checkMeeting(const std::vector<Brought> &members) {
  // Members that bring the same, the largest class first.
  std::vector<std::vector<const Brought *>> classes;
  for (const Brought &member : members) {
    auto same = std::find_if(classes.begin(), classes.end(), [&](auto &known) {
      return mismatch(known[0]->signature, member.signature).empty();
    });
    if (same == classes.end())
      classes.push_back({&member});
    else
      same->push_back(&member);
  }
  if (classes.size() < 2)
    return;
  auto most = std::max_element(
      classes.begin(), classes.end(),
      [](auto &a, auto &b) { return a.size() < b.size(); });
  std::rotate(classes.begin(), most, most + 1);
  const Brought &common = *classes[0][0];
  std::string text;
  for (size_t i = 1; i < classes.size(); ++i)
    text += cat(i == 1 ? "" : "; ", ranksText(classes[i]),
                classes[i].size() == 1 ? " comes" : " come", " with ",
                classes[i][0]->text, " (",
                mismatch(classes[i][0]->signature, common.signature), ")");
  throw Error(cat(text, ", where ", ranksText(classes[0]),
                  classes[0].size() == 1 ? " comes" : " come", " with ",
                  common.text),
              mismatchStatus);
}

uint64_t operandBytes(const pmrt_instruction &instruction) {
  if (instruction.opcode == PMRT_OP_ALL_TO_ALL) {
    const pmrt_all_to_all &exchange = allToAllOf(instruction);
    return exchange.outer * exchange.middle * exchange.inner *
           exchange.split_size * exchange.concat_piece *
           dtypeSize(exchange.dtype);
  }
  if (instruction.opcode == PMRT_OP_PERMUTE)
    return permuteOf(instruction).count *
           dtypeSize(permuteOf(instruction).dtype);
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype), elements = 0;
  if (instruction.opcode == PMRT_OP_ALL_REDUCE)
    for (uint32_t i = 0; i < instruction.num_operands; ++i)
      elements += collective.counts[i];
  else if (instruction.opcode == PMRT_OP_ALL_GATHER)
    elements = collective.outer * collective.counts[0];
  else
    elements = collective.outer * collective.counts[1];
  return elements * size;
}

double wireBytes(const pmrt_instruction &instruction, int64_t members,
                 int64_t member) {
  auto bytes = static_cast<double>(operandBytes(instruction));
  auto pieceBytes = [](uint64_t elements, uint32_t dtype) {
    return static_cast<double>(elements * dtypeSize(dtype));
  };
  auto others = static_cast<double>(members - 1);
  switch (instruction.opcode) {
  case PMRT_OP_ALL_GATHER:
    return others * bytes;
  case PMRT_OP_REDUCE_SCATTER: {
    const pmrt_collective &collective = collectiveOf(instruction);
    return others * pieceBytes(collective.outer * collective.counts[0],
                               collective.dtype);
  }
  case PMRT_OP_ALL_TO_ALL: {
    const pmrt_all_to_all &exchange = allToAllOf(instruction);
    return others * pieceBytes(exchange.outer * exchange.middle *
                                   exchange.inner * exchange.split_piece *
                                   exchange.concat_piece,
                               exchange.dtype);
  }
  case PMRT_OP_PERMUTE: {
    const pmrt_permute &permute = permuteOf(instruction);
    int64_t sent = 0;
    for (uint64_t i = 0; i < permute.num_parts * permute.num_members; ++i)
      sent += permute.sources[i] == member &&
              static_cast<int64_t>(i % permute.num_members) != member;
    return static_cast<double>(sent) * bytes /
           static_cast<double>(permute.num_parts);
  }
  default:
    return 2 * others / static_cast<double>(members) * bytes;
  }
}

} // namespace pipemesh::runtime
