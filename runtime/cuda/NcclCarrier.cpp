//===- NcclCarrier.cpp - Collectives and transfers by NCCL ----------------===//

#include "cuda/NcclCarrier.h"

#include "core/Instruction.h"

namespace pipemesh::cuda {

using runtime::communicatorOf;
using runtime::describe;

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

void NcclCarrier::copy(const StridedCopy &copy, const std::string &what,
                       CUstream stream) {
  if (copy.rows == 1 && copy.slices == 1) {
    libraries.check(libraries.cuMemcpyDtoDAsync_v2(
                        copy.to.begin, copy.from.begin, copy.width, stream),
                    "cuMemcpyDtoDAsync for ", what);
    return;
  }
  auto describe = [&](auto &call) {
    call.srcMemoryType = call.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    call.srcDevice = copy.from.begin;
    call.srcPitch = copy.from.pitch;
    call.dstDevice = copy.to.begin;
    call.dstPitch = copy.to.pitch;
    call.WidthInBytes = copy.width;
    call.Height = copy.rows;
  };
  if (copy.slices == 1) {
    CUDA_MEMCPY2D call{};
    describe(call);
    libraries.check(libraries.cuMemcpy2DAsync_v2(&call, stream),
                    "cuMemcpy2DAsync for ", what);
    return;
  }
  CUDA_MEMCPY3D call{};
  describe(call);
  call.srcHeight = copy.from.height;
  call.dstHeight = copy.to.height;
  call.Depth = copy.slices;
  libraries.check(libraries.cuMemcpy3DAsync_v2(&call, stream),
                  "cuMemcpy3DAsync for ", what);
}

void NcclCarrier::launch(const ExchangeCall &call, ncclComm_t communicator,
                         const std::string &what, CUstream stream) {
  auto check = [&](ncclResult_t result, const char *name) {
    libraries.checkNccl(result, communicator, name, " for ", what);
  };
  switch (call.kind) {
  case ExchangeCall::Clear:
    libraries.check(libraries.cuMemsetD8Async(call.to, 0, call.count, stream),
                    "cuMemsetD8Async for ", what);
    break;
  case ExchangeCall::Copy:
    copy(call.copy, what, stream);
    break;
  case ExchangeCall::GroupStart:
    check(libraries.ncclGroupStart(), "ncclGroupStart");
    break;
  case ExchangeCall::GroupEnd:
    check(libraries.ncclGroupEnd(), "ncclGroupEnd");
    break;
  case ExchangeCall::AllReduce:
    check(libraries.ncclAllReduce(pointer(call.from), pointer(call.to),
                                  call.count, call.type, call.reduction,
                                  communicator, stream),
          "ncclAllReduce");
    break;
  case ExchangeCall::AllGather:
    check(libraries.ncclAllGather(pointer(call.from), pointer(call.to),
                                  call.count, call.type, communicator, stream),
          "ncclAllGather");
    break;
  case ExchangeCall::ReduceScatter:
    check(libraries.ncclReduceScatter(pointer(call.from), pointer(call.to),
                                      call.count, call.type, call.reduction,
                                      communicator, stream),
          "ncclReduceScatter");
    break;
  case ExchangeCall::Send:
    check(libraries.ncclSend(pointer(call.from), call.count, call.type,
                             call.peer, communicator, stream),
          "ncclSend");
    break;
  case ExchangeCall::Receive:
    check(libraries.ncclRecv(pointer(call.to), call.count, call.type, call.peer,
                             communicator, stream),
          "ncclRecv");
    break;
  }
}

void NcclCarrier::run(const pmrt_instruction &instruction,
                      const CUdeviceptr *operands, CUdeviceptr workspace,
                      CUstream stream) {
  const Own &own = owns[communicatorOf(instruction)];
  std::string what = describe(instruction);
  for (const ExchangeCall &call :
       callsOf(instruction, operands, workspace, own.members, own.index))
    launch(call, own.communicator, what, stream);
  communicators->settle(own.communicator, what);
}

void NcclCarrier::run(const std::vector<Transfer> &transfers, CUstream stream) {
  ncclComm_t communicator = lanes[transfers.front().lane];
  bool isGroup = transfers.size() > 1;
  if (isGroup)
    launch({.kind = ExchangeCall::GroupStart}, communicator, "transfers",
           stream);
  for (const Transfer &transfer : transfers) {
    const pmrt_buffer &buffer = role.buffers[role.actions[transfer.action].index];
    launch(callOf(buffer, transfer.isSend, transfer.place), communicator,
           cat("'", buffer.name, "'"), stream);
  }
  if (isGroup)
    launch({.kind = ExchangeCall::GroupEnd}, communicator, "transfers", stream);
  communicators->settle(communicator, "transfers");
}

} // namespace pipemesh::cuda
