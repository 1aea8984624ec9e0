//===- RefineMesh.h - axes split into parts ---------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_REFINEMESH_H
#define PIPEMESH_LIB_SHARD_REFINEMESH_H

#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace pipemesh {

/// A part of an axis, as `"x:(2)4"` names it: the axis counts major to minor as
/// `before`, `size` and the rest.
struct AxisPart {
  llvm::StringRef axis;
  int64_t before, size;
};

/// Reads the name of a part; nothing where it is that of an axis.
std::optional<AxisPart> parseAxisPart(llvm::StringRef name);

/// Splits axes of a mesh, so that every part that was asked for is an axis or
/// several: of `x`, `x.0`, `x.1` and so on, major to minor.
class MeshRefinement {
public:
  explicit MeshRefinement(pm::MeshOp mesh) : mesh(mesh) {}

  /// Asks that a spatial axis is split behind its outermost `before` members.
  /// Returns false, and changes nothing, where that is no part of a common
  /// refinement with what was asked for.
  bool split(mlir::StringAttr axis, int64_t before);
  bool empty() const { return points.empty(); }

  /// Rewrites the mesh, and everything in the module that names its axes.
  void apply(mlir::ModuleOp module);

private:
  struct NewAxis {
    mlir::StringAttr name;
    int64_t size;
  };
  void makeNames();
  llvm::SmallVector<mlir::StringAttr> expand(mlir::StringAttr name) const;
  llvm::SmallVector<mlir::StringAttr>
  expandAll(llvm::ArrayRef<mlir::StringAttr> names) const;
  mlir::ArrayAttr expandAll(mlir::ArrayAttr names) const;
  pm::ShardingAttr rewrite(pm::ShardingAttr sharding) const;
  void rewriteIndex(pm::AxisIndexOp op) const;

  pm::MeshOp mesh;
  /// Where each axis is split, in order.
  llvm::MapVector<mlir::StringAttr, llvm::SmallVector<int64_t>> points;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<NewAxis>> axes;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_REFINEMESH_H
