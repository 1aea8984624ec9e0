//===- Progress.h - How far a GPU is in a step ----------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_PROGRESS_H
#define PIPEMESH_RUNTIME_CUDA_PROGRESS_H

#include "cuda/Device.h"

namespace pipemesh::cuda {

/// Words of the host's memory into which the streams of a rank write numbers as they
/// go, also from a captured graph. Word 0 has the step's number + 1 once a step has
/// begun, word 1 once it has ended. Each stream has a word of its own: on a stream of
/// communication 2 n - 1 once its n-th operation is next, and 2 n once it is done; on
/// the compute stream the fragments that are done.
class Progress {
public:
  Progress(Device &device, uint32_t streams);

  /// Called before a step, when the GPU is idle.
  void reset();

  void markBegin(int64_t step, CUstream stream) { write(0, numberOf(step), stream); }
  void markEnd(int64_t step, CUstream stream) { write(1, numberOf(step), stream); }
  void markEntered(uint32_t of, uint32_t sequence, CUstream stream) {
    write(2 + of, 2 * sequence - 1, stream);
  }
  void markDone(uint32_t of, uint32_t sequence, CUstream stream) {
    write(2 + of, 2 * sequence, stream);
  }
  void markFragments(uint32_t count, CUstream stream) { write(2, count, stream); }

  // Read by any thread.
  bool hasEnded(int64_t step) const { return words[1].load() == numberOf(step); }
  uint32_t fragments() const { return words[2].load(); }
  /// Of a stream of communication: the last operation that it came to, from 1, and
  /// the last one that is done.
  uint32_t entered(uint32_t of) const { return (words[2 + of].load() + 1) / 2; }
  uint32_t done(uint32_t of) const { return words[2 + of].load() / 2; }
  /// Changes whenever anything moves on.
  uint64_t sum() const;

private:
  static uint32_t numberOf(int64_t step) { return static_cast<uint32_t>(step) + 1; }
  void write(uint32_t word, uint32_t value, CUstream stream) {
    device.libraries.check(device.libraries.cuStreamWriteValue32_v2(
                               stream, place + word * sizeof(uint32_t), value, 0),
                           "cuStreamWriteValue32");
  }

  Device &device;
  const uint32_t count;
  CUdeviceptr place = 0;
  std::atomic<uint32_t> *words;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PROGRESS_H
