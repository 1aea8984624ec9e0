// Reading a module, for tools: checked text, then MLIR's parser.
#ifndef PIPEMESH_SUPPORT_PARSEMODULE_H
#define PIPEMESH_SUPPORT_PARSEMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pipemesh {

/// The verified module in the file `path` ("-" for standard input). Null on
/// failure, after a diagnostic of the context. Use it in the place of
/// mlir::parseSourceFile, which crashes on deep nesting.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::StringRef path,
                                              mlir::MLIRContext &context);

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_PARSEMODULE_H
