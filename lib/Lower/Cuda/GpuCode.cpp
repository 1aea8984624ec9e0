//===- GpuCode.cpp - building the function of a GPU's kernel --------------===//

#include "GpuCode.h"
#include "../Kernels/ScalarOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace pipemesh;

static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

GpuCode::GpuCode(gpu::GPUModuleOp module, StringRef name, pmrt::FusedOp op)
    : KernelCode(module, op, /*vectorWidth=*/1), gpuModule(module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context, kGlobalSpace);
  unsigned operands = op.getBody().getNumArguments();
  unsigned count = operands + op.getNumResults();
  SmallVector<Type> types(count + 2, pointer);
  builder.setInsertionPointToEnd(module.getBody());
  gpuFunction = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  gpuFunction->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                       builder.getUnitAttr());
  function = gpuFunction;
  Block &entry = gpuFunction.getBody().front();
  builder.setInsertionPointToStart(&entry);
  for (auto [argument, value] :
       llvm::zip(op.getBody().front().getArguments(), entry.getArguments()))
    inputs[argument] = value;
  for (unsigned i = operands; i < count; ++i)
    results.push_back(entry.getArgument(i));
  coordinates = entry.getArgument(count);
  scratch = entry.getArgument(count + 1);
  auto number = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      index);
  };
  threadId = number(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  blockId = number(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
}

void GpuCode::barrier() { gpu::BarrierOp::create(builder, loc); }

void GpuCode::warpBarrier() {
  Value all = arith::ConstantOp::create(builder, loc,
                                        builder.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(builder, loc, all);
}

Value GpuCode::exchange(Value value, int64_t distance) {
  auto number = [&](int64_t x) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(x));
  };
  Type type = value.getType();
  // Narrow numbers travel as 32 bits.
  unsigned bits = type.getIntOrFloatBitWidth();
  Value moved = value;
  Type narrow = builder.getIntegerType(bits);
  if (bits < 32) {
    if (isa<FloatType>(type))
      moved = arith::BitcastOp::create(builder, loc, narrow, moved);
    moved = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), moved);
  }
  moved = gpu::ShuffleOp::create(builder, loc, moved, number(distance),
                                 number(kWarp), gpu::ShuffleMode::XOR)
              .getShuffleResult();
  if (bits < 32) {
    moved = arith::TruncIOp::create(builder, loc, narrow, moved);
    if (isa<FloatType>(type))
      moved = arith::BitcastOp::create(builder, loc, type, moved);
  }
  return moved;
}

Value GpuCode::shared(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(gpuFunction);
  std::string name =
      (gpuFunction.getName() + "_shared_" + Twine(numShared++)).str();
  auto type = LLVM::LLVMArrayType::get(getMemoryType(element), count);
  auto global = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
      Attribute(), /*alignment=*/kAccessBytes, kSharedSpace);
  builder.setInsertionPointToStart(&gpuFunction.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void GpuCode::beginIterations() {
  auto later = [&]() -> arith::ConstantOp {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(1));
  };
  extent = later();
  blockThreads = later();
  begin = add(Value(arith::MulIOp::create(builder, loc, blockId, blockThreads)),
              threadId);
  scratchStride = later();
  Value offset = arith::MulIOp::create(builder, loc, begin, scratchStride);
  scratch = address(scratch, builder.getI8Type(), offset);
  auto guard = scf::IfOp::create(builder, loc, isBelow(begin, extent),
                                 /*withElseRegion=*/false);
  builder.setInsertionPointToStart(guard.thenBlock());
  end = add(begin, 1);
}

Value GpuCode::loadCoordinate(int64_t axis) {
  return load(address(coordinates, builder.getI64Type(), axis),
              builder.getI64Type(), 1);
}

void GpuCode::finishKernel(const KernelInfo &info) {
  if (extent) {
    blocks = llvm::divideCeil(std::max<int64_t>(info.extent, 1), threads);
    extent.setValueAttr(builder.getI64IntegerAttr(info.extent));
    blockThreads.setValueAttr(builder.getI64IntegerAttr(threads));
    scratchStride.setValueAttr(builder.getI64IntegerAttr(info.scratchBytes));
  }
  builder.setInsertionPointToEnd(&gpuFunction.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  gpuFunction.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr(
      {static_cast<int32_t>(threads), 1, 1}));
  gpuFunction.setKnownGridSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(blocks), 1, 1}));
}

Value GpuCode::addf(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value GpuCode::subf(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value GpuCode::mulf(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value GpuCode::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}
Value GpuCode::exp(Value a) { return math::ExpOp::create(builder, loc, a); }
Value GpuCode::lane(Value vector, int64_t number) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  return vector::ExtractOp::create(builder, loc, vector,
                                   ArrayRef<int64_t>{number});
}
