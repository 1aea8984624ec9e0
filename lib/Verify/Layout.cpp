//===- Layout.cpp - pieces of global values on ranks ----------------------===//

#include "Layout.h"
#include "pipemesh/Verify/Compare.h"

using namespace mlir;

namespace pipemesh::interp {

RankGrid makeGrid(pm::MeshOp mesh, bool temporal) {
  RankGrid grid;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    if (axis.getKind() == pm::AxisKind::Spatial)
      grid.addSpatialAxis(axis.getName(), axis.getSize());
    else if (axis.getKind() == pm::AxisKind::Temporal && temporal)
      grid.addTemporalAxis(axis.getName(), axis.getSize());
  }
  return grid;
}

bool agree(const Tensor &a, const Tensor &b) {
  return a.identity() == b.identity() || compareTensors(a, b).error <= 1e-9;
}

bool Layout::isCutByTime() const {
  if (sharding)
    for (pm::DimShardingAttr dim : sharding.getDims())
      for (StringAttr axis : dim.getAxes())
        if (grid->isTemporal(axis))
          return true;
  return false;
}

bool Layout::isPartialOverTime() const {
  if (sharding)
    for (StringAttr axis : sharding.getPartialAxes())
      if (grid->isTemporal(axis))
        return true;
  return false;
}

int64_t Layout::getNumPieces(unsigned dim, bool onlyTime) const {
  int64_t count = 1;
  if (sharding)
    for (StringAttr axis : sharding.getDims()[dim].getAxes())
      if (int64_t size = grid->getAxisSize(axis))
        if (!onlyTime || grid->isTemporal(axis))
          count *= size;
  return count;
}

SmallVector<int64_t> Layout::getStart(ArrayRef<int64_t> size, unsigned rank,
                                      int64_t microBatch, bool onlyTime) const {
  SmallVector<int64_t> start(size.size(), 0);
  if (!sharding)
    return start;
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    int64_t piece = 0;
    for (StringAttr axis : dim.getAxes())
      if (int64_t axisSize = grid->getAxisSize(axis))
        if (!onlyTime || grid->isTemporal(axis))
          piece = piece * axisSize +
                  grid->getCoordinate(axis, rank, microBatch);
    start[d] = piece * size[d];
  }
  return start;
}

RankedTensorType Layout::getGlobalType(RankedTensorType local) const {
  SmallVector<int64_t> shape(local.getShape());
  for (unsigned d = 0; d < shape.size(); ++d)
    shape[d] *= getNumPieces(d);
  return local.clone(shape);
}

/// The strides of `x` and the offset of an element.
static StridedBox boxAt(const Tensor &x, ArrayRef<int64_t> start) {
  StridedBox box{0, getStrides(x.getShape())};
  for (auto [stride, index] : llvm::zip(box.strides, start))
    box.offset += stride * index;
  return box;
}

/// The part of a piece that lies inside the value.
static SmallVector<int64_t> clip(ArrayRef<int64_t> size,
                                 ArrayRef<int64_t> start,
                                 ArrayRef<int64_t> shape) {
  SmallVector<int64_t> clipped;
  for (auto [count, first, limit] : llvm::zip(size, start, shape))
    clipped.push_back(std::clamp<int64_t>(limit - first, 0, count));
  return clipped;
}

Tensor Layout::take(const Tensor &global, RankedTensorType local, unsigned rank,
                    int64_t microBatch, bool isState) const {
  if (global.getShape() == local.getShape())
    return global;
  SmallVector<int64_t> start = getStart(local.getShape(), rank, microBatch);
  SmallVector<int64_t> box = clip(local.getShape(), start, global.getShape());
  Tensor piece = isState || ArrayRef(box) == local.getShape()
                     ? Tensor(local)
                     : Tensor::poison(local);
  copyBox(box, global, boxAt(global, start), piece,
          {0, getStrides(local.getShape())});
  return piece;
}

FailureOr<Tensor>
Layout::assemble(ArrayRef<SmallVector<Tensor>> pieces, RankedTensorType global,
                 bool isJoined,
                 llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<StringRef> partialAxes;
  if (sharding && !isJoined)
    for (StringAttr axis : sharding.getPartialAxes())
      if (grid->getAxisSize(axis) && !grid->isTemporal(axis))
        partialAxes.push_back(axis);

  Tensor result = Tensor::poison(global);
  // The piece that was seen first at a place, and where.
  std::map<std::vector<int64_t>, std::pair<unsigned, Tensor>> seen;
  for (auto [rank, slots] : llvm::enumerate(pieces))
    for (auto [microBatch, slot] : llvm::enumerate(slots)) {
      Tensor piece = slot;
      if (!partialAxes.empty()) {
        piece = Tensor();
        for (unsigned member : grid->getGroup(rank, partialAxes)) {
          const Tensor &part = pieces[member][microBatch];
          if (!piece)
            piece = part.clone();
          else
            joinInto(piece, part, sharding.getPartialKind());
        }
      }
      SmallVector<int64_t> start =
          getStart(piece.getShape(), rank, microBatch);
      // What lies behind the end of a short block does not count.
      SmallVector<int64_t> box =
          clip(piece.getShape(), start, global.getShape());
      if (ArrayRef(box) != piece.getShape()) {
        Tensor inside(piece.getType().clone(box));
        copyBox(box, piece, {0, getStrides(piece.getShape())}, inside,
                {0, getStrides(box)});
        piece = inside;
      }
      std::vector<int64_t> key(start.begin(), start.end());
      auto [it, isNew] = seen.try_emplace(key, unsigned(rank), piece);
      if (!isNew) {
        if (!agree(it->second.second, piece)) {
          Difference difference = compareTensors(piece, it->second.second);
          emitError() << "is the same on ranks " << it->second.first << " and "
                      << rank << " by its sharding, but element "
                      << difference.index << " is " << difference.expected
                      << " on the one and " << difference.actual
                      << " on the other";
          return failure();
        }
        continue;
      }
      copyBox(box, piece, {0, getStrides(piece.getShape())}, result,
              boxAt(result, start));
    }
  return result;
}

Tensor Layout::joinMicroBatches(ArrayRef<Tensor> pieces) const {
  ArrayRef<int64_t> size = pieces.front().getShape();
  SmallVector<int64_t> shape(size);
  for (unsigned d = 0; d < shape.size(); ++d)
    shape[d] *= getNumPieces(d, /*onlyTime=*/true);
  Tensor whole(pieces.front().getType().clone(shape));
  for (auto [microBatch, piece] : llvm::enumerate(pieces))
    copyBox(size, piece, {0, getStrides(size)}, whole,
            boxAt(whole, getStart(size, 0, microBatch, /*onlyTime=*/true)));
  return whole;
}

SmallVector<Tensor> Layout::splitMicroBatches(const Tensor &whole) const {
  SmallVector<int64_t> size(whole.getShape());
  for (unsigned d = 0; d < size.size(); ++d)
    size[d] /= getNumPieces(d, /*onlyTime=*/true);
  SmallVector<Tensor> pieces;
  for (int64_t i = 0; i < grid->getNumMicroBatches(); ++i) {
    Tensor piece(whole.getType().clone(size));
    copyBox(size, whole,
            boxAt(whole, getStart(size, 0, i, /*onlyTime=*/true)), piece,
            {0, getStrides(size)});
    pieces.push_back(piece);
  }
  return pieces;
}

} // namespace pipemesh::interp
