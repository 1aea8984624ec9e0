//===- NcclCarrier.cpp - Collectives and transfers by NCCL ----------------===//

#include "cuda/NcclCarrier.h"

#include "cuda/StridedCopy.h"
#include "host/Program.h"
#include "host/Collective.h"

#include <algorithm>

namespace pipemesh::cuda {

using runtime::collectiveOf;
using runtime::communicatorOf;
using runtime::describe;
using runtime::dtypeOf;
using runtime::dtypeSize;

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
      fail("NCCL reduces no integers of 16 bits; convert them to 32 bits in the model");
    return {ncclUint8, dtypeSize(dtype)};
  }
}

static int reductionOf(uint32_t reduction) {
  return reduction == PMRT_MAX ? ncclMax : reduction == PMRT_MIN ? ncclMin : ncclSum;
}

static void *pointer(CUdeviceptr place) { return reinterpret_cast<void *>(place); }

NcclCarrier::NcclCarrier(const Libraries &libraries,
                         std::unique_ptr<Communicators> given,
                         const std::vector<Division> &divisions, const Mesh &mesh,
                         const pmrt_role &role, const Plan &plan, int64_t rank)
    : libraries(libraries), communicators(std::move(given)), role(role) {
  for (uint32_t c = 0; c < role.num_communicators; ++c) {
    const pmrt_communicator &communicator = role.communicators[c];
    size_t division = divisionOf(divisions, mesh, communicator);
    std::vector<int64_t> members = mesh.group(
        rank, {communicator.axes, communicator.axes + communicator.num_axes});
    owns.push_back({communicators->get(division),
                    static_cast<int64_t>(members.size()),
                    divisions[division].keys[rank]});
  }
  for (const TransferLane &lane : plan.getLanes())
    lanes.push_back(communicators->get(divisionOf(divisions, lane)));
}

void NcclCarrier::check(ncclResult_t result, const Own &own, const char *call,
                        const pmrt_instruction &instruction) {
  libraries.checkNccl(result, own.communicator, call, " for ", describe(instruction));
}

void NcclCarrier::begin() {
  libraries.checkNccl(libraries.ncclGroupStart(), nullptr, "ncclGroupStart");
}

void NcclCarrier::end(const Own &own, const pmrt_instruction &instruction) {
  check(libraries.ncclGroupEnd(), own, "ncclGroupEnd", instruction);
}

void NcclCarrier::run(const pmrt_instruction &instruction, const CUdeviceptr *operands,
                      CUdeviceptr workspace, CUstream stream) {
  switch (instruction.opcode) {
  case PMRT_OP_ALL_REDUCE:
    allReduce(instruction, operands, stream);
    break;
  case PMRT_OP_ALL_GATHER:
    gather(instruction, operands, workspace, stream);
    break;
  case PMRT_OP_REDUCE_SCATTER:
    scatter(instruction, operands, workspace, stream);
    break;
  case PMRT_OP_ALL_TO_ALL:
    allToAll(instruction, operands, workspace, stream);
    break;
  case PMRT_OP_PERMUTE:
    permute(instruction, operands, stream);
    break;
  default:
    fail(describe(instruction), " is no collective");
  }
  communicators->settle(owns[communicatorOf(instruction)].communicator,
                        describe(instruction));
}

void NcclCarrier::allReduce(const pmrt_instruction &instruction,
                            const CUdeviceptr *operands, CUstream stream) {
  const pmrt_collective &collective = collectiveOf(instruction);
  const Own &own = owns[collective.communicator];
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/true);
  bool isGroup = instruction.num_operands > 1;
  if (isGroup)
    begin();
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    check(libraries.ncclAllReduce(pointer(operands[o]), pointer(operands[o]),
                                  collective.counts[o] * type.count, type.type,
                                  reductionOf(collective.reduction), own.communicator,
                                  stream),
          own, "ncclAllReduce", instruction);
  if (isGroup)
    end(own, instruction);
}

/// Whether the members' blocks lie one behind the other in the whole, and fill it.
static bool isPacked(const pmrt_collective &collective, int64_t members) {
  return collective.outer == 1 &&
         collective.counts[0] * static_cast<uint64_t>(members) == collective.counts[1];
}

void NcclCarrier::copyPieces(const pmrt_collective &collective, const Own &own,
                             CUdeviceptr whole, CUdeviceptr packed, bool pack,
                             CUstream stream) {
  uint64_t size = dtypeSize(collective.dtype), piece = collective.counts[0] * size,
           row = collective.counts[1] * size;
  for (int64_t i = 0; i < own.members; ++i) {
    uint64_t width =
        static_cast<uint64_t>(runtime::pieceElements(collective, i)) * size;
    StridedPlace inWhole{whole + static_cast<uint64_t>(i) * piece, row};
    StridedPlace inPacked{packed + static_cast<uint64_t>(i) * collective.outer * piece,
                          piece};
    copyRows(libraries, pack ? inWhole : inPacked, pack ? inPacked : inWhole, width,
             collective.outer, stream);
  }
}

void NcclCarrier::gather(const pmrt_instruction &instruction,
                         const CUdeviceptr *operands, CUdeviceptr workspace,
                         CUstream stream) {
  const pmrt_collective &collective = collectiveOf(instruction);
  const Own &own = owns[collective.communicator];
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/false);
  bool direct = isPacked(collective, own.members);
  check(libraries.ncclAllGather(pointer(operands[0]),
                                pointer(direct ? operands[1] : workspace),
                                collective.outer * collective.counts[0] * type.count,
                                type.type, own.communicator, stream),
        own, "ncclAllGather", instruction);
  if (!direct)
    copyPieces(collective, own, operands[1], workspace, /*pack=*/false, stream);
}

void NcclCarrier::scatter(const pmrt_instruction &instruction,
                          const CUdeviceptr *operands, CUdeviceptr workspace,
                          CUstream stream) {
  const pmrt_collective &collective = collectiveOf(instruction);
  const Own &own = owns[collective.communicator];
  NcclType type = ncclTypeOf(collective.dtype, /*isReduced=*/true);
  bool direct = isPacked(collective, own.members);
  uint64_t block = collective.outer * collective.counts[0];
  if (!direct) {
    uint64_t filled = collective.counts[1],
             whole = collective.counts[0] * static_cast<uint64_t>(own.members);
    // What lies behind short pieces is summed too.
    if (filled < whole)
      libraries.check(
          libraries.cuMemsetD8Async(workspace, 0,
                                    block * static_cast<uint64_t>(own.members) *
                                        dtypeSize(collective.dtype),
                                    stream),
          "cuMemsetD8Async");
    copyPieces(collective, own, operands[0], workspace, /*pack=*/true, stream);
  }
  check(libraries.ncclReduceScatter(pointer(direct ? operands[0] : workspace),
                                    pointer(operands[1]), block * type.count, type.type,
                                    reductionOf(collective.reduction), own.communicator,
                                    stream),
        own, "ncclReduceScatter", instruction);
}

void NcclCarrier::allToAll(const pmrt_instruction &instruction,
                           const CUdeviceptr *operands, CUdeviceptr workspace,
                           CUstream stream) {
  const pmrt_all_to_all &exchange = runtime::allToAllOf(instruction);
  const Own &own = owns[exchange.communicator];
  NcclType type = ncclTypeOf(exchange.dtype, /*isReduced=*/false);
  uint64_t size = dtypeSize(exchange.dtype);
  auto elements = [&](int64_t from, int64_t to) {
    return static_cast<uint64_t>(runtime::exchangedElements(exchange, from, to));
  };
  // What is sent, and behind it what comes; a member's own part goes by itself.
  uint64_t sentBytes = 0;
  for (int64_t to = 0; to < own.members; ++to)
    sentBytes += elements(own.index, to) * size;
  CUdeviceptr place = workspace;
  std::vector<CUdeviceptr> sent, come;
  for (int64_t to = 0; to < own.members; ++to) {
    sent.push_back(place);
    copyExchanged(libraries, exchange, own.index, to, operands[0], place,
                  /*pack=*/true, stream);
    place += elements(own.index, to) * size;
  }
  place = workspace + sentBytes;
  for (int64_t from = 0; from < own.members; ++from) {
    come.push_back(place);
    place += elements(from, own.index) * size;
  }
  begin();
  for (int64_t other = 0; other < own.members; ++other) {
    if (other == own.index)
      continue;
    if (uint64_t count = elements(own.index, other))
      check(libraries.ncclSend(pointer(sent[other]), count * type.count, type.type,
                               static_cast<int>(other), own.communicator, stream),
            own, "ncclSend", instruction);
    if (uint64_t count = elements(other, own.index))
      check(libraries.ncclRecv(pointer(come[other]), count * type.count, type.type,
                               static_cast<int>(other), own.communicator, stream),
            own, "ncclRecv", instruction);
  }
  end(own, instruction);
  for (int64_t from = 0; from < own.members; ++from)
    copyExchanged(libraries, exchange, from, own.index, operands[1],
                  from == own.index ? sent[from] : come[from], /*pack=*/false, stream);
}

void NcclCarrier::permute(const pmrt_instruction &instruction,
                          const CUdeviceptr *operands, CUstream stream) {
  const pmrt_permute &permute = runtime::permuteOf(instruction);
  const Own &own = owns[permute.communicator];
  NcclType type = ncclTypeOf(permute.dtype, /*isReduced=*/false);
  // The count is that of all parts.
  uint64_t count = permute.count / permute.num_parts;
  uint64_t bytes = count * dtypeSize(permute.dtype);
  auto sourceOf = [&](uint64_t part, int64_t member) {
    return permute.sources[part * permute.num_members +
                           static_cast<uint64_t>(member)];
  };
  for (uint64_t part = 0; part < permute.num_parts; ++part) {
    int32_t source = sourceOf(part, own.index);
    if (source < 0)
      libraries.check(libraries.cuMemsetD8Async(operands[1] + part * bytes, 0, bytes,
                                                stream),
                      "cuMemsetD8Async for ", describe(instruction));
    else if (source == own.index)
      libraries.check(libraries.cuMemcpyDtoDAsync_v2(operands[1] + part * bytes,
                                                     operands[0] + part * bytes, bytes,
                                                     stream),
                      "cuMemcpyDtoDAsync for ", describe(instruction));
  }
  begin();
  for (uint64_t part = 0; part < permute.num_parts; ++part) {
    for (int64_t member = 0; member < own.members; ++member)
      if (member != own.index && sourceOf(part, member) == own.index)
        check(libraries.ncclSend(pointer(operands[0] + part * bytes),
                                 count * type.count, type.type,
                                 static_cast<int>(member), own.communicator, stream),
              own, "ncclSend", instruction);
    int32_t source = sourceOf(part, own.index);
    if (source >= 0 && source != own.index)
      check(libraries.ncclRecv(pointer(operands[1] + part * bytes),
                               count * type.count, type.type, source,
                               own.communicator, stream),
            own, "ncclRecv", instruction);
  }
  end(own, instruction);
}

void NcclCarrier::run(const std::vector<Transfer> &transfers, CUstream stream) {
  ncclComm_t communicator = lanes[transfers.front().lane];
  if (transfers.size() > 1)
    begin();
  for (const Transfer &transfer : transfers) {
    const pmrt_buffer &buffer = role.buffers[role.actions[transfer.action].index];
    NcclType type = ncclTypeOf(buffer.dtype, /*isReduced=*/false);
    uint64_t count = buffer.bytes / dtypeSize(buffer.dtype) * type.count;
    // The sender is rank 0 of the pair.
    if (transfer.isSend)
      libraries.checkNccl(libraries.ncclSend(pointer(transfer.place), count, type.type,
                                             1, communicator, stream),
                          communicator, "ncclSend of '", buffer.name, "'");
    else
      libraries.checkNccl(libraries.ncclRecv(pointer(transfer.place), count, type.type,
                                             0, communicator, stream),
                          communicator, "ncclRecv of '", buffer.name, "'");
  }
  if (transfers.size() > 1)
    libraries.checkNccl(libraries.ncclGroupEnd(), communicator, "ncclGroupEnd");
  communicators->settle(communicator, "transfers");
}

} // namespace pipemesh::cuda
