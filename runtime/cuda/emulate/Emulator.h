//===- Emulator.h - a GPU's blocks on this processor ----------------------===//
//
// Runs kernels that are given as PTX, a block after the other, each thread by
// itself up to where it waits for others. Barriers and exchanges are honoured;
// accesses of two threads to one place of shared memory without a barrier in
// between, reads of what nothing wrote, accesses outside of the buffers, and waits
// that never end are errors. It tests kernels where there is no GPU, and says
// nothing of their speed.
//
//===----------------------------------------------------------------------===//

#ifndef PMRT_CUDA_EMULATE_EMULATOR_H
#define PMRT_CUDA_EMULATE_EMULATOR_H

#include "cuda/emulate/Touched.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pmrt::ptx {

/// Memory that a kernel may touch.
struct Range {
  void *pointer = nullptr;
  size_t bytes = 0;
};

struct Launch {
  unsigned blocks = 1, threads = 1;
  /// The parameters: pointers, each to its range.
  std::vector<Range> parameters;
  /// The threads of a warp and the blocks run from the last one down.
  bool isReversed = false;
  /// Takes what is read and written of the parameters' memory, where it is set.
  Touched *touched = nullptr;
};

class Emulator {
public:
  /// Never throws; `problem` tells what is wrong with the text, or is empty. Kernels
  /// that are known whole can be run all the same.
  Emulator(const std::string &ptx, std::string &problem);
  ~Emulator();

  bool has(const std::string &kernel) const;
  /// Runs a kernel. Returns what went wrong, with kernel, line and threads; empty
  /// where nothing did.
  std::string run(const std::string &kernel, const Launch &launch);

private:
  struct Code;
  std::unique_ptr<Code> code;
};

} // namespace pmrt::ptx

#endif
