//===- RowEmitter.h - values of a kernel over rows and columns --*- C++ -*-===//
//
// Values are computed on demand, from the outputs and the reductions back to
// the operands, at one of three places: what is the same for all rows in front
// of the loop over rows, what is one element a row in front of the row's loops
// over columns, and the rest inside these, a vector of columns at a time. Who
// derives from it makes the loops, for one kind of processor.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_LOWER_KERNELS_ROWEMITTER_H
#define PIPEMESH_LIB_LOWER_KERNELS_ROWEMITTER_H

#include "KernelCode.h"
#include <map>

namespace pipemesh {

class RowEmitter {
public:
  RowEmitter(KernelCode &code, const KernelBody &body, const KernelPlan &plan)
      : code(code), body(body), plan(plan) {}
  virtual ~RowEmitter() = default;

protected:
  KernelCode &code;
  const KernelBody &body;
  const KernelPlan &plan;

  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using Key = std::tuple<void *, int64_t, int64_t, void *>;
  using Memo = std::map<Key, Value>;
  Memo uniformMemo, rowMemo, laneMemo;
  llvm::DenseMap<Operation *, Value> tables;

  /// Ops in front of which values of a row (of the kernel) are placed; null
  /// when the builder already stands there.
  Operation *rowAnchor = nullptr, *uniformAnchor = nullptr;
  Value zero, row;
  /// The first of the present columns, and how many there are.
  Value column;
  unsigned width = 1;
  /// The columns of the present part of a loop, where concatenations are
  /// resolved.
  int64_t low = 0, high = 0;
  unsigned level = 0;
  bool failed = false;

  RowView identityView(bool lane) const {
    return RowView{plan.rows, lane, 0, true, row};
  }

  /// The bytes that the address of a vector is surely a multiple of, where rows
  /// of `pitch` bytes are read from `offset` bytes on; 0 for those of one
  /// element.
  virtual unsigned getAlignment(int64_t pitch, int64_t offset,
                                unsigned vectorBytes) const {
    return 0;
  }

  Value emitValue(Value value, RowView view);
  Value emitOp(Operation *op, const RowView &view);
  Value emitIota(stablehlo::IotaOp op, const RowView &view);
  Value loadFrom(Value pointer, Value value, const RowView &view);
  Value getTable(stablehlo::ConstantOp op);
  void storeOutput(unsigned index, Value value, bool lane);
  Value combine(Operation *reduction, Value a, Value b, unsigned vectorWidth);
  /// Joins the initial value, unless it is neutral.
  Value finishReduction(Operation *reduction, Value value);
  /// Where a reduction starts.
  Value emitNeutral(Operation *reduction);
  /// Makes the result of a reduction known to what reads it.
  void setReduction(Operation *reduction, Value value);
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELS_ROWEMITTER_H
