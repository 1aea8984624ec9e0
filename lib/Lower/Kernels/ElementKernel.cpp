//===- ElementKernel.cpp - code by the indices of each element ------------===//
//
// The general case: every element of the result is computed by itself from its
// indices. For ops that move elements across rows, where no vector code fits.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace {

using Indices = SmallVector<Value>;

class ElementEmitter {
public:
  ElementEmitter(KernelCode &code, const KernelBody &body)
      : code(code), builder(code.builder), loc(code.loc), body(body) {}

  LogicalResult emit(KernelInfo &info);

private:
  KernelCode &code;
  OpBuilder &builder;
  Location loc;
  const KernelBody &body;
  std::map<std::pair<void *, std::vector<void *>>, Value> memo;
  bool failed = false;

  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  static Type elementOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  }

  Value linearize(ArrayRef<int64_t> shape, ArrayRef<Value> indices) {
    return code.linearize(shape, indices);
  }
  Indices delinearize(ArrayRef<int64_t> shape, Value position) {
    return code.delinearize(shape, position);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value both(Value a, Value b) {
    return a ? Value(arith::AndIOp::create(builder, loc, a, b)) : b;
  }
  /// One of two values, of which only one is computed.
  Value choose(Value predicate, Type type, llvm::function_ref<Value()> first,
               llvm::function_ref<Value()> second);
  /// An element of an index tensor, clamped to [0, last].
  Value clampedIndex(Value tensor, ArrayRef<Value> indices, int64_t last);

  Value at(Value value, ArrayRef<Value> indices);
  Value emitOp(Operation *op, ArrayRef<Value> indices);
  Value emitReduce(stablehlo::ReduceOp op, ArrayRef<Value> indices);
  Value emitConcatenate(stablehlo::ConcatenateOp op, Indices indices,
                        unsigned first);
  Value emitPad(stablehlo::PadOp op, ArrayRef<Value> indices);
  Value emitGather(stablehlo::GatherOp op, ArrayRef<Value> indices);
  Value emitUpdateSlice(stablehlo::DynamicUpdateSliceOp op,
                        ArrayRef<Value> indices);
  Value emitBitcast(stablehlo::BitcastConvertOp op, Indices indices);
};

Value ElementEmitter::choose(Value predicate, Type type,
                             llvm::function_ref<Value()> first,
                             llvm::function_ref<Value()> second) {
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, predicate,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  auto saved = memo;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (Value value = first())
    scf::YieldOp::create(builder, loc, value);
  else
    failed = true;
  memo = saved;
  builder.setInsertionPointToStart(branch.elseBlock());
  if (Value value = second())
    scf::YieldOp::create(builder, loc, value);
  else
    failed = true;
  memo = saved;
  return branch.getResult(0);
}

Value ElementEmitter::clampedIndex(Value tensor, ArrayRef<Value> indices,
                                   int64_t last) {
  Value index = at(tensor, indices);
  if (!index)
    return {};
  Type i64 = builder.getI64Type();
  bool isUnsigned = elementOf(tensor).isUnsignedInteger();
  if (index.getType().getIntOrFloatBitWidth() < 64)
    index = isUnsigned
                ? Value(arith::ExtUIOp::create(builder, loc, i64, index))
                : Value(arith::ExtSIOp::create(builder, loc, i64, index));
  if (isUnsigned)
    return arith::MinUIOp::create(builder, loc, index, code.index(last));
  index = arith::MaxSIOp::create(builder, loc, index, code.index(0));
  return code.minimum(index, code.index(last));
}

Value ElementEmitter::at(Value value, ArrayRef<Value> indices) {
  std::vector<void *> key;
  for (Value index : indices)
    key.push_back(index.getAsOpaquePointer());
  auto entry = std::make_pair(value.getAsOpaquePointer(), key);
  auto it = memo.find(entry);
  if (it != memo.end())
    return it->second;
  Value result;
  if (!body.defines(value)) {
    Type element = elementOf(value);
    result = code.load(code.address(code.inputs.lookup(value), element,
                                    linearize(shapeOf(value), indices)),
                       element, 1);
  } else {
    result = emitOp(value.getDefiningOp(), indices);
    if (!result && !failed) {
      failed = true;
      value.getDefiningOp()->emitError(
          "has no code for a kernel on these types");
    }
  }
  return memo[entry] = result;
}

Value ElementEmitter::emitReduce(stablehlo::ReduceOp op,
                                 ArrayRef<Value> indices) {
  Operation *combiner = matchReduction(op)->combiner;
  Value input = op.getInputs()[0];
  ArrayRef<int64_t> shape = shapeOf(input), dims = op.getDimensions();
  Indices inner(shape.size());
  unsigned next = 0;
  for (unsigned i = 0; i < shape.size(); ++i)
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      inner[i] = indices[next++];
  Value start = at(op.getInitValues()[0], {});
  if (!start)
    return {};
  auto saved = memo;
  std::function<Value(unsigned, Value)> run = [&](unsigned depth,
                                                  Value sum) -> Value {
    if (depth == dims.size()) {
      Value value = at(input, inner);
      return value ? emitElementwise(builder, combiner, {sum, value}, 1)
                   : Value();
    }
    return code.loop(code.index(0), code.index(shape[dims[depth]]), 1, sum,
                     [&](Value i, ValueRange carried) -> SmallVector<Value> {
                       inner[dims[depth]] = i;
                       Value next = run(depth + 1, carried[0]);
                       if (!next)
                         next = carried[0];
                       return {next};
                     })[0];
  };
  Value result = run(0, start);
  memo = saved;
  return result;
}

Value ElementEmitter::emitConcatenate(stablehlo::ConcatenateOp op,
                                      Indices indices, unsigned first) {
  Value operand = op.getInputs()[first];
  if (first + 1 == op.getInputs().size())
    return at(operand, indices);
  int64_t dim = op.getDimension(), size = shapeOf(operand)[dim];
  Value inside =
      compare(arith::CmpIPredicate::ult, indices[dim], code.index(size));
  return choose(
      inside, getRegisterType(elementOf(op.getResult())),
      [&] { return at(operand, indices); },
      [&] {
        Indices rest = indices;
        rest[dim] = code.add(rest[dim], -size);
        return emitConcatenate(op, rest, first + 1);
      });
}

Value ElementEmitter::emitPad(stablehlo::PadOp op, ArrayRef<Value> indices) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  Indices inner(indices);
  Value inside;
  for (size_t i = 0; i < shape.size(); ++i) {
    Value position = code.add(indices[i], -op.getEdgePaddingLow()[i]);
    inside = both(inside,
                  compare(arith::CmpIPredicate::sge, position, code.index(0)));
    if (int64_t interior = op.getInteriorPadding()[i]) {
      Value step = code.index(interior + 1);
      Value rest = arith::RemSIOp::create(builder, loc, position, step);
      inside =
          both(inside, compare(arith::CmpIPredicate::eq, rest, code.index(0)));
      position = arith::DivSIOp::create(builder, loc, position, step);
    }
    inside = both(inside, compare(arith::CmpIPredicate::slt, position,
                                  code.index(shape[i])));
    inner[i] = position;
  }
  if (!inside)
    return at(op.getOperand(), {});
  return choose(
      inside, getRegisterType(elementOf(op.getResult())),
      [&] { return at(op.getOperand(), inner); },
      [&] { return at(op.getPaddingValue(), {}); });
}

Value ElementEmitter::emitUpdateSlice(stablehlo::DynamicUpdateSliceOp op,
                                      ArrayRef<Value> indices) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand()),
                    part = shapeOf(op.getUpdate());
  Indices inner(indices);
  Value inside;
  for (size_t i = 0; i < shape.size(); ++i) {
    Value start = clampedIndex(op.getStartIndices()[i], {}, shape[i] - part[i]);
    if (!start)
      return {};
    inner[i] = sub(indices[i], start);
    inside = both(inside, compare(arith::CmpIPredicate::ult, inner[i],
                                  code.index(part[i])));
  }
  if (!inside)
    return at(op.getUpdate(), {});
  return choose(
      inside, getRegisterType(elementOf(op.getResult())),
      [&] { return at(op.getUpdate(), inner); },
      [&] { return at(op.getOperand(), indices); });
}

Value ElementEmitter::emitGather(stablehlo::GatherOp op,
                                 ArrayRef<Value> indices) {
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> shape = shapeOf(op.getOperand()),
                    sizes = op.getSliceSizes(),
                    offsetDims = numbers.getOffsetDims(),
                    collapsed = numbers.getCollapsedSliceDims(),
                    batching = numbers.getOperandBatchingDims(),
                    indexBatching = numbers.getStartIndicesBatchingDims(),
                    map = numbers.getStartIndexMap();
  int64_t vectorDim = numbers.getIndexVectorDim();
  int64_t indexRank = shapeOf(op.getStartIndices()).size();
  Indices batch;
  for (auto [i, index] : llvm::enumerate(indices))
    if (!llvm::is_contained(offsetDims, static_cast<int64_t>(i)))
      batch.push_back(index);
  Indices inner(shape.size());
  unsigned next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dim = i;
    bool inSlice = !llvm::is_contained(collapsed, dim) &&
                   !llvm::is_contained(batching, dim);
    inner[i] = inSlice ? indices[offsetDims[next++]] : code.index(0);
    if (const auto *place = llvm::find(batching, dim);
        place != batching.end()) {
      int64_t indexDim = indexBatching[place - batching.begin()];
      inner[i] = batch[indexDim < vectorDim ? indexDim : indexDim - 1];
    }
    if (const auto *place = llvm::find(map, dim); place != map.end()) {
      Indices address(batch);
      if (vectorDim < indexRank)
        address.insert(address.begin() + vectorDim,
                       code.index(place - map.begin()));
      Value start =
          clampedIndex(op.getStartIndices(), address, shape[i] - sizes[i]);
      if (!start)
        return {};
      inner[i] = code.add(inner[i], start);
    }
  }
  return at(op.getOperand(), inner);
}

/// Of elements of another width the narrow ones lie one after the other along the
/// last dimension, the lowest bits first.
Value ElementEmitter::emitBitcast(stablehlo::BitcastConvertOp op,
                                  Indices indices) {
  Value operand = op.getOperand();
  Type type = getRegisterType(elementOf(op.getResult()));
  Type fromType = getRegisterType(elementOf(operand));
  auto bitsOf = [](Type type) -> unsigned {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? 2 * vector.getElementTypeBitWidth()
                  : type.getIntOrFloatBitWidth();
  };
  unsigned from = bitsOf(fromType), to = bitsOf(type);
  auto cast = [&](Value value, Type wanted) -> Value {
    if (!value || value.getType() == wanted)
      return value;
    return arith::BitcastOp::create(builder, loc, wanted, value);
  };
  if (from == to)
    return cast(at(operand, indices), type);
  // Complex numbers of different widths are moved through memory only.
  if (isa<VectorType>(type) || isa<VectorType>(fromType))
    return {};
  Type wideBits = builder.getIntegerType(std::max(from, to));
  Type fromBits = builder.getIntegerType(from);
  Type toBits = builder.getIntegerType(to);
  if (from > to) {
    Value part = indices.pop_back_val();
    Value value = cast(at(operand, indices), fromBits);
    if (!value)
      return {};
    Value shift = code.mul(part, to);
    if (from < 64)
      shift = arith::TruncIOp::create(builder, loc, wideBits, shift);
    value = arith::ShRUIOp::create(builder, loc, value, shift);
    return cast(arith::TruncIOp::create(builder, loc, toBits, value), type);
  }
  Value joined;
  for (unsigned part = 0; part < to / from; ++part) {
    Indices inner(indices);
    inner.push_back(code.index(part));
    Value value = cast(at(operand, inner), fromBits);
    if (!value)
      return {};
    value = arith::ExtUIOp::create(builder, loc, wideBits, value);
    if (part == 0) {
      joined = value;
      continue;
    }
    Value shift = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(wideBits, part * from));
    joined = arith::OrIOp::create(
        builder, loc, joined,
        arith::ShLIOp::create(builder, loc, value, shift));
  }
  return cast(joined, type);
}

Value ElementEmitter::emitOp(Operation *op, ArrayRef<Value> indices) {
  if (Value scalar = emitScalarSource(code, op))
    return scalar;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    Type element = elementOf(constant.getOutput());
    return code.load(
        code.address(code.constantTable(constant), element,
                     linearize(shapeOf(constant.getOutput()), indices)),
        element, 1);
  }
  if (op->hasTrait<stablehlo::Elementwise>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value value =
          at(operand, shapeOf(operand).empty() ? ArrayRef<Value>() : indices);
      if (!value)
        return {};
      operands.push_back(value);
    }
    return emitElementwise(builder, op, operands, 1);
  }
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
    Value position = indices[iota.getIotaDimension()];
    Type type = getRegisterType(elementOf(iota.getOutput()));
    if (!isa<IntegerType>(type))
      return emitCast(builder, loc, position, builder.getI64Type(),
                      elementOf(iota.getOutput()));
    if (type.getIntOrFloatBitWidth() < 64)
      return arith::TruncIOp::create(builder, loc, type, position);
    return position;
  }
  Indices inner;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    ArrayRef<int64_t> shape = shapeOf(broadcast.getOperand());
    for (auto [size, dim] :
         llvm::zip(shape, broadcast.getBroadcastDimensions()))
      inner.push_back(size == 1 ? code.index(0) : indices[dim]);
    return at(broadcast.getOperand(), inner);
  }
  if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op))
    return at(reshape.getOperand(),
              delinearize(shapeOf(reshape.getOperand()),
                          linearize(shapeOf(reshape.getResult()), indices)));
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    inner.resize(indices.size());
    for (auto [index, dim] : llvm::zip(indices, transpose.getPermutation()))
      inner[dim] = index;
    return at(transpose.getOperand(), inner);
  }
  if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op)) {
    inner.assign(indices.begin(), indices.end());
    for (int64_t dim : reverse.getDimensions())
      inner[dim] =
          sub(code.index(shapeOf(reverse.getOperand())[dim] - 1), inner[dim]);
    return at(reverse.getOperand(), inner);
  }
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    for (auto [index, start, stride] :
         llvm::zip(indices, slice.getStartIndices(), slice.getStrides()))
      inner.push_back(code.add(code.mul(index, stride), start));
    return at(slice.getOperand(), inner);
  }
  if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op)) {
    ArrayRef<int64_t> shape = shapeOf(slice.getOperand());
    for (auto [i, index] : llvm::enumerate(indices)) {
      Value start = clampedIndex(slice.getStartIndices()[i], {},
                                 shape[i] - slice.getSliceSizes()[i]);
      if (!start)
        return {};
      inner.push_back(code.add(index, start));
    }
    return at(slice.getOperand(), inner);
  }
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    return emitConcatenate(concatenate, Indices(indices), 0);
  if (auto pad = dyn_cast<stablehlo::PadOp>(op))
    return emitPad(pad, indices);
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return emitUpdateSlice(update, indices);
  if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
    return emitGather(gather, indices);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return emitReduce(reduce, indices);
  if (auto bitcast = dyn_cast<stablehlo::BitcastConvertOp>(op))
    return emitBitcast(bitcast, Indices(indices));
  return {};
}

LogicalResult ElementEmitter::emit(KernelInfo &info) {
  ArrayRef<int64_t> shape = shapeOf(body.outputs[0]);
  info.extent = getNumElements(body.outputs[0]);
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    memo.clear();
    Indices indices = delinearize(shape, i);
    SmallVector<Value> values;
    for (Value output : body.outputs)
      values.push_back(at(output, indices));
    if (!failed)
      for (auto [index, value] : llvm::enumerate(values)) {
        Type element = elementOf(body.outputs[index]);
        code.store(value, code.address(code.results[index], element, i),
                   element);
      }
    return SmallVector<Value>();
  });
  return failure(failed);
}

} // namespace

LogicalResult pipemesh::emitElementKernel(KernelCode &code,
                                          const KernelBody &body,
                                          const KernelPlan &,
                                          KernelInfo &info) {
  return ElementEmitter(code, body).emit(info);
}
