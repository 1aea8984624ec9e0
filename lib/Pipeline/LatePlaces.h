//===- LatePlaces.h - stages that can compute an op of the update -*- C++
//-*-===//

#ifndef PIPEMESH_LIB_PIPELINE_LATEPLACES_H
#define PIPEMESH_LIB_PIPELINE_LATEPLACES_H

#include "Placement.h"
#include "llvm/ADT/SmallBitVector.h"

namespace pipemesh {

/// The stages where each state lives, by argument number.
using StateHolders = llvm::DenseMap<unsigned, llvm::SmallBitVector>;

/// What is known of an op that is computed once a step, outside of the
/// micro-batches.
struct LateOp {
  enum class Category {
    /// Its result is still a sum over micro-batches to be completed.
    Partial,
    /// It completes such a sum.
    Sum,
    /// It works on complete values.
    Plain
  };
  Category category = Category::Plain;
  /// The stages that have all it needs. None: it needs values of several
  /// stages, which each stage that wants its result receives.
  llvm::SmallBitVector places;
  /// The stages that have the state it needs.
  llvm::SmallBitVector statePlaces;
  bool dependsOnState = false;

  /// The lowest stage that has all.
  int64_t getHome() const { return places.find_first(); }
};

/// Where the ops of a step that placement homes in the update can be computed.
class LatePlaces {
public:
  LatePlaces(mlir::func::FuncOp function, const Placement &placement,
             int64_t numStages, const StateHolders &holders);

  const LateOp &of(mlir::Operation *op) const { return ops.find(op)->second; }
  /// Null for an op that has another home.
  const LateOp *lookup(mlir::Operation *op) const {
    auto found = ops.find(op);
    return found == ops.end() ? nullptr : &found->second;
  }

  int64_t getNumStages() const { return numStages; }

private:
  llvm::DenseMap<mlir::Operation *, LateOp> ops;
  int64_t numStages;
};

/// Rewrites sums of values of several stages, such as the squared norm of all
/// gradients, so that each stage adds up its own first: a stage then tells the
/// others one number. The sums of the stages are added in stage order. Returns
/// whether anything changed.
bool regroupSums(mlir::func::FuncOp function, const LatePlaces &places);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_LATEPLACES_H
