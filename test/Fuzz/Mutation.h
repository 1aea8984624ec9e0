// Damaged copies of IR text, the same ones in every run.
#ifndef PIPEMESH_TEST_FUZZ_MUTATION_H
#define PIPEMESH_TEST_FUZZ_MUTATION_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh::fuzz {

/// A small generator of pseudo-random numbers (xorshift64*).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t next();
  /// Uniform in [0, bound); bound is positive.
  uint64_t below(uint64_t bound) { return next() % bound; }

private:
  uint64_t state;
};

/// The modules of a test file, which lines "// -----" separate.
std::vector<llvm::StringRef> splitModules(llvm::StringRef text);

/// A copy of `text` with one to four damages: flipped bytes, tokens swapped,
/// deleted, repeated or taken from elsewhere in the text, changed numbers,
/// brackets put in, the end cut off.
std::string mutate(llvm::StringRef text, Random &random);

} // namespace pipemesh::fuzz

#endif // PIPEMESH_TEST_FUZZ_MUTATION_H
