//===- FusionGroups.h - which ops become one kernel -------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_FUSIONGROUPS_H
#define PIPEMESH_LIB_LOWER_KERNELS_FUSIONGROUPS_H

#include "KernelPlan.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace pipemesh {

/// Ops that become one kernel, or one op that stays as it is.
struct FusionGroup {
  unsigned number = 0;
  /// In the order of the block.
  llvm::SetVector<mlir::Operation *> ops;
  /// Others may join.
  bool fusable = false;
  /// One op that has a kernel of its own.
  bool whole = false;
  /// The groups that this one has to wait for, directly or not.
  llvm::BitVector waits;
  /// Joined to another group.
  bool gone = false;

  bool isKernel() const { return fusable || whole; }
};

/// Whether the op's regions hold tensor ops that are executed one by one, and
/// become kernels of their own: a loop or a choice.
inline bool hasProgramRegions(mlir::Operation *op) {
  return mlir::isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
}

/// Partitions the ops of a block.
class FusionGroups {
public:
  explicit FusionGroups(mlir::Block &block) : block(block) {}

  /// Fails with a diagnostic at an op that no kernel can hold.
  mlir::LogicalResult form();

  /// The groups in an order in which they can run.
  llvm::ArrayRef<const FusionGroup *> getOrder() const { return order; }

  /// The values of a kernel that others read, in the order of the block.
  llvm::SmallVector<mlir::Value> getOutputs(const FusionGroup &group) const;

  /// Whether a value that the group's ops do not compute is copied into its
  /// kernel: constants and iotas, broadcasts, and reshapes of values that are
  /// inside.
  bool isCopiedInto(mlir::Value value, const FusionGroup &group) const;

private:
  mlir::Block &block;
  std::vector<std::unique_ptr<FusionGroup>> groups;
  llvm::DenseMap<mlir::Operation *, FusionGroup *> groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::SmallVector<const FusionGroup *> order;
  size_t numNodes = 0;

  FusionGroup *create(mlir::Operation *op);
  void insert(FusionGroup &group, mlir::Operation *op);
  void formColumnSums();
  mlir::LogicalResult place(mlir::Operation *op);
  /// The group that computes the value, through copied ops; null for an
  /// argument of the block.
  FusionGroup *getSource(mlir::Value value) const;
  void collectSources(mlir::Operation *op,
                      llvm::SmallSetVector<FusionGroup *, 4> &sources) const;
  bool canMerge(FusionGroup &into, FusionGroup &other) const;
  void merge(FusionGroup &into, FusionGroup &other);
  void mergeColumnSums();
  void mergeSiblings();
  void sort();
};

/// Copies what a matrix product, a collective, a kernel of its own or the
/// terminator reads from a constant, an iota or a broadcast, so that a kernel
/// writes it.
void materializeOperands(mlir::Block &block);

/// Gives each region of a loop or a choice its own copies of the constants,
/// iotas, broadcasts and reshapes that it captures, so that they can be copied
/// into its kernels.
void sinkCopiedOps(mlir::Operation *function);

/// Marks those copies.
constexpr llvm::StringLiteral kMaterializedAttr = "pmrt.materialized";

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_FUSIONGROUPS_H
