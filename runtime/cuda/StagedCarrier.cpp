//===- StagedCarrier.cpp - Collectives and transfers through the host -----===//

#include "cuda/StagedCarrier.h"

#include "host/Program.h"

#include <algorithm>

namespace pipemesh::cuda {

static uint64_t roundUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

static uint64_t stagedBytes(const pmrt_instruction &instruction) {
  uint64_t bytes = 0;
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    bytes += roundUp(instruction.operands[o].bytes);
  return bytes;
}

StagedCarrier::StagedCarrier(Device &device, const Host &host)
    : device(device), host(host), counts(host.role.num_communicators) {
  uint64_t most = 64;
  for (uint32_t b = 0; b < host.role.num_bodies; ++b)
    for (uint64_t i = 0; i < host.role.bodies[b].num_instructions; ++i)
      if (runtime::isCollective(host.role.bodies[b].instructions[i]))
        most = std::max(most, stagedBytes(host.role.bodies[b].instructions[i]));
  for (uint64_t a = 0; a < host.role.num_actions; ++a)
    if (host.role.actions[a].kind != PMRT_RUN)
      most = std::max(most, host.role.buffers[host.role.actions[a].index].bytes);
  staging = device.allocatePinned(most);
}

void StagedCarrier::fetch(std::byte *to, CUdeviceptr from, uint64_t bytes,
                          CUstream stream) {
  if (bytes)
    device.libraries.check(
        device.libraries.cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        "cuMemcpyDtoHAsync");
}

void StagedCarrier::store(CUdeviceptr to, const std::byte *from, uint64_t bytes,
                          CUstream stream) {
  if (bytes)
    device.libraries.check(
        device.libraries.cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        "cuMemcpyHtoDAsync");
}

void StagedCarrier::run(const pmrt_instruction &instruction,
                        const CUdeviceptr *operands, CUdeviceptr /*workspace*/,
                        CUstream stream) {
  const Libraries &libraries = device.libraries;
  std::vector<void *> pointers;
  std::byte *next = staging;
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    pointers.push_back(next);
    // What is written in parts keeps the rest.
    fetch(next, operands[o], operand.bytes, stream);
    next += roundUp(operand.bytes);
  }
  libraries.check(libraries.cuStreamSynchronize(stream), "cuStreamSynchronize before ",
                  runtime::describe(instruction));
  uint32_t communicator = runtime::communicatorOf(instruction);
  host.groups[communicator]->run(host.memberIndex[communicator],
                                 ++counts[communicator], instruction, pointers.data(),
                                 pool, host.patience);
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    if (instruction.operands[o].access & PMRT_WRITE)
      store(operands[o], static_cast<std::byte *>(pointers[o]),
            instruction.operands[o].bytes, stream);
  libraries.check(libraries.cuStreamSynchronize(stream), "cuStreamSynchronize behind ",
                  runtime::describe(instruction));
}

void StagedCarrier::run(const std::vector<Transfer> &transfers, CUstream stream) {
  const Libraries &libraries = device.libraries;
  for (const Transfer &transfer : transfers) {
    const pmrt_action &action = host.role.actions[transfer.action];
    const pmrt_buffer &buffer = host.role.buffers[action.index];
    runtime::Parcel parcel{buffer.bytes, host.step(), action.micro_batch, buffer.dtype};
    if (transfer.isSend) {
      fetch(staging, transfer.place, buffer.bytes, stream);
      libraries.check(libraries.cuStreamSynchronize(stream),
                      "cuStreamSynchronize before the send of '", buffer.name, "'");
      host.transport.send({host.rank, transfer.peer, action.channel}, parcel, staging);
      continue;
    }
    // The stream first gets to where the place is free.
    libraries.check(libraries.cuStreamSynchronize(stream),
                    "cuStreamSynchronize before the receive of '", buffer.name, "'");
    host.transport.receive({transfer.peer, host.rank, action.channel}, parcel, staging,
                           host.patience);
    store(transfer.place, staging, buffer.bytes, stream);
    libraries.check(libraries.cuStreamSynchronize(stream),
                    "cuStreamSynchronize behind the receive of '", buffer.name, "'");
  }
}

} // namespace pipemesh::cuda
