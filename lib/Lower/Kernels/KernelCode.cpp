//===- KernelCode.cpp - building the function of a kernel -----------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <complex>
#include <functional>

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
  auto made = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  Block *entry = made.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  function = made;
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

KernelCode::KernelCode(Operation *module, pmrt::FusedOp op,
                       unsigned vectorWidth)
    : builder(module->getContext()), loc(op.getLoc()), fused(op),
      vectorWidth(vectorWidth), module(module) {}

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

Value KernelCode::load(Value address, Type element, unsigned width,
                       unsigned alignment) {
  Type type = getVectorType(getMemoryType(element), width);
  Value value = LLVM::LoadOp::create(builder, loc, type, address,
                                     alignment ? alignment
                                               : getElementBytes(element));
  if (element.isInteger(1))
    value = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                  constant(type, 0));
  return value;
}

void KernelCode::store(Value value, Value address, Type element,
                       unsigned alignment) {
  if (element.isInteger(1)) {
    unsigned width = 1;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      width = vector.getNumElements();
    value = arith::ExtUIOp::create(
        builder, loc, getVectorType(getMemoryType(element), width), value);
  }
  LLVM::StoreOp::create(builder, loc, value, address,
                        alignment ? alignment : getElementBytes(element));
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

SmallVector<Value>
KernelCode::choose(Value predicate, TypeRange types,
                   llvm::function_ref<SmallVector<Value>()> first,
                   llvm::function_ref<SmallVector<Value>()> second) {
  auto branch = scf::IfOp::create(builder, loc, types, predicate,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, first());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, second());
  return SmallVector<Value>(branch.getResults());
}

void KernelCode::when(Value predicate, llvm::function_ref<void()> body) {
  auto branch =
      scf::IfOp::create(builder, loc, predicate, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value KernelCode::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}

Value KernelCode::divide(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, index(b));
}

Value KernelCode::remainder(Value a, int64_t b) {
  return b == 1 ? index(0)
                : Value(arith::RemUIOp::create(builder, loc, a, index(b)));
}

Value KernelCode::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value KernelCode::isInside(Value a, int64_t limit) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                               index(limit));
}

Value KernelCode::both(Value a, Value b) {
  return a ? Value(arith::AndIOp::create(builder, loc, a, b)) : b;
}

Value KernelCode::select(Value predicate, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, predicate, a, b);
}

Value KernelCode::linearize(ArrayRef<int64_t> shape, ArrayRef<Value> indices) {
  Value position;
  for (auto [size, index] : llvm::zip(shape, indices))
    position = position ? add(mul(position, size), index) : index;
  return position ? position : index(0);
}

SmallVector<Value> KernelCode::delinearize(ArrayRef<int64_t> shape,
                                           Value position) {
  SmallVector<Value> indices(shape.size());
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    if (i == 0) {
      indices[i] = position;
      break;
    }
    indices[i] = remainder(position, shape[i]);
    position = divide(position, shape[i]);
  }
  return indices;
}

SmallVector<Value> KernelCode::loopOver(
    ArrayRef<int64_t> shape, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  SmallVector<Value> indices(shape.size());
  std::function<SmallVector<Value>(size_t, ValueRange)> run =
      [&](size_t depth, ValueRange carried) -> SmallVector<Value> {
    if (depth == shape.size())
      return body(indices, carried);
    if (shape[depth] == 1) {
      indices[depth] = index(0);
      return run(depth + 1, carried);
    }
    return loop(index(0), index(shape[depth]), 1, carried,
                [&](Value i, ValueRange inner) {
                  indices[depth] = i;
                  return run(depth + 1, inner);
                });
  };
  return run(0, inits);
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Value KernelCode::loadElement(Value operand, Value position) {
  Type element = elementOf(operand);
  return load(address(inputs.lookup(operand), element, position), element, 1);
}

void KernelCode::storeElement(unsigned result, Type element, Value value,
                              Value position) {
  store(value, address(results[result], element, position), element);
}

Value KernelCode::toIndex(Value value, Type element) {
  Type i64 = builder.getI64Type();
  if (value.getType() == i64)
    return value;
  if (element.isUnsignedInteger())
    return arith::ExtUIOp::create(builder, loc, i64, value);
  return arith::ExtSIOp::create(builder, loc, i64, value);
}

FailureOr<SmallVector<Value>>
pipemesh::emitScalarRegion(KernelCode &code, Region &region,
                           ArrayRef<Value> arguments) {
  Block &block = region.front();
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    Value value = emitScalarSource(code, &op);
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      operands.push_back(values.lookup(operand));
      if (!operands.back())
        return op.emitError("reads a value from outside of its region, which a "
                            "kernel cannot hold");
    }
    // Between values of one element there is nothing else to move.
    if (!value && isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op))
      value = operands[0];
    if (!value && op.hasTrait<stablehlo::Elementwise>())
      value = emitElementwise(code.builder, &op, operands, 1);
    if (!value)
      return op.emitError("has no code for a kernel on these types");
    values[op.getResult(0)] = value;
  }
  SmallVector<Value> results;
  for (Value result : block.getTerminator()->getOperands()) {
    results.push_back(values.lookup(result));
    if (!results.back())
      return block.getTerminator()->emitError(
          "returns a value from outside of its region, which a kernel cannot "
          "hold");
  }
  return results;
}

Value KernelCode::constantTable(stablehlo::ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type element = elements.getElementType(), stored = getMemoryType(element);
  int64_t count = elements.getNumElements();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    stored = complex.getElementType();
    count *= 2;
  }
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
  builder.setInsertionPoint(function.getOperation());
  unsigned number = 0;
  std::string name;
  do
    name = (function.getName() + "_table_" + Twine(number++)).str();
  while (SymbolTable::lookupSymbolIn(module, name));
  auto type = LLVM::LLVMArrayType::get(stored, count);
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, elements,
                                       /*alignment=*/64, getTableSpace());
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

Value KernelCode::loadCoordinate(int64_t axis) {
  Type pointer = context.getType();
  Value coordinates = LLVM::LoadOp::create(builder, loc, pointer,
                                           address(context, pointer, 1), 8);
  return load(address(coordinates, builder.getI64Type(), axis),
              builder.getI64Type(), 1);
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
    if (auto complex = dyn_cast<ComplexType>(element)) {
      auto number = elements.getSplatValue<std::complex<APFloat>>();
      value = DenseElementsAttr::get(
          cast<VectorType>(getRegisterType(element)),
          ArrayRef<APFloat>{number.real(), number.imag()});
    } else if (isa<FloatType>(element))
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
    return arith::TruncIOp::create(code.builder, code.loc,
                                   code.builder.getI32Type(),
                                   code.loadCoordinate(position));
  }
  return {};
}
