//===- Cuts.h - cuts of dimensions as small numbers -------------*- C++ -*-===//
//
// Propagation compares and extends the cuts of some hundred thousand dimensions.
// Here axes are numbers in mesh order, sets of them are bits, and equal cuts
// have one number.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_CUTS_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_CUTS_H

#include "../ShardingAlgebra.h"
#include <vector>

namespace pipemesh {

/// A set of axes, by their numbers.
using AxisMask = uint64_t;

/// A cut of a dimension or of a factor; 0 is the whole.
using CutId = uint32_t;

/// The most axes of a mesh, and of one dimension.
inline constexpr unsigned kMaxAxes = 64, kMaxDimAxes = 16;

/// The axes of a mesh, and every cut that was met.
class CutTable {
public:
  struct Cut {
    llvm::SmallVector<uint8_t, 8> axes; ///< major to minor
    int64_t block = 0;                  ///< 0: the ceiling of the division
    int64_t pieces = 1;
    AxisMask mask = 0;
    bool isTemporal = false; ///< Any of the axes is.
  };

  explicit CutTable(const MeshAxes &mesh);

  CutId get(llvm::ArrayRef<uint8_t> axes, int64_t block = 0);
  CutId get(const DimCut &dim);
  /// The first axes of a cut; a block of its own is lost with the others.
  CutId truncate(CutId cut, unsigned numAxes);
  /// The cut up to the first axis that is in `mask`.
  CutId withoutAxes(CutId cut, AxisMask mask);
  const Cut &operator[](CutId id) const { return cuts[id]; }
  DimCut toDim(CutId id) const;

  /// Whether the axes of `b` begin with those of `a`.
  bool isPrefix(CutId a, CutId b) const;

  int64_t sizeOf(unsigned axis) const { return sizes[axis]; }
  AxisMask temporal() const { return temporalAxes; }
  AxisMask maskOf(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// In mesh order.
  Axes axesOf(AxisMask mask) const;
  int64_t productOf(AxisMask mask) const;
  const MeshAxes &mesh() const { return meshAxes; }

  /// What a byte over each axis costs; one unless a cluster is known.
  llvm::SmallVector<double> byteCosts;
  double byteCostOf(AxisMask mask) const;
  /// What a collective over the axes costs besides its bytes, as bytes over the
  /// fastest link.
  double latencyOf(AxisMask mask) const;

private:
  const MeshAxes &meshAxes;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<double> latencies;
  AxisMask temporalAxes = 0;
  llvm::DenseMap<mlir::StringAttr, uint8_t> numbers;
  std::vector<Cut> cuts;
  llvm::DenseMap<std::pair<std::pair<uint64_t, uint64_t>, int64_t>, CutId> ids;
};

/// The axis numbers of a mask, from the outermost on.
template <typename Function>
void forEachAxis(AxisMask mask, Function function) {
  for (; mask; mask &= mask - 1)
    function(static_cast<unsigned>(llvm::countr_zero(mask)));
}

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_CUTS_H
