//===- KernelBuilder.cpp - machine code of fused kernels ------------------===//

#include "pipemesh/Lower/Kernels/KernelBuilder.h"
#include "KernelCode.h"
#include "KernelLowering.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;

KernelBuilder::KernelBuilder(MLIRContext *context, const CpuTarget &target,
                             unsigned part, unsigned parts)
    : target(target), part(part), parts(parts) {
  context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect,
                       math::MathDialect, vector::VectorDialect,
                       cf::ControlFlowDialect, ub::UBDialect>();
  module = ModuleOp::create(UnknownLoc::get(context), "kernels");
}

std::string pipemesh::getKernelName(pmrt::FusedOp op, size_t index) {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (auto attr = op->getAttrOfType<StringAttr>("name"))
    os << attr.getValue();
  else
    os << "kernel";
  if (op.getNumResults()) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    os << "_";
    llvm::interleave(type.getShape(), os, "x");
  }
  os << "_" << index;
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

uint64_t pipemesh::countOperations(pmrt::FusedOp op) {
  Block &block = op.getBody().front();
  uint64_t operations = 0;
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    uint64_t elements = getNumElements(op.getResult(0));
    if (isa<stablehlo::ReduceOp>(op)) {
      operations += getNumElements(op.getOperand(0));
    } else if (auto attention = dyn_cast<pm::AttentionOp>(op)) {
      operations += 4 * elements * attention.getKey().getType().getDimSize(1);
    } else if (auto grad = dyn_cast<pm::AttentionGradOp>(op)) {
      operations += 10 * elements * grad.getKey().getType().getDimSize(1);
    } else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
      uint64_t depth = 1;
      for (int64_t dim :
           dot.getDotDimensionNumbers().getLhsContractingDimensions())
        depth *= lhs.getDimSize(dim);
      operations += 2 * elements * depth;
    } else if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
      uint64_t outFeatures =
          convolution.getRhs().getType().getDimSize(
              convolution.getDimensionNumbers()
                  .getKernelOutputFeatureDimension());
      operations += 2 * elements * getNumElements(convolution.getRhs()) /
                    std::max<uint64_t>(1, outFeatures);
    } else if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
      uint64_t size = 1;
      for (int64_t dim : window.getWindowDimensions())
        size *= dim;
      operations += elements * size;
    } else if (isa<stablehlo::SortOp>(op)) {
      operations += elements * 16;
    } else if (isa<stablehlo::RngBitGeneratorOp>(op)) {
      operations += getNumElements(op.getResult(1)) * 64;
    } else if (op.hasTrait<stablehlo::Elementwise>()) {
      bool heavy = isa<stablehlo::ExpOp, stablehlo::LogOp, stablehlo::TanhOp,
                       stablehlo::LogisticOp, stablehlo::PowOp>(op);
      operations += elements * (heavy ? 10 : 1);
    }
  }
  return operations;
}

LogicalResult pipemesh::emitKernel(KernelCode &code, pmrt::FusedOp op,
                                   const KernelEmitters &emitters,
                                   KernelInfo &info) {
  Block &block = op.getBody().front();
  Operation &first = block.front();
  if (isa<pm::EmbeddingOp, pm::EmbeddingGradOp>(first))
    return emitters.embedding(code, &first, info);
  if (isa<pm::AttentionOp, pm::AttentionGradOp>(first))
    return emitters.attention(code, &first, info);
  if (isWholeKernel(&first)) {
    code.beginIterations();
    return llvm::TypeSwitch<Operation *, LogicalResult>(&first)
        .Case<stablehlo::ReduceOp>(
            [&](auto reduce) { return emitReduceKernel(code, reduce, info); })
        .Case<stablehlo::ReduceWindowOp>(
            [&](auto window) { return emitWindowKernel(code, window, info); })
        .Case<stablehlo::ConvolutionOp>([&](auto convolution) {
          return emitConvolutionKernel(code, convolution, info);
        })
        .Case<stablehlo::DotGeneralOp>(
            [&](auto dot) { return emitProductKernel(code, dot, info); })
        .Case<stablehlo::SortOp>(
            [&](auto sort) { return emitSortKernel(code, sort, info); })
        .Case<stablehlo::ScatterOp>([&](auto scatter) {
          return emitScatterKernel(code, scatter, info);
        })
        .Case<stablehlo::RngBitGeneratorOp>(
            [&](auto random) { return emitRandomKernel(code, random, info); })
        .Default([](Operation *op) {
          return op->emitError("has no kernel");
        });
  }
  KernelBody body;
  for (Operation &inner : block.without_terminator()) {
    if (inner.getNumResults() != 1 || !hasElementCode(&inner))
      return inner.emitError("has no code as part of a kernel");
    body.ops.insert(&inner);
  }
  body.outputs = SmallVector<Value>(block.getTerminator()->getOperands());
  FailureOr<KernelPlan> plan = planKernel(body);
  if (failed(plan))
    return op.emitError("cannot be computed in one pass over rows, columns or "
                        "elements; split it into several kernels");
  if (plan->kind != KernelPlan::Elements)
    return emitters.rows(code, body, *plan, info);
  code.beginIterations();
  return emitElementKernel(code, body, *plan, info);
}

void pipemesh::countWork(pmrt::FusedOp op, KernelInfo &info) {
  auto addBytes = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    info.bytes +=
        tensor.getNumElements() * getElementBytes(tensor.getElementType());
  };
  for (Type type : op.getOperandTypes())
    addBytes(type);
  for (Type type : op.getResultTypes())
    addBytes(type);
  info.flops = countOperations(op);
}

FailureOr<KernelInfo> KernelBuilder::getOrCreate(pmrt::FusedOp op) {
  auto [entry, isNew] =
      indexOfKey.try_emplace(
      KernelSignature(op.getBody().front()), kernels.size());
  if (!isNew)
    return kernels[entry->second];

  KernelInfo info;
  info.index = kernels.size();
  info.name = getKernelName(op, kernels.size() * parts + part);
  KernelCode code(*module, info.name, op, target);
  constexpr KernelEmitters emitters{emitRowKernel, emitAttentionKernel,
                                    emitEmbeddingKernel};
  if (failed(emitKernel(code, op, emitters, info))) {
    code.function.erase();
    indexOfKey.erase(entry);
    return failure();
  }
  code.finish();
  if (failed(optimizeKernel(code.function.getOperation()))) {
    op.emitError("has a kernel that cannot be simplified");
    return failure();
  }
  countWork(op, info);
  // A thread of its own is worth about ten microseconds of work.
  constexpr uint64_t enoughWork = 64 << 10;
  uint64_t work = std::max<uint64_t>(1, (info.bytes + info.flops) /
                                            std::max<int64_t>(1, info.extent));
  info.grain = std::max<int64_t>(
      1, std::min<int64_t>(info.extent, llvm::divideCeil(enoughWork, work)));
  kernels.push_back(info);
  return info;
}

FailureOr<std::unique_ptr<llvm::Module>>
KernelBuilder::finish(llvm::LLVMContext &llvmContext) {
  return lowerKernels(*module, target, llvmContext);
}
