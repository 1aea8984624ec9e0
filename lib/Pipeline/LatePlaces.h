//===- LatePlaces.h - stages that can compute an op of the update -*- C++
//-*-===//

#ifndef PIPEMESH_LIB_PIPELINE_LATEPLACES_H
#define PIPEMESH_LIB_PIPELINE_LATEPLACES_H

#include "Placement.h"
#include "llvm/ADT/SmallBitVector.h"

namespace pipemesh {

/// The pipeline ranks where each state lives, by argument number.
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
  /// The ranks that have all it needs. None: it needs values of several ranks,
  /// which each rank that wants its result receives.
  llvm::SmallBitVector places;
  /// The ranks that have the state it needs.
  llvm::SmallBitVector statePlaces;
  bool dependsOnState = false;

  /// The lowest rank that has all.
  int64_t getHome() const { return places.find_first(); }
};

/// Where the ops of a step that placement homes in the update can be computed.
class LatePlaces {
public:
  LatePlaces(mlir::func::FuncOp function, const Placement &placement,
             llvm::ArrayRef<int64_t> rankOfStage, int64_t numRanks,
             const StateHolders &holders);

  const LateOp &of(mlir::Operation *op) const { return ops.find(op)->second; }
  /// Null for an op that has another home.
  const LateOp *lookup(mlir::Operation *op) const {
    auto found = ops.find(op);
    return found == ops.end() ? nullptr : &found->second;
  }

  int64_t getNumRanks() const { return numRanks; }

private:
  llvm::DenseMap<mlir::Operation *, LateOp> ops;
  int64_t numRanks;
};

/// Rewrites sums of values of several stages, such as the squared norm of all
/// gradients, so that each stage adds up its own first: a stage then tells the
/// others one number. The sums of the stages are added in stage order. Returns
/// whether anything changed.
bool regroupSums(mlir::func::FuncOp function, const LatePlaces &places);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_LATEPLACES_H
