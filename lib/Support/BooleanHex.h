// Hexadecimal constants of booleans, which JAX writes with a byte for each
// element and MLIR's parser takes with a bit for each.
#ifndef PIPEMESH_LIB_SUPPORT_BOOLEANHEX_H
#define PIPEMESH_LIB_SUPPORT_BOOLEANHEX_H

#include "llvm/Support/MemoryBuffer.h"

namespace pipemesh {

/// The text with each `dense<"0x0100..."> : tensor<...xi1>` of a byte for each
/// element written with a bit for each, of the same length, so that places in
/// diagnostics stay. Other constants, and those whose bytes are not all 0 or 1,
/// stay as they are. Linear in the text's size; the buffer itself where nothing
/// changes.
std::unique_ptr<llvm::MemoryBuffer>
packBooleans(std::unique_ptr<llvm::MemoryBuffer> text);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SUPPORT_BOOLEANHEX_H
