//===- GpuEmbeddingKernel.cpp - rows of a table by token ids, on a GPU ----===//

#include "../Kernels/ScalarOps.h"
#include "GpuCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Elements that a thread moves at once, so that each row starts with a whole
/// access.
static int64_t getWidth(RankedTensorType table) {
  int64_t width = kAccessBytes / getElementBytes(table.getElementType());
  while (width > 1 && table.getDimSize(1) % width)
    width /= 2;
  return width;
}

/// A thread for each vector of the result.
static void emitLookup(GpuCode &code, pm::EmbeddingOp op, KernelInfo &info) {
  RankedTensorType table = typeOf(op.getTable());
  Type element = table.getElementType();
  int64_t width = getWidth(table), columns = table.getDimSize(1);
  int64_t vectors = columns / width;
  unsigned alignment = width * getElementBytes(element);
  code.beginIterations();
  info.extent = typeOf(op.getIds()).getNumElements() * vectors;
  Value place = code.begin;
  Value id = code.toIndex(
      code.loadElement(op.getIds(), code.divide(place, vectors)),
      typeOf(op.getIds()).getElementType());
  Value column = code.mul(code.remainder(place, vectors), width);
  Value from = code.address(code.inputs.lookup(op.getTable()), element,
                            code.add(code.mul(id, columns), column));
  code.store(code.load(from, element, width, alignment),
             code.address(code.results[0], element, code.mul(place, width)),
             element, alignment);
}

/// A warp for 32 vectors of each row of the table. It looks through the ids, 32
/// at a time, and adds the gradients of those that are its row's in their order.
static void emitGradient(GpuCode &code, pm::EmbeddingGradOp op) {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  RankedTensorType table = typeOf(op.getResult());
  Type element = table.getElementType(), i32 = builder.getI32Type();
  Type idElement = typeOf(op.getIds()).getElementType();
  int64_t width = getWidth(table), columns = table.getDimSize(1);
  int64_t parts = llvm::divideCeil(columns, width * kWarp);
  int64_t count = typeOf(op.getIds()).getNumElements();
  unsigned alignment = width * getElementBytes(element);
  int64_t warps = code.threads / kWarp;
  code.blocks = llvm::divideCeil(table.getDimSize(0) * parts, warps);
  Value lane = code.remainder(code.thread(), kWarp);
  Value warp = code.add(code.mul(code.block(), warps),
                        code.divide(code.thread(), kWarp));
  Value row = code.divide(warp, parts);
  Value column = code.mul(
      code.add(code.mul(code.remainder(warp, parts), kWarp), lane), width);
  Value isInside = code.isBelow(column, code.index(columns));
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  code.when(code.isBelow(row, code.index(table.getDimSize(0))), [&] {
    Type vector = getVectorType(element, width);
    Value bit = arith::ShLIOp::create(
        builder, loc, number(1),
        arith::TruncIOp::create(builder, loc, i32, lane));
    Value sum = code.loop(
        code.index(0), code.index(count), kWarp, code.constant(vector, 0),
        [&](Value first, ValueRange carried) -> SmallVector<Value> {
          Value place = code.add(first, lane);
          Value mine = code.minimum(place, code.index(count - 1));
          Value id = code.toIndex(code.loadElement(op.getIds(), mine),
                                  idElement);
          Value isRow = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, id, row);
          isRow = code.both(isRow, code.isBelow(place, code.index(count)));
          Value matches = code.select(isRow, bit, number(0));
          for (int64_t distance = 1; distance < kWarp; distance *= 2)
            matches = arith::OrIOp::create(builder, loc, matches,
                                           code.exchange(matches, distance));
          Value any = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::ne, matches, number(0));
          return code.choose(
              any, vector,
              [&]() -> SmallVector<Value> {
                return code.loop(
                    code.index(0), code.index(kWarp), 1, carried,
                    [&](Value i, ValueRange sums) -> SmallVector<Value> {
                      Value shifted = arith::ShRUIOp::create(
                          builder, loc, matches,
                          arith::TruncIOp::create(builder, loc, i32, i));
                      Value isMatch = arith::CmpIOp::create(
                          builder, loc, arith::CmpIPredicate::ne,
                          arith::AndIOp::create(builder, loc, shifted,
                                                number(1)),
                          number(0));
                      return code.choose(
                          code.both(isMatch, isInside), vector,
                          [&]() -> SmallVector<Value> {
                            Value from = code.address(
                                code.inputs.lookup(op.getGrad()), element,
                                code.add(code.mul(code.add(first, i), columns),
                                         column));
                            return {code.addf(
                                sums[0],
                                code.load(from, element, width, alignment))};
                          },
                          [&]() -> SmallVector<Value> { return {sums[0]}; });
                    });
              },
              [&]() -> SmallVector<Value> { return {carried[0]}; });
        })[0];
    code.when(isInside, [&] {
      code.store(sum,
                 code.address(code.results[0], element,
                              code.add(code.mul(row, columns), column)),
                 element, alignment);
    });
  });
}

LogicalResult pipemesh::emitGpuEmbeddingKernel(KernelCode &code, Operation *op,
                                               KernelInfo &info) {
  auto &gpu = static_cast<GpuCode &>(code);
  if (auto lookup = dyn_cast<pm::EmbeddingOp>(op))
    emitLookup(gpu, lookup, info);
  else
    emitGradient(gpu, cast<pm::EmbeddingGradOp>(op));
  return success();
}
