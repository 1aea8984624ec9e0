//===- Touched.cpp - the bytes that a kernel reads and writes -------------===//

#include "cuda/emulate/Touched.h"

namespace pmrt::ptx {

void Touched::add(uint64_t address, size_t bytes, bool isWrite) {
  for (uint64_t at = address; at < address + bytes; ++at) {
    uint64_t number = at / pieceBytes;
    if (!last || number != lastNumber) {
      last = &pieces[number];
      lastNumber = number;
    }
    size_t i = at % pieceBytes;
    if (isWrite)
      last->written.set(i);
    else if (!last->written[i])
      last->read.set(i);
  }
}

std::vector<std::pair<uint64_t, uint64_t>> Touched::ranges(bool writes) const {
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (const auto &[number, piece] : pieces) {
    const auto &bits = writes ? piece.written : piece.read;
    if (bits.none())
      continue;
    for (size_t i = 0; i < pieceBytes; ++i) {
      if (!bits[i])
        continue;
      uint64_t at = number * pieceBytes + i;
      if (!found.empty() && found.back().first + found.back().second == at)
        ++found.back().second;
      else
        found.push_back({at, 1});
    }
  }
  return found;
}

} // namespace pmrt::ptx
