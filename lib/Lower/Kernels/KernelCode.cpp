//===- KernelCode.cpp - building the function of a kernel -----------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;

KernelCode::KernelCode(ModuleOp module, StringRef name, pmrt::FusedOp op,
                       const CpuTarget &target)
    : builder(module.getContext()), loc(op.getLoc()), fused(op),
      vectorWidth(target.vectorWidth), module(module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context), {pointer, i64, i64, pointer, pointer});
  builder.setInsertionPointToEnd(module.getBody());
  function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value operands = entry->getArgument(0);
  begin = entry->getArgument(1);
  end = entry->getArgument(2);
  scratch = entry->getArgument(3);
  this->context = entry->getArgument(4);
  int64_t count = 0;
  auto next = [&]() -> Value {
    Value place = address(operands, pointer, count++);
    return LLVM::LoadOp::create(builder, loc, pointer, place, 8);
  };
  for (BlockArgument argument : op.getBody().front().getArguments())
    inputs[argument] = next();
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i)
    results.push_back(next());
}

Value KernelCode::index(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value KernelCode::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value KernelCode::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}

Value KernelCode::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, index(b));
}

Value KernelCode::minimum(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}

Value KernelCode::constant(Type type, double value) {
  return emitConstant(builder, loc, type, value);
}

Value KernelCode::address(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(),
                             getMemoryType(element), pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value KernelCode::address(Value pointer, Type element, int64_t index) {
  if (index == 0)
    return pointer;
  return LLVM::GEPOp::create(
      builder, loc, pointer.getType(),
      isa<LLVM::LLVMPointerType>(element) ? element : getMemoryType(element),
      pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Value KernelCode::load(Value address, Type element, unsigned width) {
  Type type = getVectorType(getMemoryType(element), width);
  Value value = LLVM::LoadOp::create(builder, loc, type, address,
                                     getElementBytes(element));
  if (element.isInteger(1))
    value = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                  constant(type, 0));
  return value;
}

void KernelCode::store(Value value, Value address, Type element) {
  if (element.isInteger(1)) {
    unsigned width = 1;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      width = vector.getNumElements();
    value = arith::ExtUIOp::create(
        builder, loc, getVectorType(getMemoryType(element), width), value);
  }
  LLVM::StoreOp::create(builder, loc, value, address, getElementBytes(element));
}

Value KernelCode::splat(Value scalar, unsigned width) {
  if (width == 1)
    return scalar;
  return vector::BroadcastOp::create(
      builder, loc, getVectorType(scalar.getType(), width), scalar);
}

SmallVector<Value> KernelCode::loop(
    Value low, Value high, int64_t step, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, low, high, index(step), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!inits.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  return SmallVector<Value>(loop.getResults());
}

Value KernelCode::constantTable(stablehlo::ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type element = elements.getElementType(), stored = getMemoryType(element);
  int64_t count = elements.getNumElements();
  auto flat = RankedTensorType::get({count}, stored);
  if (element.isInteger(1)) {
    SmallVector<int8_t> bytes;
    for (bool value : elements.getValues<bool>())
      bytes.push_back(value);
    elements = DenseElementsAttr::get(flat, ArrayRef<int8_t>(bytes));
  } else {
    elements = DenseElementsAttr::getFromRawBuffer(flat, elements.getRawData());
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  unsigned number = 0;
  std::string name;
  do
    name = (function.getName() + "_table_" + Twine(number++)).str();
  while (module.lookupSymbol(name));
  auto type = LLVM::LLVMArrayType::get(stored, count);
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, elements,
                                       /*alignment=*/64);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void KernelCode::finish() {
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

Value pipemesh::emitScalarSource(KernelCode &code, Operation *op) {
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || !elements.isSplat())
      return {};
    Type element = elements.getElementType();
    TypedAttr value;
    if (isa<FloatType>(element))
      value = FloatAttr::get(element, elements.getSplatValue<APFloat>());
    else if (isa<IntegerType>(element))
      value = IntegerAttr::get(getRegisterType(element),
                               elements.getSplatValue<APInt>());
    else
      return {};
    return arith::ConstantOp::create(code.builder, code.loc, value);
  }
  if (auto axisIndex = dyn_cast<pm::AxisIndexOp>(op)) {
    // The place of the axis in the mesh is the place in the context's array.
    pm::MeshOp mesh = pm::lookupMesh(code.fused);
    int64_t position = 0;
    for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
      if (axis.getName().getValue() == axisIndex.getAxis())
        break;
      ++position;
    }
    OpBuilder &builder = code.builder;
    Type pointer = code.context.getType();
    Value coordinates = LLVM::LoadOp::create(
        builder, code.loc, pointer, code.address(code.context, pointer, 1), 8);
    Value coordinate =
        code.load(code.address(coordinates, builder.getI64Type(), position),
                  builder.getI64Type(), 1);
    return arith::TruncIOp::create(builder, code.loc, builder.getI32Type(),
                                   coordinate);
  }
  return {};
}
