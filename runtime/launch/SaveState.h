//===- SaveState.h - What each rank begins with, as files -----------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_SAVESTATE_H
#define PIPEMESH_RUNTIME_LAUNCH_SAVESTATE_H

#include "host/Job.h"

#include <map>

namespace pipemesh::runtime {

/// Keeps what the ranks of this process begin with, for programs that pmc
/// --emit=cpp wrote: FOLDER/rank-N.safetensors has the state in front of the
/// first step and the inputs of all steps, by the names of the buffers, as the
/// rank holds them: a dimension of steps (of inputs) and one of slots in front
/// of the local shape.
class StateWriter {
public:
  /// Makes the folder; throws an Error where it cannot be made.
  StateWriter(std::string folder, const Job &job);

  /// Called by each rank once it has been fed.
  void note(Rank &rank);

  /// Writes the file of a rank.
  void write(const Rank &rank) const;

private:
  struct Kept {
    std::vector<std::byte> bytes;
    int64_t steps = 0;
  };

  const std::string folder;
  /// Of each rank of this process, each buffer.
  std::map<int64_t, std::vector<Kept>> kept;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_SAVESTATE_H
