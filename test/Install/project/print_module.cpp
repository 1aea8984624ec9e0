// Parses a module of StableHLO and pm ops from a file and prints it: the least
// that shows an installed Pipemesh works in another project.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: print-module FILE\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect,
                  pipemesh::stablehlo::StableHLODialect,
                  pipemesh::pm::PMDialect>();
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  module->print(llvm::outs());
  return 0;
}
