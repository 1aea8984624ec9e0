//===- Report.h - sizes and costs of a compiled program ---------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_REPORT_H
#define PIPEMESH_TOOLS_PMC_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh {

/// Prints ranks and their coordinates, memory by kind of buffer, work by
/// fragment, and the bytes that each mesh axis carries a step, of a module at
/// the runtime level.
void printReport(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_REPORT_H
