//===- MaterializeAccumulation.cpp - pm-materialize-accumulation ----------===//

#include "ProgramBuffers.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pipemesh {
#define GEN_PASS_DEF_MATERIALIZEACCUMULATION
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

/// Whether the value is a matrix product that can add to the buffer itself.
static bool canAccumulate(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>()) {
    if (!value.hasOneUse())
      return false;
    value = reshape.getOperand();
  }
  auto dot = value.getDefiningOp<stablehlo::DotGeneralOp>();
  if (!dot || !value.hasOneUse())
    return false;
  dot->setAttr(kAccumulateAttr, UnitAttr::get(value.getContext()));
  return true;
}

/// The argument of `function` that is bound to the buffer, added when missing.
static Value getOrAddArgument(func::FuncOp function, FlatSymbolRefAttr buffer,
                              Type type) {
  for (BlockArgument arg : function.getArguments())
    if (function.getArgAttr(arg.getArgNumber(), pm::kBufferAttr) == buffer)
      return arg;
  unsigned index = function.getNumArguments();
  auto attrs = DictionaryAttr::get(
      function.getContext(),
      NamedAttribute(StringAttr::get(function.getContext(), pm::kBufferAttr),
                     buffer));
  (void)function.insertArgument(index, type, attrs, function.getLoc());
  return function.getArgument(index);
}

namespace {
struct MaterializeAccumulation
    : pipemesh::impl::MaterializeAccumulationBase<MaterializeAccumulation> {
  void runOnOperation() override {
    ProgramBuffers buffers(getOperation());
    if (failed(buffers.verify(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto fragment = function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
      if (!fragment || !fragment.isPerMicroBatch())
        continue;
      Operation *terminator = function.getBody().front().getTerminator();
      for (OpOperand &operand : terminator->getOpOperands()) {
        auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(
            operand.getOperandNumber(), pm::kBufferAttr);
        pm::BufferOp buffer = buffers.lookup(name);
        if (!buffer || !buffers.accumulates(buffer) ||
            canAccumulate(operand.get()))
          continue;
        Value old = getOrAddArgument(function, name, operand.get().getType());
        OpBuilder builder(terminator);
        TensorBuilder b(builder, operand.get().getLoc());
        operand.set(b.add(old, operand.get()));
      }
    }
  }
};
} // namespace
