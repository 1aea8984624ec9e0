//===- IndexMath.h - indices of a whole dimension in a block ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PARTITION_INDEXMATH_H
#define PIPEMESH_LIB_SHARD_PARTITION_INDEXMATH_H

#include "Partitioner.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

namespace pipemesh {

/// Builds what a rank computes of its blocks.
class BlockBuilder : public stablehlo::TensorBuilder {
public:
  BlockBuilder(Partitioner &p, mlir::Location loc)
      : TensorBuilder(p.builder, loc), p(p) {}

  /// Zero of every element type.
  Value zeros(mlir::RankedTensorType type);
  /// Places along a dimension, as i32.
  Value places(llvm::ArrayRef<int64_t> shape, int64_t dim) {
    return iota(shape, builder.getI32Type(), dim);
  }
  Value constant(int64_t value) { return p.constantI32(loc, value); }
  Value both(Value a, Value b) {
    return stablehlo::AndOp::create(builder, loc, a, b);
  }
  /// `low <= value < high`; of i32.
  Value isWithin(Value value, int64_t low, int64_t high);
  /// A scalar predicate decides for all elements.
  Value choose(Value predicate, Value onTrue, Value onFalse);

  /// Integers of any type, brought between the bounds (inclusive) of their
  /// component and then to i32: an index that is far outside must not wrap
  /// around. A vector of components lies along `vectorDim`, which may be behind
  /// the last dimension where there is one component.
  Value clampIndices(Value indices, llvm::ArrayRef<int64_t> low,
                     llvm::ArrayRef<int64_t> high, int64_t vectorDim);
  Value clampIndex(Value index, int64_t low, int64_t high) {
    return clampIndices(index, low, high, 0);
  }
  /// One scalar of i32 for each component, spread over indices of that shape.
  Value spreadComponents(llvm::ArrayRef<Value> scalars,
                         llvm::ArrayRef<int64_t> shape, int64_t vectorDim);
  /// One component of all index vectors.
  Value component(Value indices, int64_t number, int64_t vectorDim);

  /// Adds elements of zero on both sides of a dimension.
  Value padWithZero(Value value, int64_t dim, int64_t low, int64_t high);
  Value dynamicSlice(Value value, llvm::ArrayRef<Value> starts,
                     llvm::ArrayRef<int64_t> sizes);

  Partitioner &p;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTITION_INDEXMATH_H
