//===- Mesh.h - Ranks, coordinates and blocks of sharded tensors ----------===//

#ifndef PIPEMESH_RUNTIME_CORE_MESH_H
#define PIPEMESH_RUNTIME_CORE_MESH_H

#include "core/Error.h"

namespace pipemesh::runtime {

enum class AxisKind { Spatial, Temporal, Stage };

struct Axis {
  std::string name;
  AxisKind kind = AxisKind::Spatial;
  int64_t size = 1;
};

/// The device mesh. Ranks are numbered over the spatial and stage axes in mesh
/// order, the last one fastest; a temporal axis holds micro-batches.
class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<Axis> axes) : axes(std::move(axes)) {}

  const std::vector<Axis> &getAxes() const { return axes; }
  int64_t ranks() const;
  int64_t microBatches() const;

  /// One index for each axis; 0 for temporal ones.
  std::vector<int64_t> coordinates(int64_t rank) const;

  /// The same with the temporal axes set to those of a micro-batch.
  std::vector<int64_t> coordinates(int64_t rank, int64_t microBatch) const;

  /// Index of the rank's role: its coordinate along the stage axis.
  int64_t role(int64_t rank) const;

  /// The ranks that differ from `rank` at most along `groupAxes`, in order.
  std::vector<int64_t> group(int64_t rank,
                             const std::vector<uint32_t> &groupAxes) const;

  /// The rank of another role with the same coordinates on all other axes.
  int64_t peer(int64_t rank, int64_t otherRole) const;

  /// "rank 3 (dp=1, tp=1)".
  std::string describe(int64_t rank) const;

  /// Index of the axis named so; throws when there is none.
  size_t axis(const std::string &name) const;

private:
  std::vector<Axis> axes;
};

/// The part of a global tensor that one rank holds of one micro-batch.
struct Block {
  Shape start;
  Shape extent; ///< smaller than the local shape where that is padded
};

/// Dimension d is cut over the axes sharding[d], major to minor, in blocks of
/// localShape[d].
Block blockOf(const Mesh &mesh, const Shape &globalShape,
              const Shape &localShape,
              const std::vector<std::vector<std::string>> &sharding,
              const std::vector<int64_t> &coordinates);

/// Calls run(globalOffset, localOffset, count) for each contiguous run of
/// elements of a block, in row-major order.
template <typename Function>
void forEachRun(const Shape &globalShape, const Shape &localShape,
                const Block &block, Function run) {
  int64_t rank = static_cast<int64_t>(globalShape.size());
  for (int64_t extent : block.extent)
    if (extent == 0)
      return;
  // Trailing dimensions that are whole on both sides are one run.
  int64_t inner = rank, count = 1;
  while (inner > 0) {
    int64_t d = inner - 1;
    count *= block.extent[d];
    inner = d;
    if (block.extent[d] != globalShape[d] || block.extent[d] != localShape[d])
      break;
  }
  Shape position(inner, 0);
  while (true) {
    int64_t global = 0, local = 0;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t index = d < inner ? position[d] : 0;
      global = global * globalShape[d] + block.start[d] + index;
      local = local * localShape[d] + index;
    }
    run(global, local, count);
    int64_t d = inner - 1;
    while (d >= 0 && ++position[d] == block.extent[d])
      position[d--] = 0;
    if (d < 0)
      return;
  }
}

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_MESH_H
