//===- Strategy.h - the strategy string -------------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_STRATEGY_H
#define PIPEMESH_LIB_SHARD_STRATEGY_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace pipemesh {

/// One axis that a strategy asks for.
struct StrategyAxis {
  std::string name;
  int64_t size = 1;
};

/// "dp=2,pp=2,tp=2,mb=4,schedule=1f1b,chunks=1,stages=3:5,zero=1,sp=1": the
/// axes in the order of the string, without those left out; the schedule, empty
/// where it is left out.
struct Strategy {
  llvm::SmallVector<StrategyAxis> axes;
  /// A name, or "@" and the path of a file of action lists.
  std::string schedule;
  /// Stages of each pipeline rank; 0 where the schedule decides.
  int64_t chunks = 0;
  /// Layers of each stage in the order of the model; empty where they are
  /// balanced.
  llvm::SmallVector<int64_t> stageLayers;
  /// The micro-batches that zb-auto may hold on a rank.
  std::optional<double> memoryLimit;
  /// Whether a backward computes its stage's forward again.
  bool recomputes = false;
  /// What is kept in pieces over dp: 0 nothing, 1 moments, 3 parameters too.
  int64_t zero = 0;
  /// Whether the sequence is cut over tp between the blocks that tp divides.
  bool sequenceParallel = false;

  bool has(llvm::StringRef name) const;
  int64_t sizeOf(llvm::StringRef name) const;
};

/// Reads a strategy. On failure `error` says in one line which word is wrong
/// and what would be right.
mlir::FailureOr<Strategy> parseStrategy(llvm::StringRef text,
                                        std::string &error);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_STRATEGY_H
