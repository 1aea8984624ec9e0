//===- StageAssignment.h - the stage of every op of a step ------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_STAGEASSIGNMENT_H
#define PIPEMESH_LIB_PIPELINE_STAGEASSIGNMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"
#include <optional>

namespace pipemesh {

/// The layers that the locations of a function's forward ops name.
int64_t countLayers(mlir::func::FuncOp function);

/// Finds stages for the ops of one function, as the description of
/// pm-assign-stages says. More than one stage.
class StageAssignment {
public:
  /// `division` has the layers of each stage, as many as there are; empty for
  /// equal ones.
  StageAssignment(mlir::func::FuncOp function, int64_t numStages,
                  llvm::ArrayRef<int64_t> division = {})
      : function(function), numStages(numStages), division(division) {}

  /// Reports and fails where the stages that ops carry cannot be, or there are
  /// fewer layers than stages.
  mlir::LogicalResult run();

  /// None for the ops of the update, which run where their state is.
  std::optional<int64_t> lookup(mlir::Operation *op) const {
    auto found = stages.find(op);
    return found == stages.end() ? std::nullopt
                                 : std::optional<int64_t>(found->second);
  }

private:
  using StageSet = llvm::SmallSet<int64_t, 4>;

  mlir::LogicalResult readGiven();
  void findDependences();
  mlir::LogicalResult cutByLayers();
  mlir::LogicalResult cutByCost();
  void assignForward();
  void assignBackward();
  StageSet getForwardStages(mlir::Operation *backward);
  mlir::LogicalResult verifyOrder();
  /// The highest stage of a forward op's operands, of those that depend on
  /// state; none where there is none.
  std::optional<int64_t> getHighestOperand(mlir::Operation *op) const;

  mlir::func::FuncOp function;
  int64_t numStages;
  llvm::SmallVector<int64_t> division;
  llvm::SmallVector<mlir::Operation *> forward, backward;
  llvm::DenseMap<mlir::Operation *, int64_t> stages;
  /// The stage that the cut gives a forward op, before its operands are looked
  /// at.
  llvm::DenseMap<mlir::Operation *, int64_t> cut;
  llvm::DenseSet<mlir::Operation *> dependsOnState, dependsOnInput;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_STAGEASSIGNMENT_H
