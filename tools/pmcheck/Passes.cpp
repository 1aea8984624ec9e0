//===- Passes.cpp - pmcheck passes ----------------------------------------===//

#include "Commands.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pipemesh::check {

bool plantFault(const Arguments &arguments) {
  if (!arguments.has("seed-fault"))
    return true;
  auto faults = getFaultNames();
  auto fault = llvm::find(faults, arguments.get("seed-fault"));
  if (fault == faults.end()) {
    llvm::errs() << "pmcheck: error: there is no fault '"
                 << arguments.get("seed-fault") << "'; there are "
                 << llvm::join(faults, ", ") << "\n";
    return false;
  }
  seedFault(Fault(fault - faults.begin() + 1));
  return true;
}

int runPasses(ArrayRef<StringRef> list, MLIRContext &context) {
  Arguments arguments;
  if (!arguments.parse(list, {"seed-fault", "output"}, 2,
                       "passes A.mlir PIPELINE [options]") ||
      !plantFault(arguments))
    return 2;
  registerAllPasses();
  OwningOpRef<ModuleOp> module = readModule(arguments[0], context);
  PassManager manager(&context, ModuleOp::getOperationName());
  if (!module || failed(parsePassPipeline(arguments[1], manager)))
    return 2;
  if (failed(manager.run(*module)))
    return 1;
  std::error_code error;
  StringRef path = arguments.has("output") ? arguments.get("output") : "-";
  llvm::raw_fd_ostream stream(path, error);
  if (error) {
    llvm::errs() << "pmcheck: error: cannot write '" << path
                 << "': " << error.message() << "\n";
    return 2;
  }
  module->print(stream);
  return 0;
}

} // namespace pipemesh::check
