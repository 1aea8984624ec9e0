//===- ShardingRule.h - einsum-like sharding rules --------------*- C++ -*-===//
//
// An op is described over *factors*, as an einsum is over its letters
// (Shardy's factor mappings and GSPMD, Xu et al. 2021, section 3.3, are the
// same idea). `dot_general` of [B, M, K] and [B, K, N] has factors b, m, k, n;
// k is a reduction.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_INTERFACES_SHARDINGRULE_H
#define PIPEMESH_INTERFACES_SHARDINGRULE_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace pipemesh {

/// How partial values of several ranks are combined.
enum class ReductionKind : uint32_t { Sum = 0, Max = 1, Min = 2 };

enum class FactorKind {
  /// Each shard of the result needs the same shard of the operands.
  Parallel,
  /// Summed (or maximised) over: sharding it makes the results partial.
  Reduction,
  /// May be cut although results lack it: the op's own partitioning exchanges
  /// what is needed (a row maximum, the pairs of an argmax) and gives whole
  /// results. Where results have it too, their elements lie elsewhere than the
  /// operands': the dimensions may differ in size (a slice, a concatenation), and
  /// the factor has the size of the largest. See lib/Shard/Partition.
  Exchanged,
  /// Every shard needs all of it: the dimension must be replicated.
  NeedsReplication
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Of a Reduction factor.
  ReductionKind reduction = ReductionKind::Sum;
  /// Why a NeedsReplication factor must be whole: a literal, for remarks.
  const char *reason = "";
};

/// The factors of one dimension, major to minor: a reshape that merges [a, b]
/// into [a*b] has two. An empty list: the dimension belongs to no factor, and
/// is never sharded (of size 1, or generated).
using DimFactors = llvm::SmallVector<int64_t, 1>;

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<llvm::SmallVector<DimFactors>> operands;
  llvm::SmallVector<llvm::SmallVector<DimFactors>> results;

  /// Sets of operands in which the op is jointly linear while the others are
  /// held fixed: add {{0, 1}}, multiply {{0}, {1}}, divide {{0}}, negate {{0}}.
  /// When exactly the operands of one set are partial sums over an axis, the
  /// results may be partial over it too.
  llvm::SmallVector<llvm::SmallVector<unsigned>> linearSets;

  /// Adds a factor and returns its index.
  int64_t addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                    ReductionKind reduction = ReductionKind::Sum) {
    Factor &factor = factors.emplace_back();
    factor.size = size;
    factor.kind = kind;
    factor.reduction = reduction;
    return factors.size() - 1;
  }
  /// No rule: every dimension is replicated.
  bool empty() const { return operands.empty() && results.empty(); }
};

} // namespace pipemesh

#endif // PIPEMESH_INTERFACES_SHARDINGRULE_H
