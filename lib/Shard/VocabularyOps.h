//===- VocabularyOps.h - lookup and loss over shards ------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_VOCABULARYOPS_H
#define PIPEMESH_LIB_SHARD_VOCABULARYOPS_H

#include "ShardingAlgebra.h"
#include <optional>

namespace pipemesh {

/// Where one rank's block of the vocabulary lies. Both are scalars of i32.
struct VocabularyBlock {
  /// The first id of the block.
  mlir::Value offset;
  /// How many ids from there on exist; null where every block is full.
  mlir::Value limit;
  /// The axes that cut the vocabulary.
  Axes axes;
};

/// The number of the operand or result and of its dimension that is the
/// vocabulary, of an op for which shards of it have to be told apart.
struct VocabularyDim {
  mlir::Value value;
  unsigned dim;
};
std::optional<VocabularyDim> getVocabularyDim(mlir::Operation *op);

/// What the op's results are on a rank that has one block of the vocabulary:
/// stablehlo, and all-reduces over the axes. The op's operands and results have
/// local types.
llvm::SmallVector<mlir::Value>
expandOverVocabulary(mlir::OpBuilder &builder, mlir::Operation *op,
                     const VocabularyBlock &block, const MeshAxes &mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_VOCABULARYOPS_H
