//===- OneChunk.cpp - schedules of one stage a rank -----------------------===//

#include "Generators.h"
#include <algorithm>

using namespace pipemesh::schedule;

/// GPipe (Huang et al. 2019, arXiv 1811.06965, section 2.3): all forwards, then
/// all backwards.
ActionList pipemesh::schedule::makeGPipe(const Shape &shape, int32_t rank) {
  ActionList list;
  ListBuilder add(list);
  for (int32_t i = 0; i < shape.microBatches; ++i)
    add.forward(rank, i);
  for (int32_t i = 0; i < shape.microBatches; ++i)
    add.backward(rank, i);
  return list;
}

/// 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1): while the
/// first micro-batch is on its way to the last stage and back, a stage starts
/// one for each stage behind it; then forward and backward take turns.
ActionList pipemesh::schedule::makeOneForwardOneBackward(const Shape &shape,
                                                         int32_t rank) {
  ActionList list;
  ListBuilder add(list);
  int32_t warmUp = std::min(shape.ranks - 1 - rank, shape.microBatches);
  for (int32_t i = 0; i < warmUp; ++i)
    add.forward(rank, i);
  for (int32_t i = 0; i < shape.microBatches; ++i) {
    if (warmUp + i < shape.microBatches)
      add.forward(rank, warmUp + i);
    add.backward(rank, i);
  }
  return list;
}

/// 1F1B with the backward apart: each W comes `delay` micro-batches after its
/// I.
static ActionList makeSplit(const Shape &shape, int32_t rank, int32_t warmUp,
                            int32_t delay) {
  ActionList list;
  ListBuilder add(list);
  warmUp = std::min(warmUp, shape.microBatches);
  for (int32_t i = 0; i < warmUp; ++i)
    add.forward(rank, i);
  int32_t weights = 0;
  for (int32_t i = 0; i < shape.microBatches; ++i) {
    if (warmUp + i < shape.microBatches)
      add.forward(rank, warmUp + i);
    add.input(rank, i);
    if (i >= delay)
      add.weight(rank, weights++);
  }
  while (weights < shape.microBatches)
    add.weight(rank, weights++);
  return list;
}

/// ZB-H1 (Qi et al. 2023, arXiv 2401.10241, section 2.1): what 1F1B starts
/// with, and so many weight gradients put off that a rank holds as much as the
/// first.
ActionList pipemesh::schedule::makeZeroBubbleH1(const Shape &shape,
                                                int32_t rank) {
  return makeSplit(shape, rank, shape.ranks - 1 - rank, rank);
}

/// ZB-H2 (the same, section 2.2): twice the forwards before the first backward
/// and twice the delay; every rank holds 2 ranks - 1 micro-batches.
ActionList pipemesh::schedule::makeZeroBubbleH2(const Shape &shape,
                                                int32_t rank) {
  return makeSplit(shape, rank, 2 * (shape.ranks - 1 - rank), 2 * rank);
}
