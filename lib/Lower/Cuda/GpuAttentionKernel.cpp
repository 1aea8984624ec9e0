//===- GpuAttentionKernel.cpp - attention and its gradient on a GPU -------===//
//
// A group of threads owns a query (for gradients of keys and values: a key) and
// holds its part of each row in registers; the block's groups walk over tiles
// of the other side's rows, which lie in shared memory. All arithmetic is
// float32: bfloat16 and float16 are extended where they are read, and results
// are rounded once, where they are stored. The softmax is made on the way: sums
// are scaled when a larger score comes (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention",
// 2022), so that nothing of the size of all scores is ever written.
//
//===----------------------------------------------------------------------===//

#include "../Kernels/ScalarOps.h"
#include "GpuCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

namespace {

/// The rows of a group's thread, as vectors.
using Slice = SmallVector<Value>;

class GpuAttention {
public:
  /// Threads hold at most `sliceElements` of a row.
  GpuAttention(GpuCode &code, RankedTensorType query, RankedTensorType key,
               double scale, bool causal, int64_t window,
               int64_t sliceElements);

  void emitForward(pm::AttentionOp op);
  void emitGradient(pm::AttentionGradOp op);

private:
  GpuCode &code;
  OpBuilder &builder;
  Location loc;
  Type f32;
  Type stored; ///< of rows in memory
  int64_t batch, sequence, heads, size, keys, keyHeads, window;
  double scale;
  bool causal;
  /// Elements of a vector, threads of a group, vectors of a thread, elements of a
  /// row with its padding, groups of a block, and rows of a tile.
  int64_t width, group = 1, vectors, pitch, slots, tileRows;
  Value member, slot, firstTile, secondTile;

  static constexpr int64_t kChunk = 8;

  /// A head's row in a tensor [batch, length, heads, size].
  struct Rows {
    Value pointer, batch, head;
    int64_t length, heads;
  };
  Value rowOf(const Rows &rows, Value position);
  Value columnOf(int64_t vector);
  /// A vector of a row as float32.
  Value readVector(Value row, Value column);
  Slice load(const Rows &rows, Value position, int64_t length);
  void store(const Rows &rows, Value position, const Slice &slice);
  /// Rows [first, first + tileRows) to shared memory; zeros behind the last.
  void loadTile(const Rows &rows, Value first, Value tile);
  Value tileVector(Value tile, Value row, int64_t vector);
  Slice tileSlice(Value tile, Value row);
  Value dot(const Slice &a, const Slice &b);
  void addScaled(MutableArrayRef<Value> sums, Value factor, const Slice &slice);
  Slice zeros();
  Value splat(Value scalar) { return code.splat(scalar, width); }
  Value max(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  Value constant(double value) { return code.constant(f32, value); }
  Value ceil(Value a, int64_t b) { return code.divide(code.add(a, b - 1), b); }
  /// Keys [low, high) that queries [first, last) see.
  std::pair<Value, Value> getKeys(Value first, Value last);
  /// Whether a query sees a key.
  Value isVisible(Value query, Value key);

  void emitQueryGrad(pm::AttentionGradOp op, Value block);
  void emitKeyGrad(pm::AttentionGradOp op, Value block);
};

GpuAttention::GpuAttention(GpuCode &code, RankedTensorType query,
                           RankedTensorType key, double scale, bool causal,
                           int64_t window, int64_t sliceElements)
    : code(code), builder(code.builder), loc(code.loc),
      f32(code.builder.getF32Type()), stored(query.getElementType()),
      batch(query.getDimSize(0)), sequence(query.getDimSize(1)),
      heads(query.getDimSize(2)), size(query.getDimSize(3)),
      keys(key.getDimSize(1)), keyHeads(key.getDimSize(2)), window(window),
      scale(scale), causal(causal) {
  width = size % 4 == 0 ? 4 : 1;
  while (group < kWarp && size > group * sliceElements)
    group *= 2;
  vectors = llvm::divideCeil(size, group * width);
  pitch = vectors * group * width;
  slots = code.threads / group;
  tileRows = std::max<int64_t>(
      kChunk, std::min<int64_t>(32, (4096 / pitch) / kChunk * kChunk));
  member = code.remainder(code.thread(), group);
  slot = code.divide(code.thread(), group);
  firstTile = code.shared(f32, tileRows * pitch);
  secondTile = code.shared(f32, tileRows * pitch);
}

Value GpuAttention::rowOf(const Rows &rows, Value position) {
  Value row = code.add(code.mul(rows.batch, rows.length), position);
  row = code.add(code.mul(row, rows.heads), rows.head);
  return code.address(rows.pointer, stored, code.mul(row, size));
}

Value GpuAttention::readVector(Value row, Value column) {
  Value vector = code.load(code.address(row, stored, column), stored, width,
                           width * getElementBytes(stored));
  if (stored == f32)
    return vector;
  return arith::ExtFOp::create(builder, loc, getVectorType(f32, width), vector);
}

Value GpuAttention::columnOf(int64_t vector) {
  return code.mul(code.add(member, vector * group), width);
}

Slice GpuAttention::load(const Rows &rows, Value position, int64_t length) {
  // A group behind the last row holds that one, and stores nothing.
  Value row = rowOf(rows, code.minimum(position, code.index(length - 1)));
  Slice slice;
  for (int64_t v = 0; v < vectors; ++v) {
    Value column = columnOf(v);
    auto read = [&]() -> SmallVector<Value> {
      return {readVector(row, column)};
    };
    Type type = getVectorType(f32, width);
    if (pitch == size)
      slice.push_back(read()[0]);
    else
      slice.push_back(code.choose(
          code.isBelow(column, code.index(size)), type, read,
          [&]() -> SmallVector<Value> { return {code.constant(type, 0)}; })[0]);
  }
  return slice;
}

void GpuAttention::store(const Rows &rows, Value position,
                         const Slice &slice) {
  Value inside = code.isBelow(position, code.index(rows.length));
  code.when(inside, [&] {
    Value row = rowOf(rows, position);
    for (int64_t v = 0; v < vectors; ++v) {
      Value column = columnOf(v);
      auto write = [&] {
        Value vector = slice[v];
        if (stored != f32)
          vector = arith::TruncFOp::create(
              builder, loc, getVectorType(stored, width), vector);
        code.store(vector, code.address(row, stored, column), stored,
                   width * getElementBytes(stored));
      };
      if (pitch == size)
        write();
      else
        code.when(code.isBelow(column, code.index(size)), write);
    }
  });
}

void GpuAttention::loadTile(const Rows &rows, Value first, Value tile) {
  int64_t perRow = pitch / width;
  Type type = getVectorType(f32, width);
  code.loop(code.thread(), code.index(tileRows * perRow), code.threads, {},
            [&](Value i, ValueRange) -> SmallVector<Value> {
              Value position = code.add(first, code.divide(i, perRow));
              Value column = code.mul(code.remainder(i, perRow), width);
              Value inside =
                  code.isBelow(position, code.index(rows.length));
              if (pitch != size)
                inside = code.both(inside,
                                   code.isBelow(column, code.index(size)));
              Value value = code.choose(
                  inside, type,
                  [&]() -> SmallVector<Value> {
                    return {readVector(rowOf(rows, position), column)};
                  },
                  [&]() -> SmallVector<Value> {
                    return {code.constant(type, 0)};
                  })[0];
              code.store(value, code.address(tile, f32, code.mul(i, width)),
                         f32, 4 * width);
              return {};
            });
}

Value GpuAttention::tileVector(Value tile, Value row, int64_t vector) {
  Value place = code.add(code.mul(row, pitch), columnOf(vector));
  return code.load(code.address(tile, f32, place), f32, width, 4 * width);
}

Slice GpuAttention::tileSlice(Value tile, Value row) {
  Slice slice;
  for (int64_t v = 0; v < vectors; ++v)
    slice.push_back(tileVector(tile, row, v));
  return slice;
}

Value GpuAttention::dot(const Slice &a, const Slice &b) {
  Value sums;
  for (int64_t v = 0; v < vectors; ++v)
    sums = sums ? code.fma(a[v], b[v], sums) : code.mulf(a[v], b[v]);
  Value sum = code.lane(sums, 0);
  for (int64_t i = 1; i < width; ++i)
    sum = code.addf(sum, code.lane(sums, i));
  for (int64_t distance = 1; distance < group; distance *= 2)
    sum = code.addf(sum, code.exchange(sum, distance));
  return sum;
}

void GpuAttention::addScaled(MutableArrayRef<Value> sums, Value factor,
                             const Slice &slice) {
  Value factors = splat(factor);
  for (int64_t v = 0; v < vectors; ++v)
    sums[v] = code.fma(factors, slice[v], sums[v]);
}

Slice GpuAttention::zeros() {
  return Slice(vectors, code.constant(getVectorType(f32, width), 0));
}

std::pair<Value, Value> GpuAttention::getKeys(Value first, Value last) {
  Value low = code.index(0), high = code.index(keys);
  if (window > 0)
    low = max(code.add(first, 1 - window), low);
  if (causal)
    high = code.minimum(last, high);
  return {low, high};
}

Value GpuAttention::isVisible(Value query, Value key) {
  Value visible = code.isBelow(key, code.index(keys));
  if (causal)
    visible = code.both(visible, code.isBelow(key, code.add(query, 1)));
  if (window > 0)
    visible = code.both(visible,
                        code.isBelow(query, code.add(key, window)));
  return visible;
}

void GpuAttention::emitForward(pm::AttentionOp op) {
  int64_t blocks = llvm::divideCeil(sequence, slots);
  code.blocks = batch * heads * blocks;
  Value first = code.mul(code.remainder(code.block(), blocks), slots);
  Value head = code.remainder(code.divide(code.block(), blocks), heads);
  Value b = code.divide(code.block(), blocks * heads);
  Value keyHead = code.divide(head, heads / keyHeads);
  auto input = [&](Value value) { return code.inputs.lookup(value); };
  Rows queryRows{input(op.getQuery()), b, head, sequence, heads};
  Rows keyRows{input(op.getKey()), b, keyHead, keys, keyHeads};
  Rows valueRows{input(op.getValue()), b, keyHead, keys, keyHeads};
  Rows resultRows{code.results[0], b, head, sequence, heads};

  Value query = code.add(first, slot);
  Slice q = load(queryRows, query, sequence);
  double infinity = std::numeric_limits<double>::infinity();
  Value lowest = constant(-infinity), zero = constant(0);
  SmallVector<Value> carried{lowest, zero};
  carried.append(zeros());
  Value last = code.minimum(code.add(first, slots), code.index(sequence));
  auto [low, high] = getKeys(first, last);
  carried = code.loop(
      low, high, tileRows, carried, [&](Value tile, ValueRange outer) {
        code.barrier();
        loadTile(keyRows, tile, firstTile);
        loadTile(valueRows, tile, secondTile);
        code.barrier();
        return code.loop(
            code.index(0), code.index(tileRows), kChunk, outer,
            [&](Value chunk, ValueRange inner) {
              SmallVector<Value> next(inner), scores;
              Value maximum = next[0];
              for (int64_t i = 0; i < kChunk; ++i) {
                Value row = code.add(chunk, i);
                Value score = code.mulf(dot(q, tileSlice(firstTile, row)),
                                        constant(scale));
                score = code.select(isVisible(query, code.add(tile, row)),
                                    score, lowest);
                scores.push_back(score);
                maximum =
                    arith::MaximumFOp::create(builder, loc, maximum, score);
              }
              // Nothing is visible yet: any finite shift leaves zeros.
              Value isEmpty = arith::CmpFOp::create(
                  builder, loc, arith::CmpFPredicate::OEQ, maximum, lowest);
              Value shift = code.select(isEmpty, zero, maximum);
              Value factor = code.exp(code.subf(next[0], shift));
              next[0] = maximum;
              next[1] = code.mulf(next[1], factor);
              MutableArrayRef<Value> sums =
                  MutableArrayRef<Value>(next).drop_front(2);
              for (Value &sum : sums)
                sum = code.mulf(sum, splat(factor));
              for (int64_t i = 0; i < kChunk; ++i) {
                Value power = code.exp(code.subf(scores[i], shift));
                next[1] = code.addf(next[1], power);
                addScaled(sums, power,
                          tileSlice(secondTile, code.add(chunk, i)));
              }
              return next;
            });
      });
  Value inverse =
      arith::DivFOp::create(builder, loc, constant(1), carried[1]);
  Slice result;
  for (Value sum : ArrayRef<Value>(carried).drop_front(2))
    result.push_back(code.mulf(sum, splat(inverse)));
  store(resultRows, query, result);
  Value isFirst = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, member, code.index(0));
  Value inside = code.isBelow(query, code.index(sequence));
  code.when(code.both(isFirst, inside), [&] {
    Value lse = code.addf(carried[0],
                          math::LogOp::create(builder, loc, carried[1]));
    Value row = code.add(code.mul(b, heads), head);
    code.storeElement(1, f32, lse, code.add(code.mul(row, sequence), query));
  });
}

/// dq = scale * sum over keys of p (dO v - dO o) k.
void GpuAttention::emitQueryGrad(pm::AttentionGradOp op, Value block) {
  int64_t blocks = llvm::divideCeil(sequence, slots);
  Value first = code.mul(code.remainder(block, blocks), slots);
  Value head = code.remainder(code.divide(block, blocks), heads);
  Value b = code.divide(block, blocks * heads);
  Value keyHead = code.divide(head, heads / keyHeads);
  auto input = [&](Value value) { return code.inputs.lookup(value); };
  auto queries = [&](Value pointer) {
    return Rows{pointer, b, head, sequence, heads};
  };
  Rows keyRows{input(op.getKey()), b, keyHead, keys, keyHeads};
  Rows valueRows{input(op.getValue()), b, keyHead, keys, keyHeads};
  Value query = code.add(first, slot);
  Slice q = load(queries(input(op.getQuery())), query, sequence);
  Slice dO = load(queries(input(op.getGrad())), query, sequence);
  Value mean =
      dot(dO, load(queries(input(op.getResult())), query, sequence));
  Value place = code.add(code.mul(code.add(code.mul(b, heads), head), sequence),
                         code.minimum(query, code.index(sequence - 1)));
  Value lse = code.loadElement(op.getLse(), place);
  Value last = code.minimum(code.add(first, slots), code.index(sequence));
  auto [low, high] = getKeys(first, last);
  SmallVector<Value> sums = code.loop(
      low, high, tileRows, zeros(), [&](Value tile, ValueRange outer) {
        code.barrier();
        loadTile(keyRows, tile, firstTile);
        loadTile(valueRows, tile, secondTile);
        code.barrier();
        return code.loop(
            code.index(0), code.index(tileRows), 1, outer,
            [&](Value row, ValueRange inner) {
              SmallVector<Value> next(inner);
              Slice k = tileSlice(firstTile, row);
              Value score = code.mulf(dot(q, k), constant(scale));
              Value power = code.exp(code.subf(score, lse));
              power = code.select(isVisible(query, code.add(tile, row)), power,
                                  constant(0));
              Value slope = code.subf(dot(dO, tileSlice(secondTile, row)), mean);
              slope = code.mulf(code.mulf(power, slope), constant(scale));
              addScaled(next, slope, k);
              return next;
            });
      });
  store(queries(code.results[0]), query, Slice(sums));
}

/// dv = sum over queries of p dO, dk = scale * sum of p (dO v - dO o) q, over all
/// heads of the key's group.
void GpuAttention::emitKeyGrad(pm::AttentionGradOp op, Value block) {
  int64_t blocks = llvm::divideCeil(keys, slots), ratio = heads / keyHeads;
  Value first = code.mul(code.remainder(block, blocks), slots);
  Value keyHead = code.remainder(code.divide(block, blocks), keyHeads);
  Value b = code.divide(block, blocks * keyHeads);
  auto input = [&](Value value) { return code.inputs.lookup(value); };
  auto keyRows = [&](Value pointer) {
    return Rows{pointer, b, keyHead, keys, keyHeads};
  };
  Value key = code.add(first, slot);
  Slice k = load(keyRows(input(op.getKey())), key, keys);
  Slice v = load(keyRows(input(op.getValue())), key, keys);
  Value logarithms = code.shared(f32, tileRows),
        means = code.shared(f32, tileRows);

  // The queries that see the block's keys.
  Value low = code.index(0), high = code.index(sequence);
  if (causal)
    low = first;
  if (window > 0)
    high = code.minimum(code.add(first, slots + window - 1), high);
  SmallVector<Value> carried = zeros();
  carried.append(zeros());
  carried = code.loop(
      code.index(0), code.index(ratio), 1, carried,
      [&](Value g, ValueRange all) {
        Value head = code.add(code.mul(keyHead, ratio), g);
        Rows queryRows{input(op.getQuery()), b, head, sequence, heads};
        Rows gradRows{input(op.getGrad()), b, head, sequence, heads};
        Rows resultRows{input(op.getResult()), b, head, sequence, heads};
        Value lseRow =
            code.mul(code.add(code.mul(b, heads), head), sequence);
        return code.loop(
            low, high, tileRows, all, [&](Value tile, ValueRange outer) {
              code.barrier();
              loadTile(queryRows, tile, firstTile);
              loadTile(gradRows, tile, secondTile);
              code.barrier();
              for (int64_t start = 0; start < tileRows; start += slots) {
                Value row = code.add(slot, start);
                Value near = code.minimum(row, code.index(tileRows - 1));
                Value query = code.add(tile, near);
                Value mean = dot(tileSlice(secondTile, near),
                                 load(resultRows, query, sequence));
                Value inside = code.both(
                    arith::CmpIOp::create(builder, loc,
                                          arith::CmpIPredicate::eq, member,
                                          code.index(0)),
                    code.isBelow(row, code.index(tileRows)));
                code.when(inside, [&] {
                  Value last =
                      code.minimum(query, code.index(sequence - 1));
                  code.store(mean, code.address(means, f32, row), f32);
                  code.store(
                      code.loadElement(op.getLse(), code.add(lseRow, last)),
                      code.address(logarithms, f32, row), f32);
                });
              }
              code.barrier();
              return code.loop(
                  code.index(0), code.index(tileRows), 1, outer,
                  [&](Value row, ValueRange inner) {
                    SmallVector<Value> next(inner);
                    Value query = code.add(tile, row);
                    Slice q = tileSlice(firstTile, row);
                    Slice dO = tileSlice(secondTile, row);
                    auto at = [&](Value list) {
                      return code.load(code.address(list, f32, row), f32, 1);
                    };
                    Value score = code.mulf(dot(q, k), constant(scale));
                    Value power = code.exp(code.subf(score, at(logarithms)));
                    Value visible = code.both(
                        isVisible(query, key),
                        code.isBelow(query, code.index(sequence)));
                    power = code.select(visible, power, constant(0));
                    Value slope = code.subf(dot(dO, v), at(means));
                    slope = code.mulf(code.mulf(power, slope),
                                      constant(scale));
                    MutableArrayRef<Value> sums(next);
                    addScaled(sums.take_front(vectors), slope, q);
                    addScaled(sums.drop_front(vectors), power, dO);
                    return next;
                  });
            });
      });
  ArrayRef<Value> sums(carried);
  store(keyRows(code.results[1]), key, Slice(sums.take_front(vectors)));
  store(keyRows(code.results[2]), key, Slice(sums.drop_front(vectors)));
}

void GpuAttention::emitGradient(pm::AttentionGradOp op) {
  int64_t queryBlocks = batch * heads * llvm::divideCeil(sequence, slots);
  int64_t keyBlocks = batch * keyHeads * llvm::divideCeil(keys, slots);
  code.blocks = queryBlocks + keyBlocks;
  code.choose(
      code.isBelow(code.block(), code.index(queryBlocks)), TypeRange(),
      [&]() -> SmallVector<Value> {
        emitQueryGrad(op, code.block());
        return {};
      },
      [&]() -> SmallVector<Value> {
        emitKeyGrad(op, code.add(code.block(), -queryBlocks));
        return {};
      });
}

} // namespace

LogicalResult pipemesh::emitGpuAttentionKernel(KernelCode &code, Operation *op,
                                               KernelInfo &) {
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  Type element = typeOf(op->getOperand(0)).getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return op->emitError(
               "has a kernel for f32, bf16 and f16 only, but its operands are ")
           << op->getOperand(0).getType();
  auto &gpu = static_cast<GpuCode &>(code);
  if (auto attention = dyn_cast<pm::AttentionOp>(op)) {
    GpuAttention(gpu, typeOf(attention.getQuery()), typeOf(attention.getKey()),
                 attention.getScale().convertToDouble(),
                 attention.getCausal(), attention.getWindow(),
                 /*sliceElements=*/32)
        .emitForward(attention);
    return success();
  }
  auto grad = cast<pm::AttentionGradOp>(op);
  GpuAttention(gpu, typeOf(grad.getQuery()), typeOf(grad.getKey()),
               grad.getScale().convertToDouble(), grad.getCausal(),
               grad.getWindow(), /*sliceElements=*/16)
      .emitGradient(grad);
  return success();
}
