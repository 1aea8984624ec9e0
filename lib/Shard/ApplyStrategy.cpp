//===- ApplyStrategy.cpp - the mesh and annotations of a strategy ---------===//

#include "FunctionAttrs.h"
#include "SequenceParallel.h"
#include "StagePlaces.h"
#include "Storage.h"
#include "Strategy.h"
#include "TensorParallel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Shard/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace pipemesh {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using llvm::StringLiteral;

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
    if (failed(checkBatch(*parsed)) || failed(findTensorCuts(*parsed)))
      return signalPassFailure();
    makeMesh(*parsed);
    if (failed(placeStages(module, strategy, *parsed)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      annotate(function, *parsed);
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

  /// Every rank and micro-batch gets equally many rows, the last ones fewer or
  /// none.
  LogicalResult checkBatch(const Strategy &strategy) {
    int64_t dp = strategy.sizeOf("dp"), mb = strategy.sizeOf("mb");
    WalkResult result = getOperation().walk([&](func::FuncOp function) {
      std::optional<int64_t> seen;
      bool ok = true;
      forEachBatchInput(function, [&](unsigned index, RankedTensorType type) {
        int64_t batch = type.getDimSize(0);
        if (!ok || seen == batch || batch == 0)
          return;
        seen = batch;
        StringRef name =
            function.getArgAttrOfType<StringAttr>(index, pm::kInputAttr)
                .getValue();
        if (batch < dp * mb) {
          ok = false;
          function.emitError("the batch of ")
              << batch << " in '" << name << "' has fewer rows than dp=" << dp
              << " times mb=" << mb << " = " << dp * mb
              << " parts; dp times mb can be 1 to " << batch;
        } else {
          warnOfEmptyParts(function, name, batch, dp, mb);
        }
      });
      return ok ? WalkResult::advance() : WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Tells where rounding up leaves the last ones nothing: of 9 rows over 8
  /// ranks, five have some.
  static void warnOfEmptyParts(func::FuncOp function, StringRef name,
                               int64_t batch, int64_t dp, int64_t mb) {
    int64_t rows = llvm::divideCeil(batch, dp * mb);
    int64_t ranks = llvm::divideCeil(batch, rows * mb);
    int64_t parts = llvm::divideCeil(batch, rows);
    if (ranks < dp)
      function.emitWarning("dp=")
          << dp << " leaves " << dp - ranks << " of " << dp
          << " ranks without a row of the batch of " << batch << " in '" << name
          << "', since " << (mb == 1 ? "each" : "each micro-batch")
          << " takes " << rows;
    else if (parts < mb)
      function.emitWarning("mb=")
          << mb << " leaves " << mb - parts << " of " << mb
          << " micro-batches without a row of the batch of " << batch
          << " in '" << name << "', since each takes " << rows;
  }

  /// Finds what tp cuts in each function, or says which size would do.
  LogicalResult findTensorCuts(const Strategy &strategy) {
    tp = strategy.sizeOf("tp");
    if (tp == 1)
      return success();
    bool any = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock())
        continue;
      TensorParallelism &found = tensorCuts[function] =
          findTensorParallelism(function);
      if (failed(found.check(tp)))
        return failure();
      if (int64_t size = found.keyAxisSize(tp)) {
        if (keyAxis != 0 && keyAxis != size)
          return function.emitError("tp=")
                 << tp << " is a multiple of the " << size
                 << " key-value heads of this function and of the " << keyAxis
                 << " of another one, which one axis cannot cut";
        keyAxis = size;
      }
      for (const WholeAttention &whole : found.whole)
        whole.op->emitRemark("tp=")
            << tp << " leaves this attention whole: its heads come from "
            << whole.reason;
      warnOfIdleRanks(found);
      any |= llvm::any_of(found.groups, [&](const CutGroup &group) {
        return group.isCutOver(tp);
      });
    }
    if (!any)
      getOperation().emitWarning("tp=")
          << tp
          << " finds nothing to cut: no attention, no pair of products with "
             "parameters, no embedding and no loss over a vocabulary; "
             "everything is replicated over tp";
    return success();
  }

  /// Tells once where ranks get no piece of an attention.
  void warnOfIdleRanks(const TensorParallelism &found) {
    for (const CutGroup &group : found.groups) {
      if (group.keyHeads == 0 || !group.isUneven(tp))
        continue;
      int64_t share = llvm::divideCeil(group.units(), tp);
      int64_t busy = llvm::divideCeil(group.units(), share);
      if (busy == tp)
        continue;
      group.anchor->emitWarning("tp=")
          << tp << " leaves " << tp - busy << " of " << tp
          << " ranks without a part of this attention, whose " << group.units()
          << (group.keyHeads > 1 ? " key-value heads" : " query heads")
          << " stay whole";
      return;
    }
  }

  void makeMesh(const Strategy &strategy) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    SmallVector<Attribute> axes;
    auto add = [&](StringRef name, pm::AxisKind kind, int64_t size) {
      axes.push_back(pm::MeshAxisAttr::get(
          &getContext(), builder.getStringAttr(name), kind, size));
    };
    if (!strategy.has("dp"))
      add("dp", pm::AxisKind::Spatial, 1);
    for (const StrategyAxis &axis : strategy.axes) {
      if (axis.name == "tp" && keyAxis != 0) {
        add(keyAxisName, pm::AxisKind::Spatial, keyAxis);
        add(groupAxisName, pm::AxisKind::Spatial, tp / keyAxis);
      } else if (axis.name != "mb") {
        add(axis.name,
            axis.name == "pp" ? pm::AxisKind::Stage : pm::AxisKind::Spatial,
            axis.size);
      }
    }
    add("mb", pm::AxisKind::Temporal, strategy.sizeOf("mb"));
    pm::MeshOp::create(builder, getOperation().getLoc(),
                       builder.getStringAttr("mesh"),
                       builder.getArrayAttr(axes));
  }

  /// The axes that cut a parameter, in blocks of the given size where that is
  /// not the ceiling of the division (0).
  pm::DimShardingAttr getTensorAxes(bool ofKeyHeads, int64_t block = 0) {
    auto axis = [&](StringRef name) {
      return StringAttr::get(&getContext(), name);
    };
    SmallVector<StringAttr> axes;
    if (keyAxis == 0)
      axes = {axis("tp")};
    else if (ofKeyHeads)
      axes = {axis(keyAxisName)};
    else
      axes = {axis(keyAxisName), axis(groupAxisName)};
    return pm::DimShardingAttr::get(&getContext(), axes, /*open=*/false,
                                    /*priority=*/0, block);
  }

  /// The shardings of parameters by their names: what tp cuts.
  llvm::StringMap<pm::ShardingAttr> getTensorShardings(func::FuncOp function) {
    auto mesh = FlatSymbolRefAttr::get(&getContext(), "mesh");
    llvm::StringMap<pm::ShardingAttr> shardings;
    auto found = tensorCuts.find(function);
    if (found == tensorCuts.end())
      return shardings;
    for (const CutGroup &group : found->second.groups) {
      if (!group.isCutOver(tp))
        continue;
      for (const ParameterCut &cut : group.cuts) {
        auto type = cast<RankedTensorType>(cut.parameter.getType());
        SmallVector<pm::DimShardingAttr> dims(
            type.getRank(), pm::DimShardingAttr::get(&getContext()));
        // Where tp divides the key-value heads they need no axis of their own.
        bool shared = cut.ofKeyHeads && group.sharesKeyHeads(tp);
        int64_t size = type.getDimSize(cut.dim);
        int64_t block = shared ? 0 : group.blockSize(size, tp);
        bool isCeiling = block == 0 || block == (size + tp - 1) / tp;
        dims[cut.dim] = getTensorAxes(shared, isCeiling ? 0 : block);
        auto state = function.getArgAttrOfType<pm::StateAttr>(
            cut.parameter.getArgNumber(), pm::kStateAttr);
        shardings.try_emplace(state.getName().getValue(),
                              pm::ShardingAttr::get(&getContext(), mesh, dims));
      }
    }
    return shardings;
  }

  /// Cuts the sequence over tp where the residual stream is normalised.
  void annotateSequence(func::FuncOp function) {
    MLIRContext *context = &getContext();
    auto mesh = FlatSymbolRefAttr::get(context, "mesh");
    auto axis = [&](StringRef name) { return StringAttr::get(context, name); };
    auto batch = pm::DimShardingAttr::get(context, {axis("dp"), axis("mb")});
    auto none = pm::DimShardingAttr::get(context);
    auto whole = pm::ShardingAttr::get(context, mesh, {batch, none, none});
    auto pieces = pm::ShardingAttr::get(
        context, mesh, {batch, getTensorAxes(/*ofKeyHeads=*/false), none});
    if (cutSequence(function, pieces, whole) == 0)
      function.emitWarning("sp=1 finds no norm over [batch, sequence, hidden]; "
                           "the sequence stays whole");
  }

  /// Annotates the arguments, and the gradients as their parameters.
  void annotate(func::FuncOp function, const Strategy &strategy) {
    MLIRContext *context = &getContext();
    auto mesh = FlatSymbolRefAttr::get(context, "mesh");
    llvm::StringMap<pm::ShardingAttr> cut = getTensorShardings(function);
    SmallVector<Attribute> shardings(function.getNumArguments());
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto type =
          dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
      auto state =
          function.getArgAttrOfType<pm::StateAttr>(index, pm::kStateAttr);
      if (!type || !state)
        continue;
      shardings[index] =
          pm::ShardingAttr::getReplicated(context, mesh, type.getRank());
      if (state.getKind() != pm::StateKind::Step)
        if (pm::ShardingAttr own = cut.lookup(state.getName().getValue()))
          shardings[index] = own;
    }
    forEachBatchInput(function, [&](unsigned index, RankedTensorType type) {
      SmallVector<pm::DimShardingAttr> dims(type.getRank(),
                                            pm::DimShardingAttr::get(context));
      dims[0] =
          pm::DimShardingAttr::get(context, {StringAttr::get(context, "dp"),
                                             StringAttr::get(context, "mb")});
      shardings[index] = pm::ShardingAttr::get(context, mesh, dims);
    });
    SmallVector<Attribute> gradients(function.getNumResults());
    for (unsigned index = 0; index < function.getNumResults(); ++index) {
      auto output =
          function.getResultAttrOfType<StringAttr>(index, pm::kOutputAttr);
      auto parameter =
          function.getResultAttrOfType<StringAttr>(index, pm::kNameAttr);
      if (output && output.getValue() == "gradient" && parameter)
        gradients[index] = cut.lookup(parameter.getValue());
    }
    if (!function.isExternal() && function.getBody().hasOneBlock()) {
      if (strategy.sequenceParallel && tp > 1)
        annotateSequence(function);
      cutState(function, strategy.zero, pm::lookupMesh(function), shardings,
               gradients);
    }
    setArgAttrs(function, pm::kShardingAttr, shardings);
    setResultAttrs(function, pm::kShardingAttr, gradients);
  }

  static constexpr StringLiteral keyAxisName = "tp.kv";
  static constexpr StringLiteral groupAxisName = "tp.group";

  int64_t tp = 1;
  /// The size of "tp.kv", or 0: tp is one axis.
  int64_t keyAxis = 0;
  llvm::DenseMap<Operation *, TensorParallelism> tensorCuts;
};
} // namespace
