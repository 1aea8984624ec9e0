//===- Capture.h - Copies of buffers, taken while a step runs -------------===//

#ifndef PIPEMESH_RUNTIME_HOST_CAPTURE_H
#define PIPEMESH_RUNTIME_HOST_CAPTURE_H

#include "host/Job.h"

#include <map>

namespace pipemesh::runtime {

/// Copies what each action writes to the named buffers, for every micro-batch.
/// A buffer's slot may be used again later in the step, also by a fragment of
/// another kind that computes in place; the copy is of the kind of fragment
/// that writes it first.
class Capture {
public:
  /// Copies from the next step on, until it is destroyed.
  Capture(Job &job, const std::vector<std::string> &buffers);
  ~Capture();
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;

  /// The whole tensor, in the process of rank 0; what no rank has written is
  /// zero. Collective.
  void collect(const std::string &buffer, std::vector<float> &whole) const;

private:
  struct Copy {
    int64_t writer = -1;                       ///< kind of the fragment
    std::vector<std::vector<std::byte>> slots; ///< of all micro-batches
  };
  /// Of one rank: for each buffer its copies.
  using Copies = std::map<int64_t, Copy>;

  Job &job;
  std::vector<Copies> copies; ///< of the local ranks
  std::map<int64_t, size_t> placeOfRank;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_CAPTURE_H
