//===- Progress.cpp - How far a GPU is in a step --------------------------===//

#include "cuda/Progress.h"

namespace pipemesh::cuda {

Progress::Progress(Device &device, uint32_t streams)
    : device(device), count(2 + streams), words(device.allocateShared(count, place)) {}

void Progress::reset() {
  for (uint32_t i = 0; i < count; ++i)
    words[i].store(0);
}

uint64_t Progress::sum() const {
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; ++i)
    total += words[i].load();
  return total;
}

} // namespace pipemesh::cuda
