//===- TensorParallel.h - what tensor parallelism cuts ----------*- C++ -*-===//
//
// Megatron's shardings (Shoeybi et al. 2019, section 3), found by the structure
// of a graph: the columns of one product and the rows of the next, attention by
// heads, the vocabulary of embedding and loss. No names are read.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_TENSORPARALLEL_H
#define PIPEMESH_LIB_SHARD_TENSORPARALLEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace pipemesh {

/// A dimension of a parameter that is cut.
struct ParameterCut {
  mlir::BlockArgument parameter;
  unsigned dim = 0;
  /// It holds the key-value heads of grouped attention, of which there may be
  /// fewer than ranks.
  bool ofKeyHeads = false;

  bool operator==(const ParameterCut &other) const {
    return parameter == other.parameter && dim == other.dim &&
           ofKeyHeads == other.ofKeyHeads;
  }
};

/// Parameters that are cut together, since a value that is cut joins them.
struct CutGroup {
  /// The attention, product, lookup or loss that they meet at.
  mlir::Operation *anchor = nullptr;
  llvm::SmallVector<ParameterCut> cuts;
  /// What is divided, "query heads of 'model.layers.0.self_attn'", and how many
  /// there are.
  std::string what;
  int64_t parts = 0;
  /// Of grouped attention; 0 where there are none.
  int64_t keyHeads = 0;
  std::string keyHeadsOf;
  /// A vocabulary is cut where that can be done, and never refused. With
  /// `mayBeUneven` the last pieces may be smaller, or empty.
  bool isVocabulary = false, mayBeUneven = false;

  /// What stays together on a rank: key-value heads with their query heads, or
  /// query heads that share one key-value head, or single columns.
  int64_t units() const { return keyHeads > 1 ? keyHeads : parts; }
  /// Whether groups of ranks share key-value heads: tp is a multiple of them.
  bool sharesKeyHeads(int64_t tp) const {
    return keyHeads != 0 && keyHeads % tp != 0 && tp % keyHeads == 0 &&
           parts % tp == 0;
  }
  /// Whether the pieces of `tp` ranks are not all of the same size.
  bool isUneven(int64_t tp) const {
    return (units() % tp != 0 || parts % tp != 0) && !sharesKeyHeads(tp);
  }
  /// Whether it can be cut over `tp` ranks. There may be fewer key-value heads
  /// than ranks, but not fewer query heads.
  bool isCutOver(int64_t tp) const {
    return !isUneven(tp) || (mayBeUneven && parts >= tp);
  }
  /// Elements of a rank's piece of a dimension of that size.
  int64_t blockSize(int64_t size, int64_t tp) const {
    int64_t share = (units() + tp - 1) / tp;
    return isUneven(tp) ? size / units() * share : size / tp;
  }
};

/// An attention that stays whole.
struct WholeAttention {
  mlir::Operation *op;
  std::string reason;
};

struct TensorParallelism {
  llvm::SmallVector<CutGroup> groups;
  llvm::SmallVector<WholeAttention> whole;

  /// The number of key-value heads that groups of ranks share: the size of the
  /// axis "tp.kv". 0 where one axis does.
  int64_t keyAxisSize(int64_t tp) const;
  /// Fails, with an error that names what does not divide and the sizes that
  /// do, when the groups cannot be cut in `tp` pieces.
  mlir::LogicalResult check(int64_t tp) const;
};

/// What can be cut in a model or differentiated graph.
TensorParallelism findTensorParallelism(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_TENSORPARALLEL_H
