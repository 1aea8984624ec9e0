//===- VShape.cpp - schedules whose stages go to the last rank and back ---===//
//
// Both have two stages a rank: one on the way down, the other on the way up.
// They are laid out for enough micro-batches that every phase exists. With
// fewer, the actions of those that are not there are left out, which breaks no
// order: actions of different micro-batches need nothing of each other.
//
//===----------------------------------------------------------------------===//

#include "Generators.h"
#include <algorithm>
#include <deque>

using namespace pipemesh::schedule;

namespace {
/// The two stages of a rank with the next micro-batch of each kind of action.
class VRank {
public:
  VRank(const Shape &shape, int32_t rank)
      : microBatches(shape.microBatches),
        stages{rank, 2 * shape.ranks - 1 - rank} {}

  void forward(int way) { add(take(way, ActionKind::Forward, forwards)); }
  void input(int way) {
    Action action = take(way, ActionKind::BackwardInput, inputs);
    waiting.push_back({way, action.microBatch});
    add(action);
  }
  void backward(int way) { add(take(way, ActionKind::Backward, inputs)); }
  /// The weight gradient of the way's next micro-batch.
  void weight(int way) { add(take(way, ActionKind::BackwardWeight, weights)); }
  /// The oldest weight gradient that was put off, if there is one.
  void oldestWeight() {
    if (waiting.empty())
      return;
    auto [way, i] = waiting.front();
    waiting.pop_front();
    add(Action{ActionKind::BackwardWeight, stages[way], i});
  }
  void overlap(int forwardWay, int backwardWay) {
    Action first = take(forwardWay, ActionKind::Forward, forwards);
    Action second = take(backwardWay, ActionKind::Backward, inputs);
    if (isThere(first) && isThere(second))
      list.push_back(Item(first, second));
    else if (isThere(first))
      list.push_back(first);
    else
      add(second);
  }

  int32_t forwards[2] = {0, 0};
  int32_t inputs[2] = {0, 0};
  int32_t weights[2] = {0, 0};
  ActionList list;

private:
  Action take(int way, ActionKind kind, int32_t *counts) {
    return {kind, stages[way], counts[way]++};
  }
  bool isThere(const Action &action) const {
    return action.microBatch < microBatches;
  }
  void add(const Action &action) {
    if (isThere(action))
      list.push_back(action);
  }

  int32_t microBatches;
  int32_t stages[2];
  struct Waiting {
    int way;
    int32_t microBatch;
  };
  std::deque<Waiting> waiting;
};
} // namespace

static constexpr int down = 0, up = 1;

/// ZB-V (Qi et al. 2024, arXiv 2405.15362, section 4 and figure 5; the same
/// order is in appendix A of arXiv 2401.10241): no bubble when F, I and W take
/// the same time, with the memory of 1F1B.
ActionList pipemesh::schedule::makeZeroBubbleV(const Shape &shape,
                                               int32_t rank) {
  VRank run(shape, rank);
  int32_t behind = shape.ranks - rank;
  int32_t total = std::max(2 * shape.ranks - 1, shape.microBatches);
  // Down, until the first micro-batch comes up again.
  for (int32_t i = 0; i < 2 * behind - 1; ++i)
    run.forward(down);
  // It passes on the way up, while more go down.
  for (int32_t i = 0; i < rank; ++i) {
    run.forward(up);
    run.forward(down);
  }
  // Gradients arrive on the way up.
  auto turnUp = [&] {
    run.forward(up);
    run.input(up);
    run.weight(up);
  };
  for (int32_t i = 0; i < behind; ++i)
    turnUp();
  // Six actions take turns: F, I and W of both ways.
  while (run.forwards[up] < run.forwards[down] || run.forwards[down] < total) {
    if (run.forwards[down] < total)
      run.forward(down);
    run.input(down);
    run.weight(down);
    turnUp();
  }
  // The last input gradients first, for they are waited for.
  for (int32_t i = 0; i < rank; ++i) {
    run.input(down);
    run.input(up);
  }
  for (int32_t i = 0; i < behind; ++i) {
    run.input(down);
    run.weight(down);
  }
  while (run.weights[up] < run.inputs[up])
    run.weight(up);
  while (run.weights[down] < run.inputs[down])
    run.weight(down);
  return std::move(run.list);
}

/// DualPipeV (DeepSeek-V3, arXiv 2412.19437, section 3.2.1, cut in half as in
/// the code that DeepSeek published): a forward of one way overlaps with a
/// backward of the other, so that each hides the other's communication.
ActionList pipemesh::schedule::makeDualPipeV(const Shape &shape, int32_t rank) {
  VRank run(shape, rank);
  int32_t behind = shape.ranks - rank - 1;
  int32_t total = std::max(2 * shape.ranks, shape.microBatches);
  for (int32_t i = 0; i < 2 * behind; ++i)
    run.forward(down);
  for (int32_t i = 0; i < rank + 1; ++i) {
    run.forward(down);
    run.forward(up);
  }
  for (int32_t i = 0; i < behind; ++i) {
    run.input(up);
    run.oldestWeight();
    run.forward(up);
  }
  for (int32_t i = 0; i < total - 2 * shape.ranks + rank + 1; ++i) {
    // The last rank turns its own forward around: nothing to overlap yet.
    if (i == 0 && behind == 0) {
      run.forward(down);
      run.backward(up);
    } else {
      run.overlap(down, up);
    }
    run.overlap(up, down);
  }
  for (int32_t i = 0; i < behind; ++i) {
    run.backward(up);
    run.overlap(up, down);
  }
  // From the middle of the last phase on, weight gradients are put off.
  bool isSplit = false;
  auto backward = [&](int way) {
    isSplit ? run.input(way) : run.backward(way);
  };
  int32_t last = rank + 1;
  for (int32_t i = 0; i < last; ++i) {
    isSplit |= i == last / 2 && rank % 2 == 1;
    backward(up);
    isSplit |= i == last / 2 && rank % 2 == 0;
    backward(down);
  }
  for (int32_t i = 0; i < behind; ++i) {
    run.oldestWeight();
    backward(down);
  }
  for (int32_t i = 0; i < last; ++i)
    run.oldestWeight();
  return std::move(run.list);
}
