//===- StageBalance.h - layers and lists that fit the costs -----*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_STAGEBALANCE_H
#define PIPEMESH_LIB_PIPELINE_STAGEBALANCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Pipeline/StageCosts.h"
#include "pipemesh/Schedule/Balance.h"
#include <optional>

namespace pipemesh {

/// The layers of each stage of a step and, for zb-auto, its lists, from what
/// the stages cost. It cuts copies of the module and measures their fragments.
class StageBalance {
public:
  StageBalance(mlir::ModuleOp module, mlir::func::FuncOp function,
               pm::MeshOp mesh);

  /// Finds the layers of each stage, and tells the module what that gains;
  /// empty where costs cannot be told, so that the caller divides equally.
  /// Refuses a step of which no division fits into the device's memory.
  mlir::FailureOr<mlir::SmallVector<int64_t>> findLayers();

  /// Where the schedule is zb-auto, gives the module its lists, fitted to the
  /// function's stages.
  mlir::LogicalResult fitLists(llvm::ArrayRef<int64_t> layers);

private:
  /// A division, measured, with the lists that would run it.
  struct Measured {
    mlir::SmallVector<int64_t> layers;
    StageMeasure measure;
    schedule::Schedule schedule;
    double makespan = 0;
    /// The most of a rank: parameters, moments, gradients, and what forwards
    /// keep for their backwards.
    double memory = 0;
  };

  bool isFitted() const;
  llvm::Expected<schedule::Schedule> getSchedule(const StageMeasure *measure);
  llvm::Expected<schedule::Schedule> fit(const StageMeasure &measure);
  /// The stages of a copy in which stage s lies on rankOfStage[s].
  std::optional<StageMeasure> measure(llvm::ArrayRef<int64_t> layers,
                                      llvm::ArrayRef<int64_t> rankOfStage);
  std::optional<schedule::BalanceProblem> getProblem(int64_t layers);
  std::optional<Measured> measureDivision(llvm::ArrayRef<int64_t> layers);
  mlir::LogicalResult refuseMemory(const Measured &least, double limit);

  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  pm::MeshOp mesh;
  mlir::SmallVector<int64_t> rankOfStage;
  int64_t numRanks, microBatches;
  /// The last one measured.
  std::optional<Measured> chosen;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_STAGEBALANCE_H
