//===- Schedule.h - who does what in which order ----------------*- C++ -*-===//
//
// A pipeline schedule: a list of actions for each pipeline rank, which together
// are one total order. No MLIR here: the compiler, the simulator and the tests
// use the same lists.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_SCHEDULE_SCHEDULE_H
#define PIPEMESH_SCHEDULE_SCHEDULE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipemesh::schedule {

/// What an action computes for one stage and micro-batch.
enum class ActionKind : uint8_t {
  Forward,        ///< F
  BackwardInput,  ///< I: the gradient of the stage's inputs
  BackwardWeight, ///< W: the gradient of its weights
  Backward,       ///< B: I and W in one
  Update          ///< U: once a step, after all gradients of the stage
};

/// F, I, W, B or U.
char getLetter(ActionKind kind);

struct Action {
  ActionKind kind = ActionKind::Forward;
  int32_t stage = 0;
  /// 0 for an update.
  int32_t microBatch = 0;

  bool operator==(const Action &other) const {
    return kind == other.kind && stage == other.stage &&
           microBatch == other.microBatch;
  }
  bool operator!=(const Action &other) const { return !(*this == other); }
  /// Whether it gives the gradient that the stage before waits for.
  bool givesInputGradient() const {
    return kind == ActionKind::BackwardInput || kind == ActionKind::Backward;
  }
  bool givesWeightGradient() const {
    return kind == ActionKind::BackwardWeight || kind == ActionKind::Backward;
  }
  /// "2F0": stage 2, forward, micro-batch 0; "2U".
  std::string str() const;
};

/// An entry of a rank's list: an action, or two that overlap. A pair starts
/// when both can, and both results are there at its end.
struct Item {
  Action action;
  std::optional<Action> partner;

  Item(Action action) : action(action) {}
  Item(Action action, Action partner) : action(action), partner(partner) {}
  bool operator==(const Item &other) const {
    return action == other.action && partner == other.partner;
  }
  bool operator!=(const Item &other) const { return !(*this == other); }
  /// "2F0", or "(0F3;3B1)OVERLAP_F_B".
  std::string str() const;
};

using ActionList = std::vector<Item>;

/// On a module: the pipeline rank of each stage, in the order of the model. A
/// module without it has one stage on each rank.
inline constexpr llvm::StringLiteral kRankOfStageAttr = "pm.rank_of_stage";

/// Which rank runs a stage.
enum class Placement : uint8_t {
  Loop, ///< stage s on rank s mod ranks: 0, 1, 2, 0, 1, 2
  V     ///< back and forth: 0, 1, 2, 2, 1, 0
};
std::vector<int32_t> placeStages(Placement placement, int64_t ranks,
                                 int64_t chunks);

struct Schedule {
  std::string name;
  int64_t microBatches = 0;
  /// The rank of each stage, in the order of the model.
  std::vector<int32_t> rankOfStage;
  /// What each rank does, in order.
  std::vector<ActionList> lists;

  int64_t getNumRanks() const { return lists.size(); }
  int64_t getNumStages() const { return rankOfStage.size(); }
  std::vector<int64_t> getStagesOf(int64_t rank) const;
  int64_t getNumItems() const;
};

/// Whether an action of one stage reads what an action of another made: a value
/// goes from `producer`'s rank to `consumer`'s when these differ.
struct Dependency {
  Action producer;
  Action consumer;
};

/// Checks that each stage has F, and either B or I and W, exactly once for each
/// micro-batch, on the rank that the stage is placed on, in an order that the
/// rank can run by itself (F before I before W), and that no ranks wait for
/// each other. The error names the action, or the ranks that wait in a circle.
llvm::Error validate(const Schedule &schedule);

/// A place in the total order: the item `index` of the rank's list.
struct Place {
  int32_t rank;
  int32_t index;
};

/// One total order of all items in which each comes after what it needs, and
/// each rank's items in the order of its list: by the time at which an action
/// starts when F, I, W and U take 1 and B takes 2, then by rank. Fails as
/// `validate` does where ranks wait in a circle.
llvm::Expected<std::vector<Place>> getTotalOrder(const Schedule &schedule);

/// The values that cross from one rank to another, in the total order of their
/// producers.
llvm::Expected<std::vector<Dependency>> getTransfers(const Schedule &schedule);

/// Adds the update of each stage behind the last item of its rank.
void addUpdates(Schedule &schedule);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_SCHEDULE_H
