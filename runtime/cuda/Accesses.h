//===- Accesses.h - Who touched which bytes last --------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_ACCESSES_H
#define PIPEMESH_RUNTIME_CUDA_ACCESSES_H

#include <cstdint>
#include <map>
#include <vector>

namespace pipemesh::cuda {

/// The last operations on each byte of a memory, each on a stream; those of one
/// stream are noted in their order.
class Accesses {
public:
  struct Earlier {
    uint32_t stream, operation;
  };

  /// Notes that an operation touches bytes [begin, end), and appends to `before` what
  /// must be done first: the last writer, and where it writes the readers since; of
  /// each stream one or several.
  void touch(uint64_t begin, uint64_t end, bool writes, const Earlier &operation,
             std::vector<Earlier> &before);

private:
  struct Interval {
    uint64_t end;
    bool isWritten;
    Earlier writer;
    std::vector<Earlier> readers; ///< the last one of each stream
  };
  using Map = std::map<uint64_t, Interval>; ///< by the begin

  Map::iterator splitAt(uint64_t place);

  Map intervals;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_ACCESSES_H
