// Checks of IR text before MLIR parses it. MLIR's parser recurses with the
// nesting of its input and aborts when the stack ends, so that every tool that
// reads IR opens it here.
#ifndef PIPEMESH_SUPPORT_PARSEGUARD_H
#define PIPEMESH_SUPPORT_PARSEGUARD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <string>

namespace pipemesh {

/// What text may be at most.
struct ParseLimits {
  /// Brackets of all kinds inside each other, those of attribute aliases
  /// counted where the alias stands; also operators in a row.
  unsigned depth = 256;
  /// Bytes: MLIR's locations hold 32 bits.
  uint64_t bytes = uint64_t(2) << 30;
};

/// Why `text` is not given to the parser, as "NAME:LINE:COLUMN: error: ...";
/// empty when it is. Linear in the text's size. The nesting starts anew after
/// a line "// -----", which separates modules.
std::string refuseText(llvm::StringRef text, llvm::StringRef name,
                       const ParseLimits &limits = {});

/// The text of the file `path` ("-" for standard input), checked, and with
/// hexadecimal booleans of a byte each, as JAX writes them, packed into the bits
/// that MLIR reads. Null on failure, with `error` one line that says why.
std::unique_ptr<llvm::MemoryBuffer> openText(llvm::StringRef path,
                                             std::string &error,
                                             const ParseLimits &limits = {});

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_PARSEGUARD_H
