//===- SmallProduct.cpp - matrix products inside of a kernel --------------===//
//
// Products of a few dozen rows are too small for a library: the call, the
// copies into its layout and the choice of a routine cost as much as the work.
// Here four rows by two vectors of sums stay in registers, and the operands are
// read where they are.
//
//===----------------------------------------------------------------------===//

#include "SmallProduct.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pipemesh;

/// Rows and vectors of a tile: eight sums hide the latency of a multiply-add on
/// processors that start two of them a cycle.
static constexpr unsigned kTileRows = 4, kTileVectors = 2;

int64_t pipemesh::getProductColumns(const KernelCode &code) {
  return kTileVectors * code.vectorWidth;
}

namespace {

class ProductEmitter {
public:
  ProductEmitter(KernelCode &code, const SmallProduct &product)
      : code(code), builder(code.builder), loc(code.loc), product(product),
        f32(code.builder.getF32Type()),
        flags(arith::FastMathFlagsAttr::get(code.builder.getContext(),
                                            arith::FastMathFlags::contract)) {}

  void emit();

private:
  KernelCode &code;
  OpBuilder &builder;
  Location loc;
  const SmallProduct &product;
  Type f32;
  arith::FastMathFlagsAttr flags;

  /// The largest multiple of a power of two that is not above the value.
  Value roundDown(Value value, int64_t multiple) {
    return arith::AndIOp::create(builder, loc, value, code.index(-multiple));
  }
  Value multiply(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b, flags);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b, flags);
  }
  void emitColumns(Value low, Value high, unsigned vectors, unsigned width);
  void emitTile(Value row, unsigned rows, Value column, unsigned vectors,
                unsigned width);
};

void ProductEmitter::emitTile(Value row, unsigned rows, Value column,
                              unsigned vectors, unsigned width) {
  SmallVector<Value> aRows, sums;
  for (unsigned r = 0; r < rows; ++r)
    aRows.push_back(
        code.address(product.a, f32, code.mul(code.add(row, r), product.aRow)));
  Value bColumn = code.address(product.b, f32, column);
  Value zero = code.constant(getVectorType(f32, width), 0);
  sums.assign(rows * vectors, zero);
  sums = code.loop(
      code.index(0), product.k, 1, sums, [&](Value l, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value bRow = code.address(bColumn, f32, code.mul(l, product.bRow));
        SmallVector<Value> b;
        for (unsigned v = 0; v < vectors; ++v)
          b.push_back(
              code.load(code.address(bRow, f32, v * width), f32, width));
        Value aColumn = code.mul(l, product.aColumn);
        for (unsigned r = 0; r < rows; ++r) {
          Value a = code.splat(
              code.load(code.address(aRows[r], f32, aColumn), f32, 1), width);
          for (unsigned v = 0; v < vectors; ++v) {
            Value &sum = next[r * vectors + v];
            sum = add(sum, multiply(a, b[v]));
          }
        }
        return next;
      });
  Value alpha = product.alpha == 1
                    ? Value()
                    : code.constant(getVectorType(f32, width), product.alpha);
  for (unsigned r = 0; r < rows; ++r) {
    Value index = code.add(row, r);
    Value scale = alpha;
    if (product.scale) {
      scale = code.splat(
          code.load(code.address(product.scale, f32, index), f32, 1), width);
      if (alpha)
        scale = multiply(scale, alpha);
    }
    Value place = code.address(product.c, f32,
                               code.add(code.mul(index, product.cRow), column));
    for (unsigned v = 0; v < vectors; ++v) {
      Value sum = sums[r * vectors + v];
      Value address = code.address(place, f32, v * width);
      if (scale)
        sum = multiply(sum, scale);
      if (product.accumulate)
        sum = add(code.load(address, f32, width), sum);
      code.store(sum, address, f32);
    }
  }
}

void ProductEmitter::emitColumns(Value low, Value high, unsigned vectors,
                                 unsigned width) {
  code.loop(low, high, vectors * width, {}, [&](Value column, ValueRange) {
    Value whole = roundDown(product.m, kTileRows);
    code.loop(code.index(0), whole, kTileRows, {}, [&](Value row, ValueRange) {
      emitTile(row, kTileRows, column, vectors, width);
      return SmallVector<Value>();
    });
    code.loop(whole, product.m, 1, {}, [&](Value row, ValueRange) {
      emitTile(row, 1, column, vectors, width);
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
}

void ProductEmitter::emit() {
  Value zero = code.index(0);
  unsigned width = code.vectorWidth;
  if (product.padded) {
    emitColumns(zero, product.n, kTileVectors, width);
    return;
  }
  Value wide = roundDown(product.n, kTileVectors * width);
  Value whole = roundDown(product.n, width);
  emitColumns(zero, wide, kTileVectors, width);
  emitColumns(wide, whole, 1, width);
  emitColumns(whole, product.n, 1, 1);
}

} // namespace

void pipemesh::emitSmallProduct(KernelCode &code, const SmallProduct &product) {
  ProductEmitter(code, product).emit();
}
