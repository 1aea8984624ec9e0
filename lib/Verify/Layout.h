//===- Layout.h - pieces of global values on ranks --------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_VERIFY_LAYOUT_H
#define PIPEMESH_LIB_VERIFY_LAYOUT_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Verify/Interpreter.h"

namespace pipemesh::interp {

/// The grid of a mesh: spatial axes give ranks, temporal ones micro-batches.
/// Without `temporal`, micro-batches are left out.
RankGrid makeGrid(pm::MeshOp mesh, bool temporal);

/// Where the pieces of a value lie, under a sharding of which the axes that the
/// grid has are active.
class Layout {
public:
  /// A null sharding: the whole value on each rank.
  Layout(pm::ShardingAttr sharding, const RankGrid &grid)
      : sharding(sharding), grid(&grid) {}

  /// The global type of a value whose pieces have the type `local` and fit
  /// without padding.
  mlir::RankedTensorType getGlobalType(mlir::RankedTensorType local) const;

  /// The piece of a rank and micro-batch. Elements beyond the end of the value
  /// are zero in a state, and poisoned in others.
  Tensor take(const Tensor &global, mlir::RankedTensorType local, unsigned rank,
              int64_t microBatch, bool isState) const;

  /// The global value from the pieces `pieces[rank][microBatch]`, each list of
  /// one when no temporal axis cuts the value. Parts over spatial axes are
  /// joined, unless they have been already. Replicas that differ are diagnosed
  /// by `emitError`.
  llvm::FailureOr<Tensor>
  assemble(llvm::ArrayRef<llvm::SmallVector<Tensor>> pieces,
           mlir::RankedTensorType global, bool isJoined,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// One rank's value over all micro-batches from its pieces, and back.
  Tensor joinMicroBatches(llvm::ArrayRef<Tensor> pieces) const;
  llvm::SmallVector<Tensor> splitMicroBatches(const Tensor &whole) const;

  bool isCutByTime() const;
  bool isPartialOverTime() const;

private:
  /// The first element of a piece of shape `size`.
  llvm::SmallVector<int64_t> getStart(llvm::ArrayRef<int64_t> size,
                                      unsigned rank, int64_t microBatch,
                                      bool onlyTime = false) const;
  /// Into how many pieces a dimension is cut.
  int64_t getNumPieces(unsigned dim, bool onlyTime = false) const;

  pm::ShardingAttr sharding;
  const RankGrid *grid;
};

/// Joins a part into `sum`, element by element.
void joinInto(Tensor &sum, const Tensor &part, pm::ReductionKind kind);

/// Whether two tensors agree to within rounding.
bool agree(const Tensor &a, const Tensor &b);

} // namespace pipemesh::interp

#endif // PIPEMESH_LIB_VERIFY_LAYOUT_H
