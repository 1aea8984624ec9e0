//===- KernelTable.cpp ----------------------------------------------------===//

#include "KernelTable.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pipemesh;

FlatSymbolRefAttr KernelTable::getOrCreate(pmrt::FusedOp fused) {
  FlatSymbolRefAttr &entry =
      known[KernelSignature(fused.getBody().front(), fused.getInPlace())];
  if (!entry)
    entry = create(fused);
  return entry;
}

FlatSymbolRefAttr KernelTable::create(pmrt::FusedOp fused) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = builder.getFunctionType(fused->getOperandTypes(),
                                      fused->getResultTypes());
  auto function = func::FuncOp::create(
      builder, fused.getLoc(), "kernel_" + std::to_string(known.size() - 1),
      type);
  function.setPrivate();
  function->setAttr("pmrt.kernel", builder.getUnitAttr());
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(fused.getInputs(), block->getArguments());
  Operation *copy = builder.clone(*fused, mapping);
  copy->walk([](Operation *op) {
    op->removeAttr(pm::kShardingsAttr);
    op->removeAttr(pm::kPhaseAttr);
  });
  func::ReturnOp::create(builder, fused.getLoc(), copy->getResults());
  symbols.insert(function);
  return FlatSymbolRefAttr::get(function);
}
