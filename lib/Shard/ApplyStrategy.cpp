//===- ApplyStrategy.cpp - the mesh and annotations of a strategy ---------===//

#include "FunctionAttrs.h"
#include "Strategy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Shard/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace pipemesh {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class ApplyStrategy
    : public pipemesh::impl::ApplyStrategyPassBase<ApplyStrategy> {
public:
  using ApplyStrategyPassBase::ApplyStrategyPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string error;
    FailureOr<Strategy> parsed = parseStrategy(strategy, error);
    if (failed(parsed)) {
      module.emitError(error);
      return signalPassFailure();
    }
    if (pm::MeshOp mesh = pm::lookupMesh(module)) {
      module.emitError("the module already has the mesh '")
          << mesh.getSymName()
          << "'; a strategy is applied once, to a graph without a mesh";
      return signalPassFailure();
    }
    if (failed(checkBatch(*parsed)))
      return signalPassFailure();
    makeMesh(*parsed);
    for (auto function : module.getOps<func::FuncOp>())
      annotate(function);
  }

private:
  /// Calls `visit` with each argument that has a batch dimension: a run-time
  /// input with a dimension at all. Scalars, such as rates, have none.
  static void forEachBatchInput(
      func::FuncOp function,
      llvm::function_ref<void(unsigned, RankedTensorType)> visit) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      if (!function.getArgAttr(index, pm::kInputAttr))
        continue;
      auto type =
          dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
      if (type && type.getRank() > 0)
        visit(index, type);
    }
  }

  LogicalResult checkBatch(const Strategy &strategy) {
    int64_t dp = strategy.sizeOf("dp"), mb = strategy.sizeOf("mb");
    WalkResult result = getOperation().walk([&](func::FuncOp function) {
      bool ok = true;
      forEachBatchInput(function, [&](unsigned index, RankedTensorType type) {
        int64_t batch = type.getDimSize(0);
        if (!ok || batch % (dp * mb) == 0)
          return;
        ok = false;
        std::string divisors;
        for (int64_t size = 1; size <= batch; ++size)
          if (batch % size == 0)
            divisors += (divisors.empty() ? "" : ", ") + llvm::itostr(size);
        auto name =
            function.getArgAttrOfType<StringAttr>(index, pm::kInputAttr);
        function.emitError("the batch of ")
            << batch << " in '" << name.getValue()
            << "' does not divide into dp=" << dp << " times mb=" << mb << " = "
            << dp * mb << " equal parts; dp times mb can be " << divisors;
      });
      return ok ? WalkResult::advance() : WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void makeMesh(const Strategy &strategy) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    SmallVector<Attribute> axes;
    auto add = [&](StringRef name, pm::AxisKind kind) {
      axes.push_back(pm::MeshAxisAttr::get(&getContext(),
                                           builder.getStringAttr(name), kind,
                                           strategy.sizeOf(name)));
    };
    add("dp", pm::AxisKind::Spatial);
    add("mb", pm::AxisKind::Temporal);
    pm::MeshOp::create(builder, getOperation().getLoc(),
                       builder.getStringAttr("mesh"),
                       builder.getArrayAttr(axes));
  }

  void annotate(func::FuncOp function) {
    MLIRContext *context = &getContext();
    auto mesh = FlatSymbolRefAttr::get(context, "mesh");
    SmallVector<Attribute> shardings(function.getNumArguments());
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto type =
          dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
      if (type && function.getArgAttr(index, pm::kStateAttr))
        shardings[index] =
            pm::ShardingAttr::getReplicated(context, mesh, type.getRank());
    }
    forEachBatchInput(function, [&](unsigned index, RankedTensorType type) {
      SmallVector<pm::DimShardingAttr> dims(type.getRank(),
                                            pm::DimShardingAttr::get(context));
      dims[0] =
          pm::DimShardingAttr::get(context, {StringAttr::get(context, "dp"),
                                             StringAttr::get(context, "mb")});
      shardings[index] = pm::ShardingAttr::get(context, mesh, dims);
    });
    setArgAttrs(function, pm::kShardingAttr, shardings);
  }
};
} // namespace
