//===- Simulation.h - pmc --simulate ----------------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_SIMULATION_H
#define PIPEMESH_TOOLS_PMC_SIMULATION_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Pipeline/StageCosts.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh {

/// Runs the action lists of a scheduled module on costs: those of the table in
/// `costsPath`, else the measured ones, which are shown in milliseconds. Prints
/// makespan, bubble, and of each rank span, busy time and peak memory; writes
/// the timeline to `path` where it is not empty: `.svg` a picture, `.json` a
/// trace for Perfetto, `.csv` a row for each action.
llvm::Error simulateProgram(mlir::ModuleOp scheduled,
                            const StageMeasure &measured,
                            llvm::StringRef costsPath, llvm::StringRef path,
                            llvm::raw_ostream &os);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_SIMULATION_H
