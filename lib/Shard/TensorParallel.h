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
  /// `mayBeUneven` its last pieces may be smaller.
  bool isVocabulary = false, mayBeUneven = false;

  /// Whether `tp` ranks get a piece each.
  bool isCutOver(int64_t tp) const {
    return parts % tp == 0 || (mayBeUneven && parts >= tp);
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

  /// The number of key-value heads that tp is a multiple of and does not
  /// divide: the size of the axis "tp.kv". 0 where one axis does.
  int64_t keyAxisSize(int64_t tp) const;
  /// Fails, with an error that names what does not divide and the sizes that
  /// do, when the groups cannot be cut in `tp` pieces.
  mlir::LogicalResult check(int64_t tp) const;
};

/// What can be cut in a model or differentiated graph.
TensorParallelism findTensorParallelism(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_TENSORPARALLEL_H
