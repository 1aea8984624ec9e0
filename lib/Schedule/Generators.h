//===- Generators.h - one function a schedule -------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SCHEDULE_GENERATORS_H
#define PIPEMESH_LIB_SCHEDULE_GENERATORS_H

#include "pipemesh/Schedule/Schedule.h"

namespace pipemesh::schedule {

/// The numbers that a list is made from.
struct Shape {
  int32_t ranks = 1;
  int32_t chunks = 1;
  int32_t microBatches = 1;

  int32_t getNumStages() const { return ranks * chunks; }
};

/// Adds actions of a rank at the end of its list.
class ListBuilder {
public:
  ListBuilder(ActionList &list) : list(list) {}
  void forward(int32_t stage, int32_t i) {
    list.push_back(Action{ActionKind::Forward, stage, i});
  }
  void backward(int32_t stage, int32_t i) {
    list.push_back(Action{ActionKind::Backward, stage, i});
  }
  void input(int32_t stage, int32_t i) {
    list.push_back(Action{ActionKind::BackwardInput, stage, i});
  }
  void weight(int32_t stage, int32_t i) {
    list.push_back(Action{ActionKind::BackwardWeight, stage, i});
  }

private:
  ActionList &list;
};

/// The list of one rank.
ActionList makeGPipe(const Shape &shape, int32_t rank);
ActionList makeOneForwardOneBackward(const Shape &shape, int32_t rank);
ActionList makeZeroBubbleH1(const Shape &shape, int32_t rank);
ActionList makeZeroBubbleH2(const Shape &shape, int32_t rank);
ActionList makeInterleaved(const Shape &shape, int32_t rank);
ActionList makeLoopedBreadthFirst(const Shape &shape, int32_t rank);
ActionList makeZeroBubbleV(const Shape &shape, int32_t rank);
ActionList makeDualPipeV(const Shape &shape, int32_t rank);

} // namespace pipemesh::schedule

#endif // PIPEMESH_LIB_SCHEDULE_GENERATORS_H
