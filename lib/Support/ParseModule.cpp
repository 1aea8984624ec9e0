// Reading a module, for tools.
#include "pipemesh/Support/ParseModule.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "pipemesh/Support/ParseGuard.h"

using namespace mlir;

OwningOpRef<ModuleOp> pipemesh::parseModule(StringRef path,
                                            MLIRContext &context) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = openText(path, error);
  if (!text) {
    // "FILE:LINE:COLUMN: error: REASON": the place goes into the location.
    auto [place, reason] = StringRef(error).split(": error: ");
    emitError(NameLoc::get(StringAttr::get(&context, place)), reason);
    return nullptr;
  }
  return parseSourceString<ModuleOp>(text->getBuffer(), ParserConfig(&context),
                                     path);
}
