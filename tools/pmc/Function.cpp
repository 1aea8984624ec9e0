//===- Function.cpp -------------------------------------------------------===//

#include "Function.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Shard/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pipemesh;

/// Sets the sharding that one `NAME=DIM,DIM...` describes.
static LogicalResult annotate(func::FuncOp function, pm::MeshOp mesh,
                              StringRef text) {
  auto [name, list] = text.split('=');
  unsigned index;
  StringRef number = name;
  bool isArgument = number.consume_front("arg");
  if ((!isArgument && !number.consume_front("out")) ||
      number.getAsInteger(10, index) ||
      index >= (isArgument ? function.getNumArguments()
                           : function.getNumResults()))
    return function.emitError("--sharding: '")
           << name << "' is no argument or result; they are arg0 to arg"
           << int64_t(function.getNumArguments()) - 1 << " and out0 to out"
           << int64_t(function.getNumResults()) - 1;
  auto type = dyn_cast<RankedTensorType>(
      isArgument ? function.getArgumentTypes()[index]
                 : function.getResultTypes()[index]);
  SmallVector<StringRef> parts;
  if (!list.empty())
    list.split(parts, ',');
  if (!type || static_cast<int64_t>(parts.size()) != type.getRank())
    return function.emitError("--sharding: '")
           << text << "' has " << parts.size() << " dimensions, but " << name
           << " is a "
           << (isArgument ? function.getArgumentTypes()[index]
                          : function.getResultTypes()[index]);
  MLIRContext *context = function.getContext();
  SmallVector<pm::DimShardingAttr> dims;
  for (StringRef part : parts) {
    SmallVector<StringRef> names;
    SmallVector<StringAttr> axes;
    if (part != "-")
      part.split(names, '+');
    for (StringRef axis : names) {
      // A part of an axis names the axis first.
      if (!mesh.lookupAxis(axis.split(':').first))
        return function.emitError("--sharding: '")
               << text << "' names the axis '" << axis
               << "', which the mesh does not have";
      axes.push_back(StringAttr::get(context, axis));
    }
    dims.push_back(pm::DimShardingAttr::get(context, axes));
  }
  auto sharding = pm::ShardingAttr::get(
      context, FlatSymbolRefAttr::get(mesh.getSymNameAttr()), dims);
  if (isArgument)
    function.setArgAttr(index, pm::kShardingAttr, sharding);
  else
    function.setResultAttr(index, pm::kShardingAttr, sharding);
  return success();
}

static LogicalResult runPass(ModuleOp module, StringRef name) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  return failure(failed(parsePassPipeline(name, manager)) ||
                 failed(manager.run(module)));
}

LogicalResult pipemesh::prepareFunction(ModuleOp module, StringRef strategy,
                                        ArrayRef<std::string> shardings) {
  MLIRContext *context = module.getContext();
  if (failed(runPass(module, "pm-import-stablehlo")))
    return failure();
  if (!pm::lookupMesh(module) || !strategy.empty()) {
    PassManager mesh(context, ModuleOp::getOperationName());
    ApplyStrategyPassOptions options;
    options.strategy = strategy.str();
    mesh.addPass(createApplyStrategyPass(options));
    if (failed(mesh.run(module)))
      return failure();
  }
  for (const std::string &text : shardings) {
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1)
      return module.emitError("--sharding needs a module of one function, but "
                              "this has ")
             << functions.size();
    if (failed(annotate(functions[0], pm::lookupMesh(module), text)))
      return failure();
  }
  if (failed(runPass(module, "pm-refine-mesh")))
    return failure();
  module->setAttr("pm.task", StringAttr::get(context, "function"));
  return success();
}
