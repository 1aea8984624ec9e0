//===- Splitter.h - a step, cut into fragments ------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_SPLITTER_H
#define PIPEMESH_LIB_PIPELINE_SPLITTER_H

#include "LatePlaces.h"
#include "Placement.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace pipemesh {

/// One fragment in the making.
struct Fragment {
  pm::FragmentKind kind;
  /// The rank of a reduce or an update, which serve all stages of one: its
  /// number is that of the rank's first stage.
  int64_t stage = 0;
  llvm::DenseSet<mlir::Operation *> ops;
  /// Arguments of the function, and values of other fragments.
  llvm::SetVector<mlir::Value> reads;
  /// The fragment that a read value comes from, by its place in time.
  llvm::DenseMap<mlir::Value, unsigned> sources;
  /// Values for other fragments.
  llvm::SetVector<mlir::Value> writes;
  /// Results of the function: their indices.
  mlir::SmallVector<unsigned> results;
  /// Ops of an update that new state of its stage comes from.
  llvm::DenseSet<mlir::Operation *> newState;
};

/// A value and the fragment, by its place in time, that gives it to others.
using HomedValue = std::pair<mlir::Value, unsigned>;

struct SplitOptions {
  /// The backward of each stage is two fragments, I and W.
  bool splitsBackward = false;
  /// A backward computes again what it reads of its stage's forward; W reads
  /// what I computed.
  bool recomputes = false;
};

/// The ops, reads and writes of every fragment of a step.
class Splitter {
public:
  Splitter(mlir::func::FuncOp function, pm::MeshOp mesh,
           mlir::SmallVector<int64_t> rankOfStage, SplitOptions options);

  /// Reports and fails where an op needs what is not there yet.
  mlir::LogicalResult run();

  mlir::func::FuncOp function;
  mlir::SmallVector<int64_t> rankOfStage;
  int64_t numStages;
  int64_t numRanks;
  SplitOptions options;
  Placement placement;
  /// In the order of time: a fragment reads of earlier ones. The prologues,
  /// then the forwards by stage, the backwards from the last stage down (all I,
  /// then all W where these are apart), the reduces, where there are several
  /// stages, and the updates.
  mlir::SmallVector<Fragment> fragments;

  unsigned indexOf(pm::FragmentKind kind, int64_t stage) const;
  Fragment &fragment(pm::FragmentKind kind, int64_t stage) {
    return fragments[indexOf(kind, stage)];
  }
  unsigned indexOf(const Fragment &fragment) const {
    return &fragment - fragments.data();
  }
  /// The fragment that completes the sums of a stage over micro-batches.
  pm::FragmentKind getSumKind() const {
    return numStages > 1 ? pm::FragmentKind::Reduce : pm::FragmentKind::Update;
  }
  mlir::Operation *getTerminator() {
    return function.getBody().front().getTerminator();
  }

private:
  /// Where a fragment gets a value from: the place of another fragment in time,
  /// or none where it computes the value itself.
  using Source = std::optional<unsigned>;

  Source find(const Fragment &needing, mlir::Value value) const;
  Source findLate(const Fragment &needing, mlir::Value value,
                  const LateOp &late) const;
  mlir::LogicalResult demand(Fragment &needing, mlir::Value value);
  /// All that the results and the writes of a fragment need.
  mlir::LogicalResult demandAll(Fragment &fragment);

  /// A value that is summed over micro-batches must be a sum.
  mlir::LogicalResult checkAccumulated(mlir::Value value,
                                       pm::FragmentKind needing) const;

  /// The results of the function, as results of the fragments that give them.
  void addResults(bool ofUpdates);
  void addUpdateResult(unsigned index, const LateOp &late);
  /// The argument of the state that a result is the new value of, or none.
  std::optional<unsigned> findStateArgument(unsigned resultIndex);

  // Several stages:
  /// What reduces and updates need of earlier fragments, whatever their stage.
  mlir::LogicalResult collectForUpdates();
  void findStateHolders();
  /// False where a stage turned out to need a state that it did not hold.
  mlir::FailureOr<bool> placeUpdates();
  mlir::LogicalResult demandUpdates();

  void recompute(Fragment &backward);
  bool canRecompute(const Fragment &backward, mlir::Value value,
                    llvm::SetVector<mlir::Operation *> &chain) const;

  pm::MeshOp mesh;
  StateHolders holders;
  /// The argument that each state comes in by; filled when first asked.
  llvm::DenseMap<mlir::Attribute, unsigned> stateArguments;
  /// What collectForUpdates found.
  llvm::DenseSet<mlir::Value> forUpdates;
  std::optional<LatePlaces> late;
  /// Values that the update of one stage needs of another stage's reduce.
  llvm::DenseSet<mlir::Value> shipped;
  /// State that an update reads although its stage does not hold it yet.
  std::optional<std::pair<unsigned, int64_t>> missing;
};

/// Makes the program and its fragments, and erases the function.
void buildFragments(Splitter &splitter, pm::MeshOp mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_SPLITTER_H
