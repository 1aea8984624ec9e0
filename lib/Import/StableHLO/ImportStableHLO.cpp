//===- ImportStableHLO.cpp - modules that JAX prints, as model graphs -----===//

#include "Collectives.h"
#include "CustomCalls.h"
#include "InlineCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Import/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_IMPORTSTABLEHLOPASS
#include "pipemesh/Import/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
namespace shlo = pipemesh::stablehlo;

namespace {

/// Rewrites the ops and attributes of one module; calls are inlined before.
class Rewriter {
public:
  Rewriter(ModuleOp module, MeshMap &mesh) : module(module), mesh(mesh) {}
  LogicalResult run();

private:
  LogicalResult rewriteOp(Operation *op);
  LogicalResult rewriteFunction(func::FuncOp function);
  LogicalResult rewriteConstraint(sdy::ShardingConstraintOp constraint);
  LogicalResult rewriteManual(sdy::ManualComputationOp manual);
  LogicalResult rewriteResultShardings(Operation *op);
  FailureOr<ArrayAttr> rewriteValueAttributes(func::FuncOp function,
                                              ArrayAttr list, TypeRange types);
  FailureOr<SmallVector<StringAttr>> getManualAxes(Operation *op);
  FailureOr<SmallVector<StringAttr>> getAxes(sdy::ManualComputationOp manual);

  ModuleOp module;
  MeshMap &mesh;
};

} // namespace

/// Whether the op is in the body of a reduction, a sort or a scatter, whose values
/// are single elements.
static bool isInScalarRegion(Operation *op) {
  for (Operation *parent = op->getParentOp();
       parent && !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    if (!isa<shlo::WhileOp, shlo::IfOp, shlo::CaseOp, sdy::ManualComputationOp,
             pm::ManualComputationOp>(parent))
      return true;
  return false;
}

/// No axis, and no dimension that is closed: whatever the value's sharding is.
static bool saysNothing(pm::ShardingAttr sharding) {
  return !sharding || (!sharding.isPartial() &&
                       sharding.getReplicatedAxes().empty() &&
                       llvm::all_of(sharding.getDims(),
                                    [](pm::DimShardingAttr dim) {
                                      return dim.getOpen() &&
                                             dim.getAxes().empty();
                                    }));
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

LogicalResult
Rewriter::rewriteConstraint(sdy::ShardingConstraintOp constraint) {
  Value replacement = constraint.getInput();
  if (!isInScalarRegion(constraint)) {
    FailureOr<pm::ShardingAttr> sharding =
        mesh.convert(constraint.getLoc(), constraint.getSharding(),
                     constraint.getType());
    if (failed(sharding))
      return failure();
    if (!saysNothing(*sharding)) {
      OpBuilder builder(constraint);
      replacement = pm::ConstrainOp::create(builder, constraint.getLoc(),
                                            constraint.getType(), replacement,
                                            *sharding);
    }
  }
  constraint.getResult().replaceAllUsesWith(replacement);
  constraint.erase();
  return success();
}

/// `sdy.sharding` of an op becomes constraints of its results.
LogicalResult Rewriter::rewriteResultShardings(Operation *op) {
  Attribute attr = op->removeDiscardableAttr(sdy::kShardingAttr);
  if (!attr || op->getNumResults() == 0)
    return success();
  SmallVector<sdy::ShardingAttr> list;
  if (auto several = dyn_cast<sdy::ShardingPerValueAttr>(attr))
    llvm::append_range(list, several.getShardings());
  else if (auto one = dyn_cast<sdy::ShardingAttr>(attr))
    list.push_back(one);
  if (list.size() != op->getNumResults())
    return op->emitError() << "has " << op->getNumResults()
                           << " results and the shardings " << attr;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (auto [result, one] : llvm::zip(op->getResults(), list)) {
    FailureOr<pm::ShardingAttr> sharding =
        mesh.convert(op->getLoc(), one, result.getType());
    if (failed(sharding))
      return failure();
    if (saysNothing(*sharding))
      continue;
    auto constrained = pm::ConstrainOp::create(
        builder, op->getLoc(), result.getType(), result, *sharding);
    result.replaceAllUsesExcept(constrained, constrained);
  }
  return success();
}

FailureOr<ArrayAttr>
Rewriter::rewriteValueAttributes(func::FuncOp function, ArrayAttr list,
                                 TypeRange types) {
  if (!list)
    return list;
  SmallVector<Attribute> result;
  for (auto [attr, type] : llvm::zip(list, types)) {
    SmallVector<NamedAttribute> kept;
    for (NamedAttribute entry : cast<DictionaryAttr>(attr)) {
      if (entry.getName() != sdy::kShardingAttr) {
        if (entry.getName() != "mhlo.sharding")
          kept.push_back(entry);
        continue;
      }
      auto value = dyn_cast<sdy::ShardingAttr>(entry.getValue());
      if (!value)
        return function.emitError()
               << "has the sharding " << entry.getValue()
               << ", which is not one of sdy";
      FailureOr<pm::ShardingAttr> sharding =
          mesh.convert(function.getLoc(), value, type);
      if (failed(sharding))
        return failure();
      if (*sharding)
        kept.emplace_back(StringAttr::get(type.getContext(), pm::kShardingAttr),
                          *sharding);
    }
    result.push_back(DictionaryAttr::get(type.getContext(), kept));
  }
  return ArrayAttr::get(function.getContext(), result);
}

/// All attributes at once: a step may have thousands of arguments.
LogicalResult Rewriter::rewriteFunction(func::FuncOp function) {
  FailureOr<ArrayAttr> arguments = rewriteValueAttributes(
      function, function.getArgAttrsAttr(), function.getArgumentTypes());
  FailureOr<ArrayAttr> results = rewriteValueAttributes(
      function, function.getResAttrsAttr(), function.getResultTypes());
  if (failed(arguments) || failed(results))
    return failure();
  if (*arguments)
    function.setArgAttrsAttr(*arguments);
  if (*results)
    function.setResAttrsAttr(*results);
  return success();
}

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

/// The manual axes as axes of the one mesh. Those of a computation without
/// operands and results are of the module's.
FailureOr<SmallVector<StringAttr>>
Rewriter::getAxes(sdy::ManualComputationOp manual) {
  ArrayRef<sdy::ShardingAttr> in = manual.getInShardings().getShardings();
  ArrayRef<sdy::ShardingAttr> out = manual.getOutShardings().getShardings();
  Attribute name = !in.empty()    ? in.front().getMesh()
                   : !out.empty() ? out.front().getMesh()
                                  : Attribute(mesh.getName());
  if (mesh.empty() || !name) {
    if (manual.getManualAxes().empty())
      return SmallVector<StringAttr>();
    return manual.emitError()
           << "'" << manual->getName()
           << "' needs an sdy.mesh with axes, which the module lacks";
  }
  return mesh.convertAxes(manual.getLoc(), name, manual.getManualAxesAttr());
}

/// The manual axes of all computations around the op.
FailureOr<SmallVector<StringAttr>> Rewriter::getManualAxes(Operation *op) {
  SmallVector<StringAttr> names;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(parent)) {
      FailureOr<SmallVector<StringAttr>> axes = getAxes(manual);
      if (failed(axes))
        return failure();
      llvm::append_range(names, *axes);
    }
  return names;
}

/// Whether something inside depends on one of the axes.
static bool usesAxes(Region &body, ArrayRef<StringAttr> axes) {
  auto has = [&](Attribute attr) {
    bool found = false;
    attr.walk([&](StringAttr name) {
      found |= llvm::is_contained(axes, name);
    });
    return found;
  };
  return body
      .walk([&](Operation *op) {
        if (op->getName().getDialectNamespace() != "pm")
          return WalkResult::advance();
        return has(op->getAttrDictionary()) ? WalkResult::interrupt()
                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Rewriter::rewriteManual(sdy::ManualComputationOp manual) {
  FailureOr<SmallVector<StringAttr>> axes = getAxes(manual);
  if (failed(axes))
    return failure();
  OpBuilder builder(manual);
  bool cutsManual = false;
  auto convertAll = [&](sdy::ShardingPerValueAttr list, TypeRange types,
                        SmallVectorImpl<Attribute> &result) -> LogicalResult {
    for (auto [one, type] : llvm::zip(list.getShardings(), types)) {
      FailureOr<pm::ShardingAttr> sharding =
          mesh.convert(manual.getLoc(), one, type);
      if (failed(sharding))
        return failure();
      if (!*sharding)
        *sharding = pm::ShardingAttr::getReplicated(
            manual.getContext(), mesh.getName(),
            cast<RankedTensorType>(type).getRank());
      for (StringAttr axis : *axes)
        cutsManual |= (*sharding).shardsAxis(axis) ||
                      (*sharding).isPartialOver(axis);
      result.push_back(*sharding);
    }
    return success();
  };
  SmallVector<Attribute> in, out;
  if (!mesh.empty() &&
      (failed(convertAll(manual.getInShardings(), manual.getOperandTypes(),
                         in)) ||
       failed(convertAll(manual.getOutShardings(), manual.getResultTypes(),
                         out))))
    return failure();
  Block &block = manual.getBody().front();
  Operation *end = block.getTerminator();
  // Nothing of it is manual: the body stands for itself.
  bool sameTypes =
      block.getArgumentTypes() == manual.getOperandTypes() &&
      end->getOperandTypes() == manual.getResultTypes();
  if (!cutsManual && sameTypes && !usesAxes(manual.getBody(), *axes)) {
    auto constrain = [&](Value value, Attribute sharding) -> Value {
      auto attr = cast<pm::ShardingAttr>(sharding);
      if (saysNothing(attr) || attr.getDims().empty())
        return value;
      return pm::ConstrainOp::create(builder, manual.getLoc(), value.getType(),
                                     value, attr);
    };
    for (auto [i, argument] : llvm::enumerate(block.getArguments()))
      argument.replaceAllUsesWith(
          mesh.empty() ? manual.getOperand(i)
                       : constrain(manual.getOperand(i), in[i]));
    manual->getBlock()->getOperations().splice(
        manual->getIterator(), block.getOperations(), block.begin(),
        end->getIterator());
    for (auto [i, result] : llvm::enumerate(manual->getResults()))
      result.replaceAllUsesWith(mesh.empty()
                                    ? end->getOperand(i)
                                    : constrain(end->getOperand(i), out[i]));
    manual.erase();
    return success();
  }
  if (mesh.empty())
    return manual.emitError()
           << "'" << manual->getName()
           << "' needs an sdy.mesh with axes, which the module lacks";
  auto result = pm::ManualComputationOp::create(
      builder, manual.getLoc(), manual.getResultTypes(), manual.getInputs(),
      builder.getArrayAttr(in), builder.getArrayAttr(out),
      builder.getArrayAttr(SmallVector<Attribute>(axes->begin(), axes->end())),
      mesh.getName());
  result.getBody().takeBody(manual.getBody());
  builder.setInsertionPoint(end);
  pm::ReturnOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
  manual->replaceAllUsesWith(result->getResults());
  manual.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

LogicalResult Rewriter::rewriteOp(Operation *op) {
  if (op->getDiscardableAttr(sdy::kShardingAttr) &&
      failed(rewriteResultShardings(op)))
    return failure();
  if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
    return rewriteConstraint(constraint);
  if (auto group = dyn_cast<sdy::ShardingGroupOp>(op)) {
    if (!isInScalarRegion(group) && !mesh.empty()) {
      OpBuilder builder(group);
      pm::ShardingGroupOp::create(builder, group.getLoc(), group.getInput(),
                                  group.getGroupId());
    }
    group.erase();
    return success();
  }
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return rewriteManual(manual);
  if (isCollective(op)) {
    FailureOr<SmallVector<StringAttr>> axes = getManualAxes(op);
    if (failed(axes))
      return failure();
    return importCollective(op, mesh, *axes);
  }
  if (auto call = dyn_cast<shlo::CustomCallOp>(op))
    return importCustomCall(call, mesh);
  return success();
}

LogicalResult Rewriter::run() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (failed(rewriteFunction(function)))
      return failure();
    // Children first, and the list before any is erased: a rewrite removes its op
    // and ops around it that it has matched.
    SmallVector<Operation *> work;
    function.walk([&](Operation *op) {
      if (op != function.getOperation() &&
          (op->getDiscardableAttr(sdy::kShardingAttr) ||
           isa<sdy::SDYDialect>(op->getDialect()) || isCollective(op) ||
           isa<shlo::CustomCallOp>(op)))
        work.push_back(op);
    });
    for (Operation *op : work)
      if (!isa<sdy::ReturnOp>(op) && failed(rewriteOp(op)))
        return failure();
  }
  return success();
}

/// Programs of several replicas number their devices otherwise.
static LogicalResult checkReplicas(ModuleOp module) {
  auto replicas = module->getAttrOfType<IntegerAttr>("mhlo.num_replicas");
  if (replicas && replicas.getValue().getSExtValue() != 1)
    return module.emitError()
           << "has mhlo.num_replicas = " << replicas.getValue().getSExtValue()
           << "; export for partitions (jax.jit with shardings, not jax.pmap)";
  return success();
}

namespace {
struct ImportStableHLO
    : public pipemesh::impl::ImportStableHLOPassBase<ImportStableHLO> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkReplicas(module)) || failed(inlineCalls(module)) ||
        failed(addShardingsOfStrings(module)))
      return signalPassFailure();
    FailureOr<MeshMap> mesh = MeshMap::create(module);
    if (failed(mesh) || failed(Rewriter(module, *mesh).run()))
      return signalPassFailure();
    for (auto op : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>()))
      op.erase();
    mesh->build(module);
    for (StringRef name : {"mhlo.num_replicas", "mhlo.num_partitions"})
      module->removeDiscardableAttr(name);
  }
};
} // namespace
