//===- Padding.h - what lies behind the end of short blocks -----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PADDING_H
#define PIPEMESH_LIB_SHARD_PADDING_H

#include "ShardingAlgebra.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "mlir/IR/BuiltinOps.h"

namespace pipemesh {

/// Whether the axes cut a dimension of that size into blocks of which the last
/// ones are short or empty; `block` is that of a `DimCut`.
bool isUneven(int64_t size, llvm::ArrayRef<mlir::StringAttr> axes,
              int64_t block, const MeshAxes &mesh);

/// Finds the values whose padding holds zero. By contract it does in parameters
/// and moments; by what ops compute in most gradients of these; in other
/// arguments it may hold anything. Buffers connect the fragments of a program.
/// Built on global types, before anything is partitioned.
class Padding {
public:
  Padding(mlir::ModuleOp module, const MeshAxes &mesh);

  /// Whether some dimension is cut unevenly.
  bool hasPadding(mlir::Value value) const { return padded.contains(value); }
  /// Whether all padding of the value is zero; true without padding.
  bool isZero(mlir::Value value) const {
    return !padded.contains(value) || zero.contains(value) ||
           isSeeded(Fault::TrustedPadding);
  }

private:
  bool isUnevenDim(mlir::Value value, unsigned dim) const;
  void notePadded(mlir::Region &region);
  /// Goes through the ops of a block in order. Returns whether something turned
  /// out not to be zero that a loop was taken to carry as zero.
  bool followBlock(mlir::Block &block);
  bool followRegions(mlir::Operation *op);
  bool makesZero(mlir::Operation *op, mlir::OpResult result) const;
  bool keepsZero(pm::ReshardOp op) const;

  const MeshAxes &mesh;
  llvm::DenseSet<mlir::Value> padded, zero;
  /// Results of loops that carry something else.
  llvm::DenseSet<mlir::Value> dirtyCarries;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PADDING_H
