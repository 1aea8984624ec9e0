//===- AttentionKernel.cpp - attention and its gradient -------------------===//
//
// Blocks of queries against the keys that they see: products by the runtime's
// sgemm on the tensors where they are (a head is a strided matrix), the row
// softmax in between on a block of scores in scratch. A block's row has room
// for one more vector behind the last key, so that rows need no remainder loop:
// what lies behind the last visible key is filled first.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(KernelCode &code, RankedTensorType query,
                   RankedTensorType key, double scale, bool causal,
                   int64_t window);

  void emitForward(pm::AttentionOp op, KernelInfo &info);
  void emitGradient(pm::AttentionGradOp op, KernelInfo &info);

private:
  KernelCode &code;
  OpBuilder &builder;
  Location loc;
  Type f32, i64;
  VectorType vectorType;
  int64_t sequence, heads, size, keys, keyHeads, window;
  double scale;
  bool causal;
  /// Queries in a block, and elements from one row of scores to the next.
  int64_t block, stride;

  int64_t getScores() const { return block * stride; }

  /// The block of queries that starts at `first`, and the keys that it sees.
  struct Block {
    Value first, queries, firstKey, keys;
  };
  Block getBlock(Value first);
  /// The visible keys [low, high) of a query, from the block's first key.
  std::pair<Value, Value> getRange(const Block &part, Value row);

  /// A row of a head: `tensor` is [batch, length, heads, size].
  Value head(Value pointer, Value batch, int64_t length, Value position,
             int64_t headCount, Value headIndex);
  void multiply(bool transA, bool transB, Value m, Value n, Value k,
                double alpha, Value a, Value lda, Value b, Value ldb,
                double beta, Value c, Value ldc);

  Value max(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value addf(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value subf(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mulf(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value vectorAt(Value pointer, Value index) {
    return code.load(code.address(pointer, f32, index), f32, code.vectorWidth);
  }
  void storeAt(Value value, Value pointer, Value index) {
    code.store(value, code.address(pointer, f32, index), f32);
  }
  Value horizontal(Value vector, bool maximum);
  /// Fills [low, high) of a row, and up to a vector's width behind it.
  void fill(Value row, Value low, Value high, double value);
  /// Sum of products of two vectors of the head's size.
  Value dot(Value a, Value b);
  void forSize(llvm::function_ref<void(Value, unsigned)> body);
  void softmaxRow(Value row, Value low, Value high, Value keys, Value inverse,
                  Value lse);
};

AttentionEmitter::AttentionEmitter(KernelCode &code, RankedTensorType query,
                                   RankedTensorType key, double scale,
                                   bool causal, int64_t window)
    : code(code), builder(code.builder), loc(code.loc),
      f32(code.builder.getF32Type()), i64(code.builder.getI64Type()),
      vectorType(VectorType::get({code.vectorWidth}, f32)),
      sequence(query.getDimSize(1)), heads(query.getDimSize(2)),
      size(query.getDimSize(3)), keys(key.getDimSize(1)),
      keyHeads(key.getDimSize(2)), window(window), scale(scale),
      causal(causal) {
  block = std::min<int64_t>(sequence, keys > 1024 ? 32 : 64);
  int64_t visible = keys;
  if (window > 0 && causal)
    visible = std::min(keys, window + block);
  stride = llvm::alignTo(visible, code.vectorWidth) + code.vectorWidth;
}

AttentionEmitter::Block AttentionEmitter::getBlock(Value first) {
  Block part;
  part.first = first;
  part.queries =
      code.minimum(sub(code.index(sequence), first), code.index(block));
  part.firstKey = code.index(0);
  if (window > 0)
    part.firstKey = code.minimum(
        max(code.add(first, 1 - window), code.index(0)), code.index(keys));
  Value last = code.index(keys);
  if (causal)
    last = code.minimum(code.add(first, part.queries), last);
  part.keys = sub(last, part.firstKey);
  return part;
}

std::pair<Value, Value> AttentionEmitter::getRange(const Block &part,
                                                   Value row) {
  Value query = code.add(part.first, row);
  Value low = code.index(0), high = part.keys;
  if (window > 0)
    low = max(sub(code.add(query, 1 - window), part.firstKey), code.index(0));
  if (causal)
    high = code.minimum(sub(code.add(query, 1), part.firstKey), part.keys);
  return {low, high};
}

Value AttentionEmitter::head(Value pointer, Value batch, int64_t length,
                             Value position, int64_t headCount,
                             Value headIndex) {
  Value row = code.add(code.mul(batch, length), position);
  row = code.add(code.mul(row, headCount), headIndex);
  return code.address(pointer, f32, code.mul(row, size));
}

void AttentionEmitter::multiply(bool transA, bool transB, Value m, Value n,
                                Value k, double alpha, Value a, Value lda,
                                Value b, Value ldb, double beta, Value c,
                                Value ldc) {
  Type pointer = code.context.getType();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {i64, i64, i64, i64, i64, f32, pointer, i64,
                                   pointer, i64, f32, pointer, i64});
  Value function = LLVM::LoadOp::create(builder, loc, pointer, code.context, 8);
  LLVM::CallOp::create(builder, loc, type,
                       ValueRange{function, code.index(transA),
                                  code.index(transB), m, n, k,
                                  code.constant(f32, alpha), a, lda, b, ldb,
                                  code.constant(f32, beta), c, ldc});
}

Value AttentionEmitter::horizontal(Value vector, bool maximum) {
  for (int64_t width = code.vectorWidth / 2; width; width /= 2) {
    auto half = [&](int64_t first) -> Value {
      auto lanes = llvm::to_vector(llvm::seq<int64_t>(first, first + width));
      return vector::ShuffleOp::create(builder, loc, vector, vector, lanes);
    };
    Value low = half(0), high = half(width);
    vector = maximum ? Value(arith::MaximumFOp::create(builder, loc, low, high))
                     : addf(low, high);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

void AttentionEmitter::fill(Value row, Value low, Value high, double value) {
  Value values = code.constant(vectorType, value);
  code.loop(low, high, code.vectorWidth, {}, [&](Value i, ValueRange) {
    storeAt(values, row, i);
    return SmallVector<Value>();
  });
}

void AttentionEmitter::forSize(llvm::function_ref<void(Value, unsigned)> body) {
  int64_t whole = size / code.vectorWidth * code.vectorWidth;
  for (int64_t i = 0; i < whole; i += code.vectorWidth)
    body(code.index(i), code.vectorWidth);
  for (int64_t i = whole; i < size; ++i)
    body(code.index(i), 1);
}

Value AttentionEmitter::dot(Value a, Value b) {
  Value vectorSum, sum = code.constant(f32, 0);
  forSize([&](Value i, unsigned width) {
    Value product = mulf(code.load(code.address(a, f32, i), f32, width),
                         code.load(code.address(b, f32, i), f32, width));
    if (width == 1)
      sum = addf(sum, product);
    else
      vectorSum = vectorSum ? addf(vectorSum, product) : product;
  });
  return vectorSum ? addf(horizontal(vectorSum, false), sum) : sum;
}

/// Leaves exp(score - maximum) of the visible keys and 0 elsewhere, and stores
/// what the row's sum needs.
void AttentionEmitter::softmaxRow(Value row, Value low, Value high, Value count,
                                  Value inverse, Value lse) {
  double infinity = std::numeric_limits<double>::infinity();
  storeAt(code.constant(vectorType, -infinity), row, high);
  int64_t width = code.vectorWidth;
  Value maxima =
      code.loop(low, high, width, code.constant(vectorType, -infinity),
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  return {arith::MaximumFOp::create(builder, loc, carried[0],
                                                    vectorAt(row, i))};
                })[0];
  Value maximum = horizontal(maxima, true);
  Value shift = code.splat(maximum, width);
  Value sums =
      code.loop(low, high, width, code.constant(vectorType, 0),
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  Value power = math::ExpOp::create(
                      builder, loc, subf(vectorAt(row, i), shift));
                  storeAt(power, row, i);
                  return {addf(carried[0], power)};
                })[0];
  Value sum = horizontal(sums, false);
  fill(row, high, count, 0);
  if (window > 0)
    code.loop(code.index(0), low, 1, {}, [&](Value i, ValueRange) {
      storeAt(code.constant(f32, 0), row, i);
      return SmallVector<Value>();
    });
  code.store(arith::DivFOp::create(builder, loc, code.constant(f32, 1), sum),
             inverse, f32);
  Value logarithm = math::LogOp::create(builder, loc, sum);
  code.store(addf(maximum, logarithm), lse, f32);
}

void AttentionEmitter::emitForward(pm::AttentionOp op, KernelInfo &info) {
  Value query = code.inputs.lookup(op.getQuery()),
        key = code.inputs.lookup(op.getKey()),
        value = code.inputs.lookup(op.getValue()), result = code.results[0],
        lse = code.results[1];
  int64_t batch = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0);
  info.extent = batch * heads;
  info.scratchBytes = (getScores() + block) * sizeof(float);
  Value scores = code.scratch;
  Value inverses = code.address(scores, f32, getScores());
  Value queryStride = code.index(heads * size),
        keyStride = code.index(keyHeads * size),
        scoreStride = code.index(stride), length = code.index(size);
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Value b = arith::DivUIOp::create(builder, loc, i, code.index(heads));
    Value h = arith::RemUIOp::create(builder, loc, i, code.index(heads));
    Value keyHead =
        arith::DivUIOp::create(builder, loc, h, code.index(heads / keyHeads));
    Value lseRow = code.address(lse, f32, code.mul(i, sequence));
    code.loop(
        code.index(0), code.index(sequence), block, {},
        [&](Value first, ValueRange) {
          Block part = getBlock(first);
          Value q = head(query, b, sequence, first, heads, h);
          Value k = head(key, b, keys, part.firstKey, keyHeads, keyHead);
          Value v = head(value, b, keys, part.firstKey, keyHeads, keyHead);
          Value o = head(result, b, sequence, first, heads, h);
          multiply(false, true, part.queries, part.keys, length, scale, q,
                   queryStride, k, keyStride, 0, scores, scoreStride);
          code.loop(
              code.index(0), part.queries, 1, {}, [&](Value r, ValueRange) {
                auto [low, high] = getRange(part, r);
                Value row = code.address(scores, f32, code.mul(r, stride));
                softmaxRow(row, low, high, part.keys,
                           code.address(inverses, f32, r),
                           code.address(lseRow, f32, code.add(first, r)));
                return SmallVector<Value>();
              });
          multiply(false, false, part.queries, length, part.keys, 1, scores,
                   scoreStride, v, keyStride, 0, o, queryStride);
          code.loop(
              code.index(0), part.queries, 1, {}, [&](Value r, ValueRange) {
                Value factor =
                    code.load(code.address(inverses, f32, r), f32, 1);
                Value row = code.address(o, f32, code.mul(r, heads * size));
                forSize([&](Value j, unsigned width) {
                  Value place = code.address(row, f32, j);
                  code.store(mulf(code.load(place, f32, width),
                                  code.splat(factor, width)),
                             place, f32);
                });
                return SmallVector<Value>();
              });
          return SmallVector<Value>();
        });
    return SmallVector<Value>();
  });
}

void AttentionEmitter::emitGradient(pm::AttentionGradOp op, KernelInfo &info) {
  auto pointer = [&](Value operand) { return code.inputs.lookup(operand); };
  Value query = pointer(op.getQuery()), key = pointer(op.getKey()),
        value = pointer(op.getValue()), output = pointer(op.getResult()),
        lse = pointer(op.getLse()), grad = pointer(op.getGrad());
  Value queryGrad = code.results[0], keyGrad = code.results[1],
        valueGrad = code.results[2];
  int64_t batch = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0);
  int64_t group = heads / keyHeads;
  info.extent = batch * keyHeads;
  info.scratchBytes = 2 * getScores() * sizeof(float);
  Value probabilities = code.scratch;
  Value slopes = code.address(probabilities, f32, getScores());
  Value queryStride = code.index(heads * size),
        keyStride = code.index(keyHeads * size),
        scoreStride = code.index(stride), length = code.index(size);
  int64_t width = code.vectorWidth;
  double infinity = std::numeric_limits<double>::infinity();

  auto computeRow = [&](const Block &part, Value r, Value rowLse,
                        Value rowDot) {
    auto [low, high] = getRange(part, r);
    Value p = code.address(probabilities, f32, code.mul(r, stride));
    Value s = code.address(slopes, f32, code.mul(r, stride));
    storeAt(code.constant(vectorType, -infinity), p, high);
    Value shift = code.splat(rowLse, width), mean = code.splat(rowDot, width);
    code.loop(low, high, width, {}, [&](Value i, ValueRange) {
      Value power =
          math::ExpOp::create(builder, loc, subf(vectorAt(p, i), shift));
      Value slope = mulf(power, subf(vectorAt(s, i), mean));
      storeAt(power, p, i);
      storeAt(slope, s, i);
      return SmallVector<Value>();
    });
    for (Value row : {p, s}) {
      fill(row, high, part.keys, 0);
      if (window > 0)
        code.loop(code.index(0), low, 1, {}, [&](Value i, ValueRange) {
          storeAt(code.constant(f32, 0), row, i);
          return SmallVector<Value>();
        });
    }
  };

  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Value b = arith::DivUIOp::create(builder, loc, i, code.index(keyHeads));
    Value keyHead =
        arith::RemUIOp::create(builder, loc, i, code.index(keyHeads));
    code.loop(code.index(0), code.index(keys), 1, {}, [&](Value j, ValueRange) {
      for (Value tensor : {keyGrad, valueGrad}) {
        Value row = head(tensor, b, keys, j, keyHeads, keyHead);
        forSize([&](Value c, unsigned columns) {
          code.store(code.constant(getVectorType(f32, columns), 0),
                     code.address(row, f32, c), f32);
        });
      }
      return SmallVector<Value>();
    });
    code.loop(
        code.index(0), code.index(group), 1, {}, [&](Value g, ValueRange) {
          Value h = code.add(code.mul(keyHead, group), g);
          Value lseRow = code.address(
              lse, f32, code.mul(code.add(code.mul(b, heads), h), sequence));
          code.loop(
              code.index(0), code.index(sequence), block, {},
              [&](Value first, ValueRange) {
                Block part = getBlock(first);
                Value q = head(query, b, sequence, first, heads, h);
                Value o = head(output, b, sequence, first, heads, h);
                Value dO = head(grad, b, sequence, first, heads, h);
                Value dq = head(queryGrad, b, sequence, first, heads, h);
                Value k = head(key, b, keys, part.firstKey, keyHeads, keyHead);
                Value v =
                    head(value, b, keys, part.firstKey, keyHeads, keyHead);
                Value dk =
                    head(keyGrad, b, keys, part.firstKey, keyHeads, keyHead);
                Value dv =
                    head(valueGrad, b, keys, part.firstKey, keyHeads, keyHead);
                multiply(false, true, part.queries, part.keys, length, scale, q,
                         queryStride, k, keyStride, 0, probabilities,
                         scoreStride);
                multiply(false, true, part.queries, part.keys, length, 1, dO,
                         queryStride, v, keyStride, 0, slopes, scoreStride);
                code.loop(code.index(0), part.queries, 1, {},
                          [&](Value r, ValueRange) {
                            Value place = code.mul(r, heads * size);
                            Value rowDot = dot(code.address(dO, f32, place),
                                               code.address(o, f32, place));
                            Value rowLse = code.load(
                                code.address(lseRow, f32, code.add(first, r)),
                                f32, 1);
                            computeRow(part, r, rowLse, rowDot);
                            return SmallVector<Value>();
                          });
                multiply(true, false, part.keys, length, part.queries, 1,
                         probabilities, scoreStride, dO, queryStride, 1, dv,
                         keyStride);
                multiply(false, false, part.queries, length, part.keys, scale,
                         slopes, scoreStride, k, keyStride, 0, dq, queryStride);
                multiply(true, false, part.keys, length, part.queries, scale,
                         slopes, scoreStride, q, queryStride, 1, dk, keyStride);
                return SmallVector<Value>();
              });
          return SmallVector<Value>();
        });
    return SmallVector<Value>();
  });
}

} // namespace

LogicalResult pipemesh::emitAttentionKernel(KernelCode &code, Operation *op,
                                            KernelInfo &info) {
  if (!cast<RankedTensorType>(op->getOperand(0).getType())
           .getElementType()
           .isF32())
    return op->emitError("has a kernel for f32 only, but its operands are ")
           << op->getOperand(0).getType();
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  if (auto attention = dyn_cast<pm::AttentionOp>(op)) {
    AttentionEmitter(code, typeOf(attention.getQuery()),
                     typeOf(attention.getKey()),
                     attention.getScale().convertToDouble(),
                     attention.getCausal(), attention.getWindow())
        .emitForward(attention, info);
    return success();
  }
  auto grad = cast<pm::AttentionGradOp>(op);
  AttentionEmitter(code, typeOf(grad.getQuery()), typeOf(grad.getKey()),
                   grad.getScale().convertToDouble(), grad.getCausal(),
                   grad.getWindow())
      .emitGradient(grad, info);
  return success();
}
