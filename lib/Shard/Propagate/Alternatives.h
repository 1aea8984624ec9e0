//===- Alternatives.h - other choices where cuts meet -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_ALTERNATIVES_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_ALTERNATIVES_H

#include "Sweep.h"

namespace pipemesh {

/// Where an op's operands come cut in two ways, the sweep chooses by what the op
/// itself moves. What the values before and behind it must then move is seen only
/// at the end: a gradient that could have been cut by the vocabulary like the
/// logits was cut by the batch, because a scatter into zeros stands before the sum
/// of the two.
///
/// So after a first propagation the other choice of those ops that move the most is
/// tried, as a wish with which the sweep begins, on a copy of the function; the one
/// after which a step moves the least is kept, and the search goes on from there.
/// What is counted are the reshards that stand in the copy. Small functions only:
/// the number of trials falls with the number of ops, to none for large ones.
std::vector<Wish> findWishes(mlir::func::FuncOp function, CutTable &cuts);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_ALTERNATIVES_H
