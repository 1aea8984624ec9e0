//===- Report.h - pmc --report ----------------------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_REPORT_H
#define PIPEMESH_TOOLS_PMC_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh {

/// Of a module at the runtime level: ranks and their coordinates; memory by rank
/// and kind of buffer; flops by rank and their share of the whole; work by
/// fragment; the bytes that a rank sends in a step, by axis and kind of
/// exchange, with the modules that cause them. Layers with equal entries are one
/// line (`model.layers.*`), and axes that make one dimension of the strategy
/// (`tp.kv`, `tp.group`) have its name.
llvm::json::Object makeReport(mlir::ModuleOp module);

/// Prints the tables of a report.
void printReport(const llvm::json::Object &report, llvm::raw_ostream &os);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_REPORT_H
