//===- KernelTable.h - equal kernels are one --------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_KERNELTABLE_H
#define PIPEMESH_LIB_LOWER_KERNELTABLE_H

#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/KernelSignature.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace pipemesh {

/// The private functions that hold the distinct kernels of a module, whatever
/// role calls them.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// The function of a kernel equal to `fused`, made when it is the first.
  mlir::FlatSymbolRefAttr getOrCreate(pmrt::FusedOp fused);

private:
  mlir::FlatSymbolRefAttr create(pmrt::FusedOp fused);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  std::map<KernelSignature, mlir::FlatSymbolRefAttr> known;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_KERNELTABLE_H
