//===- Touched.h - the bytes that a kernel reads and writes ---------------===//

#ifndef PMRT_CUDA_EMULATE_TOUCHED_H
#define PMRT_CUDA_EMULATE_TOUCHED_H

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace pmrt::ptx {

/// Global memory, byte by byte, in pieces of which only those are kept that something
/// touches. What a kernel has written itself before it reads it is not read: in another
/// order of blocks it would be.
class Touched {
public:
  void add(uint64_t address, size_t bytes, bool isWrite);

  /// Address and size of what was written, or read, in the order of addresses; none
  /// lies directly behind another.
  std::vector<std::pair<uint64_t, uint64_t>> ranges(bool writes) const;

private:
  static constexpr size_t pieceBytes = 4096;
  struct Piece {
    std::bitset<pieceBytes> read, written;
  };

  std::map<uint64_t, Piece> pieces; ///< by address / pieceBytes
  uint64_t lastNumber = 0;
  Piece *last = nullptr; ///< most accesses are in the piece of the one before
};

} // namespace pmrt::ptx

#endif
