//===- RoleCosts.h - what a role computes and exchanges ---------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_ROLECOSTS_H
#define PIPEMESH_LOWER_ROLECOSTS_H

#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace pipemesh {

/// A collective of a fragment, or a channel to another role, in one step of one
/// rank.
struct Exchange {
  /// `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `permute` or
  /// `transfer`.
  std::string kind;
  std::vector<std::string> axes;
  int64_t groupSize = 1;
  int64_t operands = 1;
  /// Of this rank, over all operands of the bucket.
  int64_t operandBytes = 0;
  /// What a run moves on the wire for each rank: all-reduce 2(n-1)/n of the
  /// operand, all-gather n-1 operands, reduce-scatter and all-to-all (n-1)/n, of
  /// whole pieces; a permute all of it, a transfer all of it at the sender.
  int64_t wireBytes = 0;
  int64_t runs = 0;
  /// Whether `runs` is right: loops of unknown length count once, and so do all
  /// branches of a choice.
  bool runsAreKnown = true;
  /// Whether it goes on beside what follows.
  bool isStarted = false;
  /// The model location, that of the first operand where there are several.
  std::string module;
  /// The kind of the fragment that holds it; the one that makes the value of a
  /// transfer.
  std::string fragment;
};

/// One fragment's work.
struct BodyCosts {
  std::string name;
  int64_t runs = 0;
  int64_t instructions = 0, gemms = 0, kernels = 0;
  int64_t attentions = 0; ///< that a GPU's library makes
  /// Whether the lengths of all loops are known, and there are no choices.
  bool runsAreKnown = true;
  /// Of one run; a multiply-add counts as two, a function such as exp as ten.
  /// Attention by a library is among the kernels.
  int64_t gemmFlops = 0, kernelFlops = 0;
};

struct RoleCosts {
  /// Of one rank.
  int64_t weightBytes = 0;
  std::vector<BodyCosts> bodies;
  std::vector<Exchange> exchanges;

  /// Of one step of one rank.
  int64_t getFlops() const;
};

/// Counts a role of a runtime program; the module holds its kernels, its
/// `pm.mesh` and its `pm.program`.
RoleCosts computeRoleCosts(mlir::ModuleOp module, pmrt::RoleOp role);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_ROLECOSTS_H
