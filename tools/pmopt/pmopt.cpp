// pmopt: reads IR text, runs passes on it and writes it back.
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "pipemesh/InitAll.h"

int main(int argc, char **argv) {
  pipemesh::registerAllPasses();
  mlir::DialectRegistry registry;
  pipemesh::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Pipemesh's pass driver\n", registry));
}
