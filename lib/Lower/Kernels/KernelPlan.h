//===- KernelPlan.h - the loops of a kernel ---------------------*- C++ -*-===//
//
// Decides how a set of tensor ops can be computed in one pass through memory,
// before any code is made. The fusing pass asks whether a set has a plan, the
// code generator follows it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_KERNELPLAN_H
#define PIPEMESH_LIB_LOWER_KERNELS_KERNELPLAN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace pipemesh {

/// Ops that are computed together, and the values that others read. A value
/// that none of the ops defines is an operand.
struct KernelBody {
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> outputs;

  bool defines(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && ops.contains(op);
  }
};

/// How a loop over rows and columns addresses a value of `n` elements: the
/// value is seen as `rows` rows of `n / rows` columns in row-major order, and
/// element (row, offset + column) is meant, or (row, offset) when the view does
/// not run along the columns.
struct RowView {
  int64_t rows = 1;
  bool lane = false;
  int64_t offset = 0;
  /// `row` is the row of the kernel itself, not derived from it.
  bool identity = true;
  /// The row's index as i64; null while planning.
  mlir::Value row;

  /// The one element of a value of one element.
  static RowView uniform(bool identity) {
    return RowView{1, false, 0, identity, {}};
  }
};

struct OperandView {
  unsigned operand;
  RowView view;
};

int64_t getNumElements(mlir::Value value);

/// The views of the operands that element (view) of result `op` is computed
/// from. Columns [low, high) of the result are wanted, counted with the view's
/// offset; an op that joins several tensors then reports only those that are
/// touched, and appends to `cuts` the columns where one ends. Arithmetic on the
/// row's index is built with `builder` unless that is null. Fails when the op
/// cannot be computed in such rows.
mlir::LogicalResult
mapOperandViews(mlir::OpBuilder *builder, mlir::Operation *op,
                const RowView &view, int64_t low, int64_t high,
                llvm::SmallVectorImpl<OperandView> &operands,
                llvm::SmallVectorImpl<int64_t> *cuts = nullptr);

/// A reduction by one op from one tensor.
struct SimpleReduction {
  stablehlo::ReduceOp op;
  mlir::Operation *combiner = nullptr;
  /// All reduced dimensions are behind (ahead of) the kept ones.
  bool trailing = false;
  bool leading = false;
  int64_t keptElements = 1;
  int64_t reducedElements = 1;
};
mlir::FailureOr<SimpleReduction> matchReduction(mlir::Operation *op);

/// One loop over the columns of a row.
struct ColumnLoop {
  unsigned level = 0;
  int64_t columns = 0;
  /// Where the loop is split, ascending, without 0 and `columns`.
  llvm::SmallVector<int64_t> cuts;
  llvm::SmallVector<mlir::Operation *> reductions;
  /// Outputs with this many columns, stored in this loop.
  llvm::SmallVector<unsigned> outputs;
};

struct KernelPlan {
  enum Kind {
    /// Elements one after the other, in blocks.
    Flat,
    /// Rows in parallel, loops over columns inside.
    Rows,
    /// Blocks of columns in parallel, sums over all rows.
    Columns,
    /// One element of the outputs after the other, by its indices.
    Elements
  };
  Kind kind = Elements;
  int64_t rows = 1;
  /// Of the widest loop.
  int64_t columns = 1;
  llvm::SmallVector<ColumnLoop> loops;
  /// Outputs with one element a row, stored after the loops.
  llvm::SmallVector<unsigned> rowOutputs;
  /// For each output the operands whose buffer it may take over.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> inPlace;
  /// Loop-level of every op's value.
  llvm::DenseMap<mlir::Operation *, unsigned> levels;
};

/// Elements of a block of a flat kernel.
constexpr int64_t kFlatBlock = 2048;
/// Columns of a block of a kernel that sums over rows.
constexpr int64_t kColumnBlock = 64;

/// The best plan for the body. Fails when the ops cannot be one kernel.
mlir::FailureOr<KernelPlan> planKernel(const KernelBody &body);

/// Whether the op can be computed element by element from the indices of the
/// result (every op that a kernel of kind `Elements` may hold).
bool hasElementCode(mlir::Operation *op);

/// Whether the op has a kernel of its own, which nothing joins.
bool isWholeKernel(mlir::Operation *op);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_KERNELPLAN_H
