//===- RowEmitter.cpp - values of a kernel over rows and columns ----------===//

#include "RowEmitter.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pipemesh;

Value RowEmitter::loadFrom(Value pointer, Value value, const RowView &view) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t columns = getNumElements(value) / view.rows;
  Value address = pointer;
  {
    // The address of the row belongs to the row.
    OpBuilder::InsertionGuard guard(code.builder);
    if (view.lane && rowAnchor)
      code.builder.setInsertionPoint(rowAnchor);
    if (view.rows != 1)
      address = code.address(pointer, element, code.mul(view.row, columns));
    if (view.offset)
      address = code.address(address, element, view.offset);
  }
  unsigned alignment = 0;
  if (view.lane) {
    address = code.address(address, element, column);
    int64_t bytes = getElementBytes(element);
    alignment = getAlignment(view.rows == 1 ? 0 : columns * bytes,
                             view.offset * bytes, width * bytes);
  }
  return code.load(address, element, view.lane ? width : 1, alignment);
}

Value RowEmitter::getTable(stablehlo::ConstantOp op) {
  Value &table = tables[op];
  if (!table)
    table = code.constantTable(op);
  return table;
}

Value RowEmitter::emitIota(stablehlo::IotaOp op, const RowView &view) {
  OpBuilder &builder = code.builder;
  RankedTensorType type = op.getOutput().getType();
  int64_t dim = op.getIotaDimension(), inner = 1;
  for (int64_t i = type.getRank() - 1; i > dim; --i)
    inner *= type.getDimSize(i);
  Type element = getRegisterType(type.getElementType());
  int64_t columns = type.getNumElements() / view.rows;
  Value position;
  bool lane = false;
  if (inner >= columns) {
    // One of the row's coordinates.
    position = arith::DivUIOp::create(builder, code.loc, view.row,
                                      code.index(inner / columns));
    position = arith::RemUIOp::create(builder, code.loc, position,
                                      code.index(type.getDimSize(dim)));
  } else if (view.lane) {
    lane = width > 1;
    position = code.add(column, view.offset);
  } else {
    position = code.index(view.offset);
  }
  // Half precision counts in i32.
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isNarrowFloat = isa<FloatType>(element) && bits < 32;
  if (isNarrowFloat)
    bits = 32;
  Type integer = builder.getIntegerType(bits);
  if (bits < 64)
    position = arith::TruncIOp::create(builder, code.loc, integer, position);
  if (view.lane && width > 1)
    position = code.splat(position, width);
  if (lane) {
    auto vectorType = VectorType::get({width}, integer);
    SmallVector<APInt> steps;
    for (unsigned i = 0; i < width; ++i)
      steps.push_back(APInt(bits, i));
    Value step = arith::ConstantOp::create(
        builder, code.loc, DenseElementsAttr::get(vectorType, steps));
    position = code.add(position, step);
  }
  if (isNarrowFloat) {
    unsigned lanes = view.lane ? width : 1;
    Type single = getVectorType(builder.getF32Type(), lanes);
    position = arith::UIToFPOp::create(builder, code.loc, single, position);
    return arith::TruncFOp::create(builder, code.loc,
                                   getVectorType(element, lanes), position);
  }
  if (isa<FloatType>(element))
    position = arith::UIToFPOp::create(
        builder, code.loc, getVectorType(element, view.lane ? width : 1),
        position);
  return position;
}

Value RowEmitter::emitOp(Operation *op, const RowView &view) {
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
    return emitIota(iota, view);
  if (Value scalar = emitScalarSource(code, op))
    return view.lane ? code.splat(scalar, width) : scalar;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return loadFrom(getTable(constant), constant.getOutput(), view);
  SmallVector<OperandView> views;
  {
    OpBuilder::InsertionGuard guard(code.builder);
    if (view.lane && rowAnchor)
      code.builder.setInsertionPoint(rowAnchor);
    if (mlir::failed(
            mapOperandViews(&code.builder, op, view, low, high, views)))
      return {};
  }
  SmallVector<Value> operands;
  for (const OperandView &operand : views) {
    Value value = emitValue(op->getOperand(operand.operand), operand.view);
    if (!value)
      return {};
    if (view.lane && !operand.view.lane)
      value = code.splat(value, width);
    operands.push_back(value);
  }
  if (op->hasTrait<stablehlo::Elementwise>())
    return emitElementwise(code.builder, op, operands, view.lane ? width : 1);
  return operands.size() == 1 ? operands[0] : Value();
}

Value RowEmitter::emitValue(Value value, RowView view) {
  bool uniform = view.rows == 1 && !view.lane;
  if (uniform)
    view.row = zero;
  Memo &memo = view.lane ? laneMemo : uniform ? uniformMemo : rowMemo;
  Key key{value.getAsOpaquePointer(), view.rows, view.offset,
          view.row ? view.row.getAsOpaquePointer() : nullptr};
  auto it = memo.find(key);
  if (it != memo.end())
    return it->second;
  OpBuilder::InsertionGuard guard(code.builder);
  if (uniform && uniformAnchor)
    code.builder.setInsertionPoint(uniformAnchor);
  else if (!view.lane && rowAnchor)
    code.builder.setInsertionPoint(rowAnchor);
  Value result;
  if (!body.defines(value)) {
    result = loadFrom(code.inputs.lookup(value), value, view);
  } else if (view.lane && view.identity && view.offset == 0 &&
             plan.kind == KernelPlan::Rows &&
             llvm::is_contained(body.outputs, value) &&
             plan.levels.lookup(value.getDefiningOp()) < level) {
    unsigned output = llvm::find(body.outputs, value) - body.outputs.begin();
    result = loadFrom(code.results[output], value, view);
  } else {
    result = emitOp(value.getDefiningOp(), view);
  }
  if (!result && !failed) {
    failed = true;
    value.getDefiningOp()->emitError("has no code for a kernel on these types");
  }
  return memo[key] = result;
}

void RowEmitter::storeOutput(unsigned index, Value value, bool lane) {
  Value output = body.outputs[index];
  Type element = cast<RankedTensorType>(output.getType()).getElementType();
  int64_t columns = getNumElements(output) / plan.rows;
  Value place = plan.rows == 1 ? Value() : code.mul(row, columns);
  if (lane)
    place = place ? code.add(place, column) : column;
  Value address = code.results[index];
  if (place)
    address = code.address(address, element, place);
  unsigned alignment = 0;
  int64_t bytes = getElementBytes(element);
  if (lane)
    alignment = getAlignment(plan.rows == 1 ? 0 : columns * bytes, 0,
                             width * bytes);
  code.store(value, address, element, alignment);
}

Value RowEmitter::combine(Operation *reduction, Value a, Value b,
                          unsigned vectorWidth) {
  Operation *combiner = matchReduction(reduction)->combiner;
  return emitElementwise(code.builder, combiner, {a, b}, vectorWidth);
}

Value RowEmitter::finishReduction(Operation *reduction, Value value) {
  auto op = cast<stablehlo::ReduceOp>(reduction);
  Operation *combiner = matchReduction(reduction)->combiner;
  Value init = op.getInitValues()[0];
  Type element = cast<RankedTensorType>(init.getType()).getElementType();
  if (auto constant = init.getDefiningOp<stablehlo::ConstantOp>()) {
    auto splat = dyn_cast<DenseElementsAttr>(constant.getValue());
    TypedAttr neutral = getNeutralElement(combiner, element);
    if (splat && splat.isSplat()) {
      if (auto floatAttr = dyn_cast<FloatAttr>(neutral)) {
        if (floatAttr.getValue() == splat.getSplatValue<APFloat>())
          return value;
      } else if (cast<IntegerAttr>(neutral).getValue() ==
                 splat.getSplatValue<APInt>()) {
        return value;
      }
    }
  }
  Value start = emitValue(init, RowView::uniform(false));
  return start ? combine(reduction, value, start, 1) : Value();
}

Value RowEmitter::emitNeutral(Operation *reduction) {
  Type element = cast<RankedTensorType>(reduction->getResult(0).getType())
                     .getElementType();
  return arith::ConstantOp::create(
      code.builder, code.loc,
      getNeutralElement(matchReduction(reduction)->combiner, element));
}

void RowEmitter::setReduction(Operation *reduction, Value value) {
  RowView view = identityView(false);
  bool uniform = plan.rows == 1;
  Key key{reduction->getResult(0).getAsOpaquePointer(), view.rows, 0,
          (uniform ? zero : row).getAsOpaquePointer()};
  (uniform ? uniformMemo : rowMemo)[key] = value;
}
