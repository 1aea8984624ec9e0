//===- HFFields.h - Fields of a config.json that need no code of their own ===//

#ifndef PIPEMESH_LIB_IMPORT_HFFIELDS_H
#define PIPEMESH_LIB_IMPORT_HFFIELDS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace pipemesh {

/// True for a field that no value of changes loss, logits or gradients:
/// generation settings, labels of classifiers, provenance, memory.
bool isHarmlessField(llvm::StringRef name);

/// What a field describes that the imported classes do not compute; nullptr
/// for a field that is none of these.
const char *foreignComputation(llvm::StringRef name);

/// Whether the value of such a field asks for its computation: not null,
/// false, 0 or empty, nor a factor of 1.
bool asksForComputation(llvm::StringRef name, const llvm::json::Value &value);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_HFFIELDS_H
