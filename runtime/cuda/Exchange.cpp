//===- Exchange.cpp - The calls that ranks meet by ------------------------===//

#include "cuda/Exchange.h"

#include "core/Error.h"
#include "core/Instruction.h"

namespace pipemesh::cuda {

using runtime::allToAllOf;
using runtime::collectiveOf;
using runtime::describe;
using runtime::dtypeSize;
using runtime::fail;
using runtime::permuteOf;

NcclType ncclTypeOf(uint32_t dtype, bool isReduced) {
  switch (dtype) {
  case PMRT_F32:
    return {ncclFloat32, 1};
  case PMRT_F64:
    return {ncclFloat64, 1};
  case PMRT_BF16:
    return {ncclBfloat16, 1};
  case PMRT_F16:
    return {ncclFloat16, 1};
  case PMRT_I32:
    return {ncclInt32, 1};
  case PMRT_I64:
    return {ncclInt64, 1};
  case PMRT_U32:
    return {ncclUint32, 1};
  case PMRT_U64:
    return {ncclUint64, 1};
  case PMRT_I8:
    return {ncclInt8, 1};
  case PMRT_I1:
  case PMRT_U8:
    return {ncclUint8, 1};
  case PMRT_C64:
    return {ncclFloat32, 2};
  case PMRT_C128:
    return {ncclFloat64, 2};
  default:
    if (isReduced)
      fail("NCCL reduces no integers of 16 bits; convert them to 32 bits in "
           "the model");
    return {ncclUint8, dtypeSize(dtype)};
  }
}

static int reductionOf(uint32_t reduction) {
  return reduction == PMRT_MAX   ? ncclMax
         : reduction == PMRT_MIN ? ncclMin
                                 : ncclSum;
}

namespace {

/// Collects the calls of one collective.
class Exchange {
public:
  Exchange(const pmrt_instruction &instruction, const CUdeviceptr *operands,
           CUdeviceptr workspace, int64_t members, int64_t index)
      : instruction(instruction), operands(operands), workspace(workspace),
        members(members), index(index) {}

  std::vector<ExchangeCall> make();

private:
  void allReduce();
  void gather();
  void scatter();
  void allToAll();
  void permute();
  /// Copies the pieces of all members between the rows of a whole and blocks
  /// that lie one behind the other.
  void copyPieces(CUdeviceptr whole, CUdeviceptr packed, bool pack);
  void addCopies(const std::vector<StridedCopy> &copies) {
    for (const StridedCopy &copy : copies)
      calls.push_back({.kind = ExchangeCall::Copy, .copy = copy});
  }
  void add(const ExchangeCall &call) { calls.push_back(call); }

  const pmrt_instruction &instruction;
  const CUdeviceptr *operands;
  const CUdeviceptr workspace;
  const int64_t members, index;
  std::vector<ExchangeCall> calls;
};

} // namespace

std::vector<ExchangeCall> Exchange::make() {
  switch (instruction.opcode) {
  case PMRT_OP_ALL_REDUCE:
    allReduce();
    break;
  case PMRT_OP_ALL_GATHER:
    gather();
    break;
  case PMRT_OP_REDUCE_SCATTER:
    scatter();
    break;
  case PMRT_OP_ALL_TO_ALL:
    allToAll();
    break;
  case PMRT_OP_PERMUTE:
    permute();
    break;
  default:
    fail(describe(instruction), " is no collective");
  }
  return std::move(calls);
}

void Exchange::allReduce() {
  const pmrt_collective &collective = collectiveOf(instruction);
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/true);
  bool isGroup = instruction.num_operands > 1;
  if (isGroup)
    add({.kind = ExchangeCall::GroupStart});
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    add({.kind = ExchangeCall::AllReduce,
         .from = operands[o],
         .to = operands[o],
         .count = collective.counts[o] * type.count,
         .type = type.type,
         .reduction = reductionOf(collective.reduction)});
  if (isGroup)
    add({.kind = ExchangeCall::GroupEnd});
}

/// Whether the members' blocks lie one behind the other in the whole, and fill
/// it.
static bool isPacked(const pmrt_collective &collective, int64_t members) {
  return collective.outer == 1 &&
         collective.counts[0] * static_cast<uint64_t>(members) ==
             collective.counts[1];
}

void Exchange::copyPieces(CUdeviceptr whole, CUdeviceptr packed, bool pack) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype),
           piece = collective.counts[0] * size,
           row = collective.counts[1] * size;
  std::vector<StridedCopy> copies;
  for (int64_t i = 0; i < members; ++i) {
    uint64_t width =
        static_cast<uint64_t>(runtime::pieceElements(collective, i)) * size;
    StridedPlace inWhole{whole + static_cast<uint64_t>(i) * piece, row};
    StridedPlace inPacked{
        packed + static_cast<uint64_t>(i) * collective.outer * piece, piece};
    addRows(copies, pack ? inWhole : inPacked, pack ? inPacked : inWhole, width,
            collective.outer);
  }
  addCopies(copies);
}

void Exchange::gather() {
  const pmrt_collective &collective = collectiveOf(instruction);
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/false);
  bool direct = isPacked(collective, members);
  add({.kind = ExchangeCall::AllGather,
       .from = operands[0],
       .to = direct ? operands[1] : workspace,
       .count = collective.outer * collective.counts[0] * type.count,
       .type = type.type});
  if (!direct)
    copyPieces(operands[1], workspace, /*pack=*/false);
}

void Exchange::scatter() {
  const pmrt_collective &collective = collectiveOf(instruction);
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/true);
  bool direct = isPacked(collective, members);
  uint64_t block = collective.outer * collective.counts[0];
  if (!direct) {
    uint64_t filled = collective.counts[1],
             whole = collective.counts[0] * static_cast<uint64_t>(members);
    // What lies behind short pieces is summed too.
    if (filled < whole)
      add({.kind = ExchangeCall::Clear,
           .to = workspace,
           .count = block * static_cast<uint64_t>(members) *
                    dtypeSize(collective.dtype)});
    copyPieces(operands[0], workspace, /*pack=*/true);
  }
  add({.kind = ExchangeCall::ReduceScatter,
       .from = direct ? operands[0] : workspace,
       .to = operands[1],
       .count = block * type.count,
       .type = type.type,
       .reduction = reductionOf(collective.reduction)});
}

void Exchange::allToAll() {
  const pmrt_all_to_all &exchange = allToAllOf(instruction);
  NcclType type = ncclTypeOf(exchange.dtype, /*isReduced=*/false);
  uint64_t size = dtypeSize(exchange.dtype);
  auto elements = [&](int64_t from, int64_t to) {
    return static_cast<uint64_t>(
        runtime::exchangedElements(exchange, from, to));
  };
  // What is sent, and behind it what comes; a member's own part goes by itself.
  std::vector<StridedCopy> copies;
  CUdeviceptr place = workspace;
  std::vector<CUdeviceptr> sent, come;
  for (int64_t to = 0; to < members; ++to) {
    sent.push_back(place);
    addExchanged(copies, exchange, index, to, operands[0], place,
                 /*pack=*/true);
    place += elements(index, to) * size;
  }
  for (int64_t from = 0; from < members; ++from) {
    come.push_back(place);
    place += elements(from, index) * size;
  }
  addCopies(copies);
  add({.kind = ExchangeCall::GroupStart});
  for (int64_t other = 0; other < members; ++other) {
    if (other == index)
      continue;
    int peer = static_cast<int>(other);
    if (uint64_t count = elements(index, other))
      add({.kind = ExchangeCall::Send,
           .from = sent[other],
           .count = count * type.count,
           .type = type.type,
           .peer = peer});
    if (uint64_t count = elements(other, index))
      add({.kind = ExchangeCall::Receive,
           .to = come[other],
           .count = count * type.count,
           .type = type.type,
           .peer = peer});
  }
  add({.kind = ExchangeCall::GroupEnd});
  copies.clear();
  for (int64_t from = 0; from < members; ++from)
    addExchanged(copies, exchange, from, index, operands[1],
                 from == index ? sent[from] : come[from], /*pack=*/false);
  addCopies(copies);
}

void Exchange::permute() {
  const pmrt_permute &permute = permuteOf(instruction);
  NcclType type = ncclTypeOf(permute.dtype, /*isReduced=*/false);
  // The count is that of all parts.
  uint64_t count = permute.count / permute.num_parts;
  uint64_t bytes = count * dtypeSize(permute.dtype);
  auto sourceOf = [&](uint64_t part, int64_t member) {
    return permute
        .sources[part * permute.num_members + static_cast<uint64_t>(member)];
  };
  for (uint64_t part = 0; part < permute.num_parts; ++part) {
    int32_t source = sourceOf(part, index);
    CUdeviceptr to = operands[1] + part * bytes;
    if (source < 0)
      add({.kind = ExchangeCall::Clear, .to = to, .count = bytes});
    else if (source == index)
      add({.kind = ExchangeCall::Copy,
           .copy = {{operands[0] + part * bytes, bytes}, {to, bytes}, bytes}});
  }
  add({.kind = ExchangeCall::GroupStart});
  for (uint64_t part = 0; part < permute.num_parts; ++part) {
    for (int64_t member = 0; member < members; ++member)
      if (member != index && sourceOf(part, member) == index)
        add({.kind = ExchangeCall::Send,
             .from = operands[0] + part * bytes,
             .count = count * type.count,
             .type = type.type,
             .peer = static_cast<int>(member)});
    int32_t source = sourceOf(part, index);
    if (source >= 0 && source != index)
      add({.kind = ExchangeCall::Receive,
           .to = operands[1] + part * bytes,
           .count = count * type.count,
           .type = type.type,
           .peer = source});
  }
  add({.kind = ExchangeCall::GroupEnd});
}

std::vector<ExchangeCall> callsOf(const pmrt_instruction &instruction,
                                  const CUdeviceptr *operands,
                                  CUdeviceptr workspace, int64_t members,
                                  int64_t index) {
  return Exchange(instruction, operands, workspace, members, index).make();
}

ExchangeCall callOf(const pmrt_buffer &buffer, bool isSend, CUdeviceptr place) {
  NcclType type = ncclTypeOf(buffer.dtype, /*isReduced=*/false);
  return {.kind = isSend ? ExchangeCall::Send : ExchangeCall::Receive,
          .from = isSend ? place : 0,
          .to = isSend ? 0 : place,
          .count = buffer.bytes / dtypeSize(buffer.dtype) * type.count,
          .type = type.type,
          .peer = isSend ? 1 : 0};
}

} // namespace pipemesh::cuda
