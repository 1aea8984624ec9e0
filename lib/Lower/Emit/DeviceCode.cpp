//===- DeviceCode.cpp -----------------------------------------------------===//

#include "DeviceCode.h"
#include "../ProgramBuffers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

/// What NVIDIA recommends for cuBLASLt on sm_90 (cuBLAS documentation,
/// cublasSetWorkspace).
static constexpr uint64_t kMostProductBytes = 32u << 20;
/// Products that are cut along k keep that many partial results.
static constexpr uint64_t kProductParts = 8;
/// As cuMemAlloc aligns.
static constexpr uint64_t kAlignment = 256;
/// Streams of instructions: compute, collectives, started collectives.
static constexpr unsigned kStreams = 3;

KernelEntry DeviceKernels::lookup(StringRef function) const {
  const GpuKernelInfo &info = kernels.lookup(function);
  KernelEntry entry;
  entry.name = info.name;
  entry.scratchBytes = info.scratchBytes;
  entry.flops = info.flops;
  entry.bytes = info.bytes;
  entry.blocks = info.blocks;
  entry.threads = info.threads;
  return entry;
}

static uint64_t membersOf(ArrayAttr axes, pm::MeshOp mesh) {
  uint64_t members = 1;
  for (auto name : axes.getAsRange<StringAttr>())
    if (pm::MeshAxisAttr axis = mesh.lookupAxis(name))
      members *= axis.getSize();
  return members;
}

static uint64_t elementBytes(Type element) {
  return byteSizeOf(RankedTensorType::get({}, element));
}

/// Of an all-gather or a reduce-scatter: all members' blocks, one behind the other,
/// unless that is how they lie in the whole already.
template <typename Op> static uint64_t packedBytes(Op op, pm::MeshOp mesh) {
  uint64_t members = membersOf(op.getAxes(), mesh);
  if (op.getOuter() == 1 && op.getPiece() * members == op.getRow())
    return 0;
  return members * op.getOuter() * op.getPiece() *
         elementBytes(op.getElementType());
}

RoleMemory pipemesh::layOutDevice(pmrt::RoleOp role, pm::MeshOp mesh,
                                  const KernelEntries &kernels) {
  uint64_t needed[kStreams] = {};
  auto need = [&](unsigned stream, uint64_t bytes) {
    needed[stream] = std::max(needed[stream], bytes);
  };
  role.walk([&](Operation *op) {
    if (auto call = dyn_cast<pmrt::CallOp>(op)) {
      need(0, kernels.lookup(call.getKernel()).scratchBytes);
    } else if (auto product = dyn_cast<pmrt::GemmOp>(op)) {
      need(0, std::min(kMostProductBytes,
                       kProductParts * product.getM() * product.getN() * 4));
    } else if (auto attention = dyn_cast<pmrt::AttentionOp>(op)) {
      need(0, attention.getWorkspaceBytes());
    } else if (auto gather = dyn_cast<pmrt::AllGatherOp>(op)) {
      need(1, packedBytes(gather, mesh));
    } else if (auto scatter = dyn_cast<pmrt::ReduceScatterOp>(op)) {
      need(1, packedBytes(scatter, mesh));
    } else if (auto exchange = dyn_cast<pmrt::AllToAllOp>(op)) {
      // What is sent, and behind it what comes.
      uint64_t rest = exchange.getOuter() * exchange.getMiddle() *
                      exchange.getInner() *
                      elementBytes(exchange.getElementType());
      need(1, rest * (exchange.getSplitSize() * exchange.getConcatPiece() +
                      exchange.getSplitPiece() * exchange.getConcatSize()));
    }
  });
  RoleMemory memory;
  memory.arenaBytes = role.getArenaBytes();
  for (uint64_t bytes : needed) {
    uint64_t offset = llvm::alignTo(memory.arenaBytes, kAlignment);
    memory.workspaces.push_back({offset, llvm::alignTo(bytes, kAlignment)});
    memory.arenaBytes = offset + llvm::alignTo(bytes, kAlignment);
  }
  return memory;
}

llvm::SmallVector<DeviceImage>
pipemesh::makeImages(const CudaKernels &kernels) {
  llvm::SmallVector<DeviceImage> images;
  if (kernels.getKernels().empty())
    return images;
  for (const Cubin &cubin : kernels.getCubins())
    images.push_back({cubin.processor, cubin.image});
  images.push_back({0, kernels.getPtx() + std::string(1, '\0')});
  return images;
}
