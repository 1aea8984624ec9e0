//===- Looped.cpp - schedules of several stages a rank --------------------===//

#include "Generators.h"
#include <algorithm>

using namespace pipemesh::schedule;

/// Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2).
///
/// Micro-batches go through the chunks in rounds: a round's micro-batches
/// through one chunk after the other. The paper's rounds have as many as there
/// are ranks, and so their number must divide. Here M micro-batches on P ranks
/// make max(1, floor(M / P)) rounds that differ by one at most, the larger ones
/// first: a backward then never needs a forward that its rank has not come to,
/// because the rank is as many forwards ahead as the largest round needs.
ActionList pipemesh::schedule::makeInterleaved(const Shape &shape,
                                               int32_t rank) {
  struct Step {
    int32_t chunk;
    int32_t microBatch;
  };
  std::vector<Step> forwards, backwards;
  int32_t rounds = std::max(1, shape.microBatches / shape.ranks);
  int32_t first = 0, largest = 0;
  for (int32_t round = 0; round < rounds; ++round) {
    int32_t size = shape.microBatches / rounds +
                   (round < shape.microBatches % rounds ? 1 : 0);
    largest = std::max(largest, size);
    for (int32_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int32_t i = 0; i < size; ++i) {
        forwards.push_back({chunk, first + i});
        backwards.push_back({shape.chunks - 1 - chunk, first + i});
      }
    first += size;
  }
  ActionList list;
  ListBuilder add(list);
  auto addForward = [&](const Step &step) {
    add.forward(step.chunk * shape.ranks + rank, step.microBatch);
  };
  // Until the first micro-batch has been through all chunks, and two more for
  // each rank behind: there and back.
  size_t warmUp = std::min<size_t>((shape.chunks - 1) * largest +
                                       2 * (shape.ranks - 1 - rank),
                                   forwards.size());
  for (size_t i = 0; i < warmUp; ++i)
    addForward(forwards[i]);
  for (size_t i = 0; i < backwards.size(); ++i) {
    if (warmUp + i < forwards.size())
      addForward(forwards[warmUp + i]);
    add.backward(backwards[i].chunk * shape.ranks + rank,
                 backwards[i].microBatch);
  }
  return list;
}

/// Breadth-first (Lamy-Poirier 2022, arXiv 2211.05953, section 4): all
/// micro-batches through a chunk before the next, and back in reverse.
ActionList pipemesh::schedule::makeLoopedBreadthFirst(const Shape &shape,
                                                      int32_t rank) {
  ActionList list;
  ListBuilder add(list);
  for (int32_t chunk = 0; chunk < shape.chunks; ++chunk)
    for (int32_t i = 0; i < shape.microBatches; ++i)
      add.forward(chunk * shape.ranks + rank, i);
  for (int32_t chunk = shape.chunks; chunk-- > 0;)
    for (int32_t i = shape.microBatches; i-- > 0;)
      add.backward(chunk * shape.ranks + rank, i);
  return list;
}
