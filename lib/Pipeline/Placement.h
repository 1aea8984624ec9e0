//===- Placement.h - the fragment of every op -------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_PLACEMENT_H
#define PIPEMESH_LIB_PIPELINE_PLACEMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/ADT/DenseMap.h"

namespace pipemesh {

/// Where one op is computed, and what may be done about it.
struct OpPlacement {
  /// The fragment that computes the op and gives its results to the others.
  pm::FragmentKind home = pm::FragmentKind::Forward;
  /// Each fragment that needs the op computes it for itself.
  bool cloned = false;
  /// A reshape or a broadcast: it holds nothing that its operand does not.
  bool isView = false;
  /// Needs no state: each stage that needs the op computes it for itself.
  bool isStateless = false;
  /// The stage that computes it, where it is not stateless and its home is not
  /// the update.
  int64_t stage = 0;
  /// Its place in the function.
  unsigned order = 0;
};

/// Decides where the ops of one sharded function go, as the description of
/// pm-split-stages says.
class Placement {
public:
  /// Reports and fails where an op needs what is not there yet.
  mlir::LogicalResult run(mlir::func::FuncOp function, pm::MeshOp mesh);

  /// Parts the backward of each stage: what the gradients of its inputs need goes
  /// to I, the rest to W. The first stage sends no gradient; there, I is what the
  /// gradients of several weights need.
  void splitBackward(mlir::func::FuncOp function);

  const OpPlacement &of(mlir::Operation *op) const {
    return placements.find(op)->second;
  }
  /// Whether the op is computed once a step after all micro-batches, or before
  /// them without being needed by one.
  bool isAfterMicroBatches(mlir::Operation *op) const {
    return of(op).home == pm::FragmentKind::Update;
  }
  /// Whether a temporal axis cuts the value, or it is partial over one.
  bool isCut(mlir::Value value) const;
  bool isPartial(mlir::Value value) const;

private:
  bool isTemporal(mlir::StringAttr axis) const;

  llvm::DenseMap<mlir::Operation *, OpPlacement> placements;
  pm::MeshOp mesh;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_PLACEMENT_H
