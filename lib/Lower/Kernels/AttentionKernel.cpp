//===- AttentionKernel.cpp - attention and its gradient -------------------===//
//
// Blocks of queries against the keys that they see: products on queries and
// results where they are (a head is a strided matrix) and on packed copies of
// a head's keys and values, the row softmax in between on a block of scores in
// scratch. A block's row has room for one more vector behind the last key, so
// that rows need no remainder loop: what lies behind the last visible key is
// filled first.
//
// All arithmetic is float32. Of bfloat16 and float16 a block's rows are
// extended in scratch first, and results are rounded once, when they are whole.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "SmallProduct.h"
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
  Type f32, i64, stored; ///< `stored`: of the tensors
  bool isNarrow;
  VectorType vectorType;
  int64_t sequence, heads, size, keys, keyHeads, window;
  double scale;
  bool causal;
  /// Queries in a block, elements from one row of scores to the next, and from
  /// one row of the transposed keys to the next.
  int64_t block, stride, packed;

  int64_t getScores() const { return block * stride; }
  int64_t getTransposed() const { return size * packed; }
  int64_t getRows() const {
    return llvm::alignTo(size * keys, code.vectorWidth);
  }

  /// The block of queries that starts at `first`, and the keys that it sees.
  struct Block {
    Value first, queries, firstKey, keys;
  };
  Block getBlock(Value first);
  /// The visible keys [low, high) of a query, from the block's first key.
  std::pair<Value, Value> getRange(const Block &part, Value row);

  /// Rows of a head as float32: in the tensor, or a copy of them.
  struct Rows {
    Value pointer;
    int64_t stride;
  };
  /// The block's rows of a tensor that is read, extended to `copy` where
  /// needed.
  Rows readRows(const Block &part, Value tensor, Value copy);
  /// Where the block's rows of a result are computed.
  Rows resultRows(Value tensor, Value copy) {
    return isNarrow ? Rows{copy, size} : Rows{tensor, heads * size};
  }
  /// Rounds `count` rows of float32 to rows `stride` elements apart.
  void roundRows(Value from, Value to, Value count, int64_t stride);
  Value loadWide(Value row, Value column, unsigned width);
  /// Elements of float32 for copies of `tensors` blocks of rows.
  int64_t getCopies(int64_t tensors) const {
    return isNarrow ? tensors * llvm::alignTo(block * size, code.vectorWidth)
                    : 0;
  }

  /// A row of a head: `tensor` is [batch, length, heads, size].
  Value head(Value pointer, Value batch, int64_t length, Value position,
             int64_t headCount, Value headIndex);
  /// Writes rows [0, keys) of a head as columns of a matrix with `packed`
  /// columns.
  void transpose(Value from, Value to);
  /// Writes rows [0, keys) of a head one behind the other: at the stride of the
  /// tensor they would fall on a few sets of the cache.
  void gather(Value from, Value to);
  /// scores = alpha * rows * transposed keys or values, over the block's keys.
  void multiplyByColumns(const Block &part, double alpha, const Rows &rows,
                         Value transposed, Value scores);
  /// to = alpha * scores * gathered rows of keys or values, over the block's
  /// keys; `scale` has a factor a row.
  void multiplyByRows(const Block &part, double alpha, Value scores, Value rows,
                      Value scale, const Rows &to);
  /// to += alpha * transposed scores * rows of queries.
  void addTransposed(const Block &part, double alpha, Value scores,
                     const Rows &rows, const Rows &to);

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
      stored(query.getElementType()), isNarrow(!stored.isF32()),
      vectorType(VectorType::get({code.vectorWidth}, f32)),
      sequence(query.getDimSize(1)), heads(query.getDimSize(2)),
      size(query.getDimSize(3)), keys(key.getDimSize(1)),
      keyHeads(key.getDimSize(2)), window(window), scale(scale),
      causal(causal) {
  block = std::min<int64_t>(sequence, 32);
  int64_t visible = keys, columns = getProductColumns(code);
  if (window > 0 && causal)
    visible = std::min(keys, window + block);
  stride = llvm::alignTo(visible, columns) + code.vectorWidth;
  packed = llvm::alignTo(keys, columns) + columns;
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
  return code.address(pointer, stored, code.mul(row, size));
}

Value AttentionEmitter::loadWide(Value row, Value column, unsigned width) {
  Value value = code.load(code.address(row, stored, column), stored, width);
  return isNarrow ? Value(arith::ExtFOp::create(
                        builder, loc, getVectorType(f32, width), value))
                  : value;
}

AttentionEmitter::Rows AttentionEmitter::readRows(const Block &part,
                                                  Value tensor, Value copy) {
  if (!isNarrow)
    return {tensor, heads * size};
  code.loop(code.index(0), part.queries, 1, {}, [&](Value r, ValueRange) {
    Value source = code.address(tensor, stored, code.mul(r, heads * size));
    Value target = code.address(copy, f32, code.mul(r, size));
    forSize([&](Value i, unsigned width) {
      code.store(loadWide(source, i, width), code.address(target, f32, i), f32);
    });
    return SmallVector<Value>();
  });
  return {copy, size};
}

void AttentionEmitter::roundRows(Value from, Value to, Value count,
                                 int64_t stride) {
  code.loop(code.index(0), count, 1, {}, [&](Value r, ValueRange) {
    Value source = code.address(from, f32, code.mul(r, size));
    Value target = code.address(to, stored, code.mul(r, stride));
    forSize([&](Value i, unsigned width) {
      Value value = code.load(code.address(source, f32, i), f32, width);
      value = arith::TruncFOp::create(builder, loc,
                                      getVectorType(stored, width), value);
      code.store(value, code.address(target, stored, i), stored);
    });
    return SmallVector<Value>();
  });
}

void AttentionEmitter::transpose(Value from, Value to) {
  code.loop(code.index(0), code.index(keys), 1, {}, [&](Value j, ValueRange) {
    Value row = code.address(from, stored, code.mul(j, keyHeads * size));
    Value column = code.address(to, f32, j);
    code.loop(code.index(0), code.index(size), 1, {}, [&](Value i, ValueRange) {
      Value element = loadWide(row, i, 1);
      code.store(element, code.address(column, f32, code.mul(i, packed)), f32);
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
}

void AttentionEmitter::gather(Value from, Value to) {
  code.loop(code.index(0), code.index(keys), 1, {}, [&](Value j, ValueRange) {
    Value source = code.address(from, stored, code.mul(j, keyHeads * size));
    Value target = code.address(to, f32, code.mul(j, size));
    forSize([&](Value i, unsigned width) {
      code.store(loadWide(source, i, width), code.address(target, f32, i), f32);
    });
    return SmallVector<Value>();
  });
}

void AttentionEmitter::multiplyByColumns(const Block &part, double alpha,
                                         const Rows &rows, Value transposed,
                                         Value scores) {
  SmallProduct product;
  product.m = part.queries;
  product.n = part.keys;
  product.k = code.index(size);
  product.a = rows.pointer;
  product.aRow = rows.stride;
  product.b = code.address(transposed, f32, part.firstKey);
  product.bRow = packed;
  product.c = scores;
  product.cRow = stride;
  product.alpha = alpha;
  product.padded = true;
  emitSmallProduct(code, product);
}

void AttentionEmitter::multiplyByRows(const Block &part, double alpha,
                                      Value scores, Value rows, Value scale,
                                      const Rows &to) {
  SmallProduct product;
  product.m = part.queries;
  product.n = code.index(size);
  product.k = part.keys;
  product.a = scores;
  product.aRow = stride;
  product.b = code.address(rows, f32, code.mul(part.firstKey, size));
  product.bRow = size;
  product.c = to.pointer;
  product.cRow = to.stride;
  product.alpha = alpha;
  product.scale = scale;
  emitSmallProduct(code, product);
}

void AttentionEmitter::addTransposed(const Block &part, double alpha,
                                     Value scores, const Rows &rows,
                                     const Rows &to) {
  SmallProduct product;
  product.m = part.keys;
  product.n = code.index(size);
  product.k = part.queries;
  product.a = scores;
  product.aRow = 1;
  product.aColumn = stride;
  product.b = rows.pointer;
  product.bRow = rows.stride;
  product.c = to.pointer;
  product.cRow = to.stride;
  product.alpha = alpha;
  product.accumulate = true;
  emitSmallProduct(code, product);
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
  int64_t group = heads / keyHeads;
  // The heads of a group share the transposed keys, where that leaves enough
  // iterations for the threads.
  int64_t unit = batch * keyHeads >= 32 ? group : 1, units = heads / unit;
  info.extent = batch * units;
  info.scratchBytes =
      (getTransposed() + getRows() + getScores() + getCopies(2) + block) *
      sizeof(float);
  Value columns = code.scratch;
  Value rows = code.address(columns, f32, getTransposed());
  Value scores = code.address(rows, f32, getRows());
  Value queryCopy = code.address(scores, f32, getScores());
  Value resultCopy = code.address(queryCopy, f32, getCopies(1));
  Value inverses = code.address(resultCopy, f32, getCopies(1));
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Value b = arith::DivUIOp::create(builder, loc, i, code.index(units));
    Value firstHead = code.mul(
        arith::RemUIOp::create(builder, loc, i, code.index(units)), unit);
    Value keyHead =
        arith::DivUIOp::create(builder, loc, firstHead, code.index(group));
    transpose(head(key, b, keys, code.index(0), keyHeads, keyHead), columns);
    gather(head(value, b, keys, code.index(0), keyHeads, keyHead), rows);
    code.loop(code.index(0), code.index(unit), 1, {}, [&](Value g, ValueRange) {
      Value h = code.add(firstHead, g);
      Value lseRow = code.address(
          lse, f32, code.mul(code.add(code.mul(b, heads), h), sequence));
      auto emitBlock = [&](Value first, ValueRange) {
        Block part = getBlock(first);
        Rows q = readRows(part, head(query, b, sequence, first, heads, h),
                          queryCopy);
        Value o = head(result, b, sequence, first, heads, h);
        multiplyByColumns(part, scale, q, columns, scores);
        code.loop(code.index(0), part.queries, 1, {}, [&](Value r, ValueRange) {
          auto [low, high] = getRange(part, r);
          Value row = code.address(scores, f32, code.mul(r, stride));
          softmaxRow(row, low, high, part.keys, code.address(inverses, f32, r),
                     code.address(lseRow, f32, code.add(first, r)));
          return SmallVector<Value>();
        });
        multiplyByRows(part, 1, scores, rows, inverses,
                       resultRows(o, resultCopy));
        if (isNarrow)
          roundRows(resultCopy, o, part.queries, heads * size);
        return SmallVector<Value>();
      };
      code.loop(code.index(0), code.index(sequence), block, {}, emitBlock);
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
  info.scratchBytes = (2 * (getTransposed() + getScores()) +
                       (isNarrow ? 3 : 1) * getRows() + getCopies(4)) *
                      sizeof(float);
  Value keyColumns = code.scratch;
  Value valueColumns = code.address(keyColumns, f32, getTransposed());
  Value keyRows = code.address(valueColumns, f32, getTransposed());
  Value probabilities = code.address(keyRows, f32, getRows());
  Value slopes = code.address(probabilities, f32, getScores());
  Value copies[4], sums[2]; // of blocks of rows, and of all keys' gradients
  copies[0] = code.address(slopes, f32, getScores());
  for (int i = 1; i < 4; ++i)
    copies[i] = code.address(copies[i - 1], f32, getCopies(1));
  sums[0] = code.address(copies[3], f32, getCopies(1));
  sums[1] = code.address(sums[0], f32, getRows());
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
    Value gradients[] = {
        head(keyGrad, b, keys, code.index(0), keyHeads, keyHead),
        head(valueGrad, b, keys, code.index(0), keyHeads, keyHead)};
    code.loop(code.index(0), code.index(keys), 1, {}, [&](Value j, ValueRange) {
      for (int side : {0, 1}) {
        Value row = isNarrow ? code.address(sums[side], f32, code.mul(j, size))
                             : code.address(gradients[side], f32,
                                            code.mul(j, keyHeads * size));
        forSize([&](Value c, unsigned columns) {
          code.store(code.constant(getVectorType(f32, columns), 0),
                     code.address(row, f32, c), f32);
        });
      }
      return SmallVector<Value>();
    });
    Value zero = code.index(0);
    transpose(head(key, b, keys, zero, keyHeads, keyHead), keyColumns);
    transpose(head(value, b, keys, zero, keyHeads, keyHead), valueColumns);
    gather(head(key, b, keys, zero, keyHeads, keyHead), keyRows);
    code.loop(zero, code.index(group), 1, {}, [&](Value g, ValueRange) {
      Value h = code.add(code.mul(keyHead, group), g);
      Value lseRow = code.address(
          lse, f32, code.mul(code.add(code.mul(b, heads), h), sequence));
      auto emitBlock = [&](Value first, ValueRange) {
        Block part = getBlock(first);
        auto queries = [&](Value tensor) {
          return head(tensor, b, sequence, first, heads, h);
        };
        auto visible = [&](int side) {
          int64_t row = isNarrow ? size : keyHeads * size;
          return Rows{code.address(isNarrow ? sums[side] : gradients[side], f32,
                                   code.mul(part.firstKey, row)),
                      row};
        };
        Rows q = readRows(part, queries(query), copies[0]);
        Rows o = readRows(part, queries(output), copies[1]);
        Rows dO = readRows(part, queries(grad), copies[2]);
        multiplyByColumns(part, scale, q, keyColumns, probabilities);
        multiplyByColumns(part, 1, dO, valueColumns, slopes);
        code.loop(zero, part.queries, 1, {}, [&](Value r, ValueRange) {
          Value place = code.mul(r, dO.stride);
          Value rowDot = dot(code.address(dO.pointer, f32, place),
                             code.address(o.pointer, f32, place));
          Value rowLse =
              code.load(code.address(lseRow, f32, code.add(first, r)), f32, 1);
          computeRow(part, r, rowLse, rowDot);
          return SmallVector<Value>();
        });
        addTransposed(part, 1, probabilities, dO, visible(1));
        Value dQ = queries(queryGrad);
        multiplyByRows(part, scale, slopes, keyRows, Value(),
                       resultRows(dQ, copies[3]));
        if (isNarrow)
          roundRows(copies[3], dQ, part.queries, heads * size);
        addTransposed(part, scale, slopes, q, visible(0));
        return SmallVector<Value>();
      };
      code.loop(zero, code.index(sequence), block, {}, emitBlock);
      return SmallVector<Value>();
    });
    if (isNarrow)
      for (int side : {0, 1})
        roundRows(sums[side], gradients[side], code.index(keys),
                  keyHeads * size);
    return SmallVector<Value>();
  });
}

} // namespace

LogicalResult pipemesh::emitAttentionKernel(KernelCode &code, Operation *op,
                                            KernelInfo &info) {
  Type element =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return op->emitError(
               "has a kernel for f32, bf16 and f16 only, but its operands are ")
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
