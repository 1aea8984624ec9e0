//===- Rules.h - the sharding rules of a function's ops ---------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_RULES_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_RULES_H

#include "../ShardingAlgebra.h"
#include <deque>

namespace pipemesh {

/// A rule with its dimensions in one list: those of the operands, then those of
/// the results.
struct RuleInfo {
  struct Dim {
    llvm::SmallVector<uint16_t, 2> factors; ///< major to minor
    int64_t size;                           ///< of the value's dimension
  };

  RuleInfo(ShardingRule rule, bool hasRule, mlir::TypeRange operands,
           mlir::TypeRange results);

  ShardingRule rule;
  bool hasRule;
  /// Any dimension has more than one factor.
  bool isMerged = false;
  unsigned numOperands, numResults;
  std::vector<Dim> dims;
  /// The first dimension of each operand and result, and the end.
  llvm::SmallVector<uint32_t> firstDim;

  llvm::ArrayRef<Dim> dimsOf(unsigned value) const {
    return llvm::ArrayRef<Dim>(dims).slice(
        firstDim[value], firstDim[value + 1] - firstDim[value]);
  }
  /// Whether a result has the factor.
  bool resultHas(unsigned result, unsigned factor) const;
};

/// Makes each rule once: ops of one kind with equal attributes and types share
/// one, where the rule reads nothing else of the op.
class RuleTable {
public:
  const RuleInfo &get(mlir::Operation *op);
  /// One value that is handed on: each dimension is a factor, and it is linear.
  const RuleInfo &identity(mlir::Type type);
  /// Several values that lie alike.
  const RuleInfo &alike(mlir::Type type, unsigned count);
  /// Operands that must be whole.
  const RuleInfo &whole(mlir::TypeRange operands);

private:
  const RuleInfo &add(ShardingRule rule, bool hasRule,
                      mlir::TypeRange operands, mlir::TypeRange results);

  std::deque<RuleInfo> rules;
  llvm::DenseMap<unsigned, llvm::SmallVector<
                               std::pair<mlir::Operation *, const RuleInfo *>, 1>>
      shared;
  llvm::DenseMap<mlir::Type, const RuleInfo *> identities;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_RULES_H
