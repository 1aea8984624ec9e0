//===- Interpreter.h - reference interpreter --------------------*- C++ -*-===//

#ifndef PIPEMESH_VERIFY_INTERPRETER_H
#define PIPEMESH_VERIFY_INTERPRETER_H

#include "pipemesh/Verify/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace pipemesh::interp {

/// The ranks that run in lockstep: the coordinates of each on the spatial axes,
/// in row-major order of the axes, and the sizes of the temporal axes.
class RankGrid {
public:
  /// One rank without axes.
  RankGrid() = default;
  void addSpatialAxis(llvm::StringRef name, int64_t size);
  void addTemporalAxis(llvm::StringRef name, int64_t size);

  unsigned getNumRanks() const { return numRanks; }
  int64_t getNumMicroBatches() const { return numMicroBatches; }
  bool isTemporal(llvm::StringRef axis) const;
  /// 0 when there is no such axis.
  int64_t getAxisSize(llvm::StringRef axis) const;
  /// The coordinate of a rank, or of a micro-batch on a temporal axis.
  int64_t getCoordinate(llvm::StringRef axis, unsigned rank,
                        int64_t microBatch) const;
  /// The ranks that differ from `rank` only on `axes`, in order.
  llvm::SmallVector<unsigned> getGroup(unsigned rank,
                                       llvm::ArrayRef<llvm::StringRef> axes) const;

private:
  struct Axis {
    std::string name;
    int64_t size;
    bool temporal;
  };
  const Axis *find(llvm::StringRef name) const;
  std::vector<Axis> axes;
  unsigned numRanks = 1;
  int64_t numMicroBatches = 1;
};

/// Evaluates a function on one device. Errors are diagnosed at the op.
llvm::FailureOr<llvm::SmallVector<Tensor>>
runFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments);

/// Evaluates a partitioned function on all ranks of a grid. `arguments` and the
/// results have one list for each rank.
llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<Tensor>>>
runFunctionOnRanks(mlir::func::FuncOp function, const RankGrid &grid,
                   llvm::ArrayRef<llvm::SmallVector<Tensor>> arguments,
                   int64_t microBatch = 0);

} // namespace pipemesh::interp

#endif // PIPEMESH_VERIFY_INTERPRETER_H
