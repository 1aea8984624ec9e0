//===- DynamicSlices.cpp - windows of cut dimensions ----------------------===//
//
// The start of a window is clamped as that of the whole dimension, then compared
// with the rank's block. Of the window a block holds at most `part` elements,
// which lie in a part of the block of that size: a read takes this part and
// moves it to its place in the window, between zeros; a write reads it, puts in
// what the update has of it, and writes it back.
//
//===----------------------------------------------------------------------===//

#include "IndexMath.h"
#include "MovedOps.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

namespace {
/// A window along one dimension of a block.
struct WindowDim {
  /// Of the window, and of the part of the block that may hold some of it.
  int64_t size = 0, part = 0;
  /// Where the part starts in the block.
  Value place;
  /// Where the part starts in the window, before or in or behind it; null where
  /// the part is the window.
  Value shift;
};
} // namespace

/// A window of `size` elements from `start` on: an index of any integer type.
static WindowDim windowOf(BlockBuilder &b, const Cut &cut, Value start,
                          int64_t size) {
  WindowDim window;
  window.size = size;
  if (size == cut.size) {
    window.part = window.size = cut.block;
    window.place = b.constant(0);
    return window;
  }
  Value first = b.clampIndex(start, 0, cut.size - size);
  if (!cut.isCut()) {
    window.part = size;
    window.place = first;
    return window;
  }
  window.part = std::min(size, cut.block);
  Value inBlock = b.sub(first, b.p.offsetOf(b.loc, cut));
  window.place = b.clampIndex(inBlock, 0, cut.block - window.part);
  window.shift = b.sub(window.place, inBlock);
  return window;
}

static SmallVector<Value> placesOf(ArrayRef<WindowDim> windows) {
  SmallVector<Value> places;
  for (const WindowDim &window : windows)
    places.push_back(window.place);
  return places;
}

static SmallVector<int64_t> partsOf(ArrayRef<WindowDim> windows) {
  SmallVector<int64_t> parts;
  for (const WindowDim &window : windows)
    parts.push_back(window.part);
  return parts;
}

/// Whether the scalar is zero.
static Value isZero(BlockBuilder &b, Value scalar) {
  return b.compare(scalar, b.constant(0), ComparisonDirection::EQ);
}

/// The elements from `start` on along one dimension, all others in place.
static Value takeFrom(BlockBuilder &b, Value value, unsigned dim, Value start,
                      int64_t size) {
  SmallVector<int64_t> sizes(TensorBuilder::shapeOf(value));
  SmallVector<Value> starts(sizes.size(), b.constant(0));
  sizes[dim] = size;
  starts[dim] = start;
  return b.dynamicSlice(value, starts, sizes);
}

/// The window, with zeros in the place of what this rank does not have.
static Value readWindow(BlockBuilder &b, Value block,
                        ArrayRef<WindowDim> windows) {
  Value value = b.dynamicSlice(block, placesOf(windows), partsOf(windows));
  for (auto [dim, window] : llvm::enumerate(windows)) {
    if (!window.shift)
      continue;
    if (window.size == 1) {
      value = b.choose(isZero(b, window.shift), value,
                       b.zeros(TensorBuilder::typeOf(value)));
      continue;
    }
    value = b.padWithZero(value, dim, window.size, window.size);
    value = takeFrom(b, value, dim,
                     b.sub(b.constant(window.size), window.shift), window.size);
  }
  return value;
}

/// The block with what it has of the window replaced.
static Value writeWindow(BlockBuilder &b, Value block, Value update,
                         ArrayRef<WindowDim> windows) {
  SmallVector<int64_t> shape = partsOf(windows);
  Value isUpdated;
  for (auto [dim, window] : llvm::enumerate(windows)) {
    if (!window.shift)
      continue;
    Value inside;
    if (window.size == 1) {
      inside = b.broadcast(isZero(b, window.shift), {}, shape);
    } else {
      update = b.padWithZero(update, dim, window.part, window.part);
      update = takeFrom(b, update, dim,
                        b.add(b.constant(window.part), window.shift),
                        window.part);
      Value places = b.add(b.places(shape, dim),
                           b.broadcast(window.shift, {}, shape));
      inside = b.isWithin(places, 0, window.size);
    }
    isUpdated = isUpdated ? b.both(isUpdated, inside) : inside;
  }
  SmallVector<Value> places = placesOf(windows);
  if (isUpdated)
    update = b.select(isUpdated, update, b.dynamicSlice(block, places, shape));
  return DynamicUpdateSliceOp::create(b.builder, b.loc, block, update, places);
}

/// Whether a rank's block may hold a part of a window of these sizes: elsewhere
/// the window is whole, or as long as the dimension.
static bool anyPart(ArrayRef<Cut> cuts, ArrayRef<int64_t> sizes) {
  return llvm::any_of(llvm::zip_equal(cuts, sizes), [](auto dim) {
    auto &[cut, size] = dim;
    return cut.isCut() && size != cut.size;
  });
}

static SmallVector<Cut> cutsUnder(Partitioner &p, Value original,
                                  const ValueSharding &sharding) {
  SmallVector<Cut> cuts;
  for (auto [size, dim] : llvm::zip_equal(
           Partitioner::globalTypeOf(original).getShape(), sharding.dims))
    cuts.push_back(p.cutOf(size, dim));
  return cuts;
}

static LogicalResult convertDynamicSlice(Partitioner &p, DynamicSliceOp op) {
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        BlockBuilder b(p, op.getLoc());
        ArrayRef<Value> operands = moved.operands;
        SmallVector<Cut> cuts =
            cutsUnder(p, op.getOperand(), moved.shardings[0]);
        if (!anyPart(cuts, op.getSliceSizes())) {
          auto slice = cast<DynamicSliceOp>(p.copy(op, operands, moved.types));
          slice.setSliceSizes(
              cast<RankedTensorType>(moved.types[0]).getShape());
          return {slice.getResult()};
        }
        SmallVector<WindowDim> windows;
        for (auto [dim, size] : llvm::enumerate(op.getSliceSizes()))
          windows.push_back(windowOf(b, cuts[dim], operands[dim + 1], size));
        return {readWindow(b, operands[0], windows)};
      });
}

static LogicalResult convertDynamicUpdateSlice(Partitioner &p,
                                               DynamicUpdateSliceOp op) {
  SmallVector<Cut> cuts = p.cutsOf(op.getOperand());
  auto update = Partitioner::globalTypeOf(op.getUpdate());
  if (!anyPart(cuts, update.getShape()))
    return p.convertPlain(op);
  BlockBuilder b(p, op.getLoc());
  SmallVector<WindowDim> windows;
  for (auto [dim, cut] : llvm::enumerate(cuts))
    windows.push_back(windowOf(b, cut, p.local(op.getStartIndices()[dim]),
                               update.getDimSize(dim)));
  p.define(op.getResult(), writeWindow(b, p.local(op.getOperand()),
                                       p.local(op.getUpdate()), windows));
  return success();
}

/// A slice of a dimension that is whole, or taken whole, is one of the block. Of
/// other dimensions that are cut, a rank gives what it has.
static Value sliceOfBlock(BlockBuilder &b, SliceOp op, Value block,
                          SmallVector<Cut> cuts,
                          const llvm::SmallBitVector &done) {
  SmallVector<int64_t> starts(op.getStartIndices()),
      limits(op.getLimitIndices()), strides(op.getStrides());
  SmallVector<int64_t> sizes(
      Partitioner::globalTypeOf(op.getResult()).getShape());
  SmallVector<int64_t> local(BlockBuilder::shapeOf(block));
  for (int dim : done.set_bits()) {
    cuts[dim] = Cut();
    cuts[dim].size = cuts[dim].block = sizes[dim] = limits[dim] = local[dim];
    starts[dim] = 0;
    strides[dim] = 1;
  }
  bool anyWindow = anyPart(cuts, sizes);
  SmallVector<WindowDim> windows;
  for (auto [dim, cut] : llvm::enumerate(cuts)) {
    if (cut.isCut() && sizes[dim] != cut.size) {
      int64_t span = sizes[dim] == 0 ? 0 : (sizes[dim] - 1) * strides[dim] + 1;
      windows.push_back(windowOf(b, cut, b.constant(starts[dim]), span));
      starts[dim] = 0;
      limits[dim] = span;
      continue;
    }
    if (cut.isCut())
      limits[dim] = cut.block;
    if (!anyWindow)
      continue;
    Cut whole;
    whole.size = whole.block = local[dim];
    windows.push_back(windowOf(b, whole, {}, whole.size));
  }
  if (anyWindow)
    block = readWindow(b, block, windows);
  local.assign(BlockBuilder::shapeOf(block).begin(),
               BlockBuilder::shapeOf(block).end());
  if (limits == local && llvm::all_of(starts, [](int64_t start) {
        return start == 0;
      }) && llvm::all_of(strides, [](int64_t stride) { return stride == 1; }))
    return block;
  return SliceOp::create(b.builder, b.loc, block, starts, limits, strides);
}

/// Slices the dimensions that are not cut, so that less of the others moves.
static void sliceWholeDims(BlockBuilder &b, SliceOp op, StaticMoves &moves) {
  auto type = Partitioner::globalTypeOf(op.getOperand());
  SmallVector<Cut> cuts = b.p.cutsOf(op.getOperand());
  SmallVector<int64_t> sizes(type.getShape()), starts(type.getRank(), 0),
      limits, strides(type.getRank(), 1);
  moves.narrowed.resize(type.getRank());
  for (auto [dim, cut] : llvm::enumerate(cuts)) {
    limits.push_back(cut.block);
    int64_t size = Partitioner::globalTypeOf(op.getResult()).getDimSize(dim);
    if (cut.isCut() || size == cut.size)
      continue;
    moves.narrowed.set(dim);
    sizes[dim] = size;
    starts[dim] = op.getStartIndices()[dim];
    limits[dim] = op.getLimitIndices()[dim];
    strides[dim] = op.getStrides()[dim];
  }
  if (moves.narrowed.none() || llvm::none_of(cuts, [](const Cut &cut) {
        return cut.isCut();
      }))
    return;
  moves.narrow = SliceOp::create(b.builder, b.loc, b.p.local(op.getOperand()),
                                 starts, limits, strides);
  moves.narrowType = type.clone(sizes);
}

static LogicalResult convertSlice(Partitioner &p, SliceOp op) {
  BlockBuilder b(p, op.getLoc());
  StaticMoves moves;
  moves.operands = 1;
  auto rows = [&](unsigned dim) {
    std::vector<SourceRow> list;
    int64_t size = Partitioner::globalTypeOf(op.getResult()).getDimSize(dim);
    for (int64_t row = 0; row < size; ++row)
      list.push_back(
          {0, op.getStartIndices()[dim] + row * op.getStrides()[dim]});
    return list;
  };
  moves.rows = rows;
  sliceWholeDims(b, op, moves);
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        return {sliceOfBlock(
            b, op, moved.operands[0],
            cutsUnder(p, op.getOperand(), moved.shardings[0]), moved.done)};
      },
      &moves);
}

void pipemesh::registerDynamicSliceHandlers(OpHandlers &handlers) {
  handlers.add<SliceOp, convertSlice>();
  handlers.add<DynamicSliceOp, convertDynamicSlice>();
  handlers.add<DynamicUpdateSliceOp, convertDynamicUpdateSlice>();
}
