//===- DiagnosticLines.h - diagnostics of command-line tools ----*- C++ -*-===//

#ifndef PIPEMESH_SUPPORT_DIAGNOSTICLINES_H
#define PIPEMESH_SUPPORT_DIAGNOSTICLINES_H

#include "mlir/IR/Diagnostics.h"
#include <string>

namespace pipemesh {

/// While it lives, diagnostics of the context go to standard error, one line
/// each and without the source text: "file:line:column: error: message", with
/// the model's name for the place ("model.layers.3.mlp: error: ...") where that
/// is all there is, and the tool's name where there is no place.
class DiagnosticLines {
public:
  DiagnosticLines(mlir::MLIRContext *context, llvm::StringRef tool);

private:
  void print(mlir::Diagnostic &diagnostic);

  std::string tool;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_DIAGNOSTICLINES_H
