//===- Generate.h - schedules by name ---------------------------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_GENERATE_H
#define PIPEMESH_SCHEDULE_GENERATE_H

#include "pipemesh/Schedule/Costs.h"
#include "llvm/ADT/ArrayRef.h"

namespace pipemesh::schedule {

/// What a schedule is to be made for.
struct Request {
  std::string name = "1f1b";
  int64_t ranks = 1;
  /// Stages of each rank; 0 for what the schedule needs (2 of those that are
  /// V-shaped, else 1).
  int64_t chunks = 0;
  int64_t microBatches = 1;
  /// Layers of the model, when they are known: each stage needs one.
  std::optional<int64_t> layers;
  /// zb-auto fits the schedule to the costs, within this memory for each rank
  /// (in units of `StageCosts::activation`); without one, within what 1f1b
  /// needs on the first rank. The other schedules don't read them.
  Costs costs;
  std::optional<double> memoryLimit;
};

/// The names that `generate` knows.
llvm::ArrayRef<llvm::StringLiteral> getScheduleNames();
bool isScheduleName(llvm::StringRef name);
/// Where the schedule puts its stages.
Placement getPlacement(llvm::StringRef name);
/// Whether its backward is split into I and W.
bool splitsBackward(llvm::StringRef name);

/// The schedule of that name, validated. Errors name the value that does not
/// work and those that do.
llvm::Expected<Schedule> generate(const Request &request);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_GENERATE_H
