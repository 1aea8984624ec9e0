//===- JSONText.h - Positions and limits that llvm::json does not have ----===//

#ifndef PIPEMESH_IMPORT_JSONTEXT_H
#define PIPEMESH_IMPORT_JSONTEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <utility>

namespace pipemesh {

/// Line and column (both from 1) of a key, given by its path from the root
/// object; {0, 0} when it is not there.
std::pair<unsigned, unsigned> findJSONKey(llvm::StringRef text,
                                          llvm::ArrayRef<llvm::StringRef> path);

/// The text without the white space between tokens; numbers keep their
/// spelling and keys their order.
std::string compactJSON(llvm::StringRef text);

/// Parses an object. The parser recurses, so nesting beyond 64 is refused in
/// front of it. On failure `error` is one line.
mlir::FailureOr<llvm::json::Object> parseJSONObject(llvm::StringRef text,
                                                    std::string &error);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_JSONTEXT_H
