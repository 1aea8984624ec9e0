//===- DiagnosticLines.cpp ------------------------------------------------===//

#include "pipemesh/Support/DiagnosticLines.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;

DiagnosticLines::DiagnosticLines(MLIRContext *context, llvm::StringRef tool)
    : tool(tool), handler(context, [this](Diagnostic &diagnostic) {
        print(diagnostic);
        return success();
      }) {}

/// Prints the place and a colon; false when the location has none.
static bool printPlace(Location location, llvm::raw_ostream &os) {
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    os << file.getFilename().getValue();
    // 1:1 stands for the file as a whole.
    if (file.getLine() > 1 || file.getColumn() > 1)
      os << ':' << file.getLine() << ':' << file.getColumn();
    os << ": ";
    return true;
  }
  if (auto name = dyn_cast<NameLoc>(location)) {
    os << name.getName().getValue() << ": ";
    return true;
  }
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (printPlace(part, os))
        return true;
    return false;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return printPlace(call.getCallee(), os);
  return false;
}

void DiagnosticLines::print(Diagnostic &diagnostic) {
  llvm::raw_ostream &os = llvm::errs();
  if (!printPlace(diagnostic.getLocation(), os))
    os << tool << ": ";
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    os << "error: ";
    break;
  case DiagnosticSeverity::Warning:
    os << "warning: ";
    break;
  case DiagnosticSeverity::Note:
    os << "note: ";
    break;
  case DiagnosticSeverity::Remark:
    os << "remark: ";
    break;
  }
  // Names of fields and tensors may hold any character.
  for (char c : diagnostic.str())
    os << (static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  os << '\n';
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
}
