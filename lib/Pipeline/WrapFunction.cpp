//===- WrapFunction.cpp - a whole function as a program -------------------===//

#include "Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_WRAPFUNCTIONPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

/// Where JAX says which leaf of a function's result a value is.
static constexpr llvm::StringLiteral kResultInfoAttr = "jax.result_info";

namespace {
class WrapFunction
    : public pipemesh::impl::WrapFunctionPassBase<WrapFunction> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    pm::MeshOp mesh = pm::lookupMesh(module);
    if (!mesh) {
      module.emitError("the module has no mesh; run pm-apply-strategy, or add a "
                       "pm.mesh");
      return signalPassFailure();
    }
    if (failed(checkMesh(mesh)))
      return signalPassFailure();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1 || functions[0].isExternal() ||
        !functions[0].getBody().hasOneBlock()) {
      module.emitError("a program is made of one function with one block, but "
                       "the module has ")
          << functions.size()
          << (functions.size() == 1 ? " function that is none" : " functions");
      return signalPassFailure();
    }
    if (failed(checkValues(functions[0])))
      return signalPassFailure();
    wrap(functions[0], mesh);
  }

private:
  /// Without phases there is nothing to run for each micro-batch or stage.
  LogicalResult checkMesh(pm::MeshOp mesh) {
    for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
      if (axis.getKind() != pm::AxisKind::Spatial && axis.getSize() > 1)
        return mesh.emitError("has the ")
               << pm::stringifyAxisKind(axis.getKind()) << " axis '"
               << axis.getName().getValue() << "' of size " << axis.getSize()
               << ", but a whole function runs on spatial axes only; micro-batches "
                  "and stages are for steps that pm-differentiate made";
    return success();
  }

  LogicalResult checkValues(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments()) {
      if (function.getArgAttr(arg.getArgNumber(), pm::kStateAttr))
        return function.emitError("argument ")
               << arg.getArgNumber()
               << " is a state; a step is cut by pm-split-stages";
      if (!pm::getSharding(arg))
        return function.emitError("argument ")
               << arg.getArgNumber() << " has no sharding; run pm-propagate";
    }
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands()) {
      pm::ShardingAttr sharding = pm::getSharding(result.get());
      if (!sharding)
        return function.emitError("result ")
               << result.getOperandNumber()
               << " has no sharding; run pm-propagate";
      if (sharding.isPartial())
        return function.emitError("result ")
               << result.getOperandNumber() << " is " << sharding
               << "; what a function returns must not be partial";
    }
    return success();
  }

  void wrap(func::FuncOp function, pm::MeshOp mesh) {
    OpBuilder builder(function);
    builder.setInsertionPointAfter(function);
    auto program = pm::ProgramOp::create(builder, function.getLoc(), "step",
                                         mesh.getSymName());
    program.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(&program.getBody().front());
    auto makeBuffer = [&](StringRef prefix, unsigned index, Value value,
                          pm::BufferKind kind, StringRef role,
                          StringAttr info) -> DictionaryAttr {
      auto buffer = pm::BufferOp::create(
          builder, value.getLoc(),
          builder.getStringAttr(prefix + Twine(index)),
          pm::BufferKindAttr::get(&getContext(), kind),
          TypeAttr::get(value.getType()), pm::getSharding(value), TypeAttr(),
          builder.getStringAttr(role), StringAttr());
      if (info)
        buffer->setAttr(pm::kNameAttr, info);
      return builder.getDictionaryAttr(
          {builder.getNamedAttr(
               pm::kBufferAttr,
               FlatSymbolRefAttr::get(buffer.getSymNameAttr())),
           builder.getNamedAttr(pm::kShardingAttr, pm::getSharding(value))});
    };
    SmallVector<DictionaryAttr> argAttrs, resultAttrs;
    for (BlockArgument arg : function.getArguments()) {
      StringRef name = pm::getModelName(arg.getLoc());
      auto info = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(),
                                                        pm::kInputAttr);
      if (!info && !name.empty())
        info = builder.getStringAttr(name);
      argAttrs.push_back(makeBuffer("arg", arg.getArgNumber(), arg,
                                    pm::BufferKind::Input, "argument", info));
    }
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands()) {
      unsigned index = result.getOperandNumber();
      auto info = function.getResultAttrOfType<StringAttr>(index,
                                                           kResultInfoAttr);
      if (!info)
        info = function.getResultAttrOfType<StringAttr>(index, pm::kOutputAttr);
      resultAttrs.push_back(makeBuffer("out", index, result.get(),
                                       pm::BufferKind::Output, "result", info));
    }
    pm::RoleOp::create(builder, function.getLoc(), 0).getBody().emplaceBlock();
    function.setAllArgAttrs(argAttrs);
    function.setAllResultAttrs(resultAttrs);
    function.setName("stage0_forward");
    function.setVisibility(SymbolTable::Visibility::Public);
    function->setAttr(
        pm::kFragmentAttr,
        pm::FragmentAttr::get(&getContext(), pm::FragmentKind::Forward, 0));
  }
};
} // namespace
