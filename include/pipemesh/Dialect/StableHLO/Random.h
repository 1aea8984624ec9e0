// How the words of a random generator are laid out in a tensor.
#ifndef PIPEMESH_DIALECT_STABLEHLO_RANDOM_H
#define PIPEMESH_DIALECT_STABLEHLO_RANDOM_H

#include "mlir/IR/BuiltinTypes.h"

namespace pipemesh::stablehlo {

/// A tensor seen as [outer, dim, inner].
struct ThreefrySplit {
  int64_t outer = 1, dim = 1, inner = 1;
};

/// Where the two words of a Threefry block go in a tensor of elements of at most
/// 32 bits: block i, which stands for element i of [outer, (dim + 1) / 2, inner],
/// makes elements 2 p and 2 p + 1 along `dim`. The dimension that is cut in
/// halves is the first one of even size, else the first of the largest size, as
/// in XLA.
ThreefrySplit getThreefrySplit(mlir::RankedTensorType type);

} // namespace pipemesh::stablehlo

#endif // PIPEMESH_DIALECT_STABLEHLO_RANDOM_H
