// pmopt: reads IR text, runs passes on it and writes it back.
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Support/ParseGuard.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

static int run(int argc, char **argv) {
  pipemesh::registerAllPasses();
  mlir::DialectRegistry registry;
  pipemesh::registerAllDialects(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "Pipemesh's pass driver: runs passes on IR text and prints the result\n\n"
      "Examples:\n"
      "  pmopt --canonicalize model.mlir\n"
      "  pmopt --verify-roundtrip model.mlir -o /dev/null\n",
      registry);
  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = pipemesh::openText(input, error);
  if (!buffer) {
    llvm::errs() << error << "\n";
    return 1;
  }
  std::unique_ptr<llvm::ToolOutputFile> file =
      mlir::openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return 1;
  }
  if (failed(
          mlir::MlirOptMain(file->os(), std::move(buffer), registry, config)))
    return 1;
  file->keep();
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  return run(argc, argv);
}
