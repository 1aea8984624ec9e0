//===- CutTrace.h - where a cut dimension comes from ------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_CUTTRACE_H
#define PIPEMESH_LIB_SHARD_CUTTRACE_H

#include "TensorParallel.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace pipemesh {

/// What the values of a function depend on.
class Dependence {
public:
  explicit Dependence(mlir::func::FuncOp function);

  /// Computed from parameters, and from no input of the step.
  bool isWeight(mlir::Value value) const {
    return values.lookup(value) == ofParameter;
  }
  bool hasInput(mlir::Value value) const {
    return values.lookup(value) & ofInput;
  }
  bool isParameter(mlir::BlockArgument argument) const {
    return parameters.contains(argument);
  }

private:
  enum : unsigned { ofParameter = 1, ofInput = 2 };
  llvm::DenseSet<mlir::Value> parameters;
  llvm::DenseMap<mlir::Value, unsigned> values;
};

/// The product of an activation and a weight, or nothing.
struct WeightProduct {
  unsigned activation, weight; ///< operand numbers
};
std::optional<WeightProduct> getWeightProduct(stablehlo::DotGeneralOp dot,
                                              const Dependence &dependence);

/// Follows one dimension of a value back through the factors of the ops' rules,
/// to the parameters that must be cut for the value to be made in pieces.
class CutTrace {
public:
  /// Dimensions that a trace has failed at, with the reason.
  using Failures =
      llvm::DenseMap<std::pair<mlir::Value, unsigned>, std::string>;

  CutTrace(const Dependence &dependence, Failures &failures)
      : dependence(dependence), failures(failures) {}

  /// Whether the dimension comes from dimensions of parameters alone, so that
  /// each rank can make its piece by itself. `ofKeyHeads` marks the cuts found.
  bool follow(mlir::Value value, unsigned dim, bool ofKeyHeads = false);

  llvm::SmallVector<ParameterCut> cuts;
  /// Products whose free weight dimension, the columns, the trace went through.
  unsigned columnProducts = 0;
  llvm::SmallVector<pm::AttentionOp> attentions;
  /// The pieces that all dimensions on the way can be cut in, apart from those
  /// of the key-value heads of attention.
  int64_t parts = 0;
  /// Why it failed: what the dimension reached.
  std::string reason;

private:
  bool stop(const llvm::Twine &why);
  bool followNew(mlir::Value value, unsigned dim, bool ofKeyHeads);
  bool followAttention(pm::AttentionOp op, mlir::OpResult result, unsigned dim);
  bool followOp(mlir::OpResult result, unsigned dim, bool ofKeyHeads);

  const Dependence &dependence;
  Failures &failures;
  llvm::DenseSet<std::pair<mlir::Value, unsigned>> seen;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_CUTTRACE_H
