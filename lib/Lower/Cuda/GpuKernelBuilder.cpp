//===- GpuKernelBuilder.cpp - fused kernels as GPU code -------------------===//

#include "pipemesh/Lower/Cuda/GpuKernelBuilder.h"
#include "../Kernels/KernelLowering.h"
#include "GpuCode.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace pipemesh;

GpuKernelBuilder::GpuKernelBuilder(ModuleOp parent, StringRef name) {
  MLIRContext *context = parent.getContext();
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect,
                       scf::SCFDialect, arith::ArithDialect, math::MathDialect,
                       vector::VectorDialect, cf::ControlFlowDialect,
                       ub::UBDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(parent.getBody());
  module = gpu::GPUModuleOp::create(builder, parent.getLoc(), name);
}

FailureOr<GpuKernelInfo> GpuKernelBuilder::getOrCreate(pmrt::FusedOp op) {
  auto [entry, isNew] = indexOfKey.try_emplace(
      KernelSignature(op.getBody().front()), kernels.size());
  if (!isNew)
    return kernels[entry->second];

  GpuKernelInfo info;
  info.index = kernels.size();
  info.name = getKernelName(op, kernels.size());
  GpuCode code(module, info.name, op);
  KernelInfo work;
  constexpr KernelEmitters emitters{emitGpuRowKernel, emitGpuAttentionKernel,
                                    emitGpuEmbeddingKernel};
  if (failed(emitKernel(code, op, emitters, work))) {
    code.getFunction().erase();
    indexOfKey.erase(entry);
    return failure();
  }
  code.finishKernel(work);
  if (failed(optimizeKernel(code.getFunction()))) {
    op.emitError("has a kernel that cannot be simplified");
    return failure();
  }
  countWork(op, work);
  info.blocks = code.blocks;
  info.threads = code.threads;
  info.scratchBytes =
      work.scratchBytes * static_cast<uint64_t>(info.blocks * info.threads);
  info.flops = work.flops;
  info.bytes = work.bytes;
  kernels.push_back(info);
  return info;
}
