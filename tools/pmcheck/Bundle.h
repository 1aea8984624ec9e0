//===- Bundle.h - pmcheck bundle --------------------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMCHECK_BUNDLE_H
#define PIPEMESH_TOOLS_PMCHECK_BUNDLE_H

#include "mlir/IR/MLIRContext.h"

namespace pipemesh::check {

/// Proves the program of a bundle; see docs/proof.md.
int runBundle(llvm::ArrayRef<llvm::StringRef> arguments,
              mlir::MLIRContext &context);

} // namespace pipemesh::check

#endif // PIPEMESH_TOOLS_PMCHECK_BUNDLE_H
