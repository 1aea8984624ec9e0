//===- ShardedWork.cpp ----------------------------------------------------===//

#include "ShardedWork.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Interfaces/Interfaces.h"
#include "pipemesh/Lower/TripCount.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

/// Ops of so many kinds are named where they are not divided.
static constexpr size_t kMostNamed = 5;

namespace {
struct AxisWork {
  int64_t ops = 0;
  double flops = 0;
  std::map<std::string, double> whole;
};

class Measure {
public:
  explicit Measure(pm::MeshOp mesh) : mesh(mesh) {
    for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
      if (axis.getKind() == pm::AxisKind::Spatial && axis.getSize() > 1) {
        names.push_back(axis.getName());
        axes.emplace_back();
      }
  }

  void visit(Block &block, double times) {
    for (Operation &op : block) {
      if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)) {
        auto loop = dyn_cast<stablehlo::WhileOp>(op);
        double inside =
            times * (loop ? countTrips(loop).value_or(1) : int64_t(1));
        for (Region &region : op.getRegions())
          visit(region.front(), inside);
      } else if (auto manual = dyn_cast<pm::ManualComputationOp>(op)) {
        visitManual(manual, times);
      } else {
        add(op, times);
      }
    }
  }

  json::Array get() const;

private:
  /// Each rank of the manual axes runs the body on its own part.
  void visitManual(pm::ManualComputationOp op, double times) {
    llvm::StringSet<> outer = manual;
    for (auto axis : op.getManualAxes().getAsRange<StringAttr>()) {
      manual.insert(axis.getValue());
      times *= mesh.lookupAxis(axis.getValue()).getSize();
    }
    visit(op.getBody().front(), times);
    manual = std::move(outer);
  }

  static bool counts(Operation &op) {
    if (op.hasTrait<OpTrait::IsTerminator>() || op.getNumResults() == 0 ||
        isa<stablehlo::ConstantOp, pm::ReshardOp, pm::ConstrainOp>(op))
      return false;
    auto isLarge = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.hasStaticShape() && type.getNumElements() > 1;
    };
    return llvm::any_of(op.getOperands(), isLarge) ||
           llvm::any_of(op.getResults(), isLarge);
  }

  void add(Operation &op, double times) {
    if (!counts(op))
      return;
    double cost = times * static_cast<double>(getOpCost(&op).flops);
    ++ops;
    flops += cost;
    for (size_t i = 0; i < axes.size(); ++i) {
      auto isCut = [&](Value value) {
        pm::ShardingAttr sharding = pm::getSharding(value);
        return sharding && sharding.shardsAxis(names[i].getValue());
      };
      if (manual.contains(names[i].getValue()) ||
          llvm::any_of(op.getOperands(), isCut) ||
          llvm::any_of(op.getResults(), isCut)) {
        ++axes[i].ops;
        axes[i].flops += cost;
      } else {
        axes[i].whole[op.getName().getStringRef().str()] += cost;
      }
    }
  }

  pm::MeshOp mesh;
  llvm::StringSet<> manual; ///< axes of the computations around
  SmallVector<StringAttr> names;
  std::vector<AxisWork> axes;
  int64_t ops = 0;
  double flops = 0;
};
} // namespace

json::Array Measure::get() const {
  json::Array list;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::vector<std::pair<double, std::string>> order;
    for (auto &[name, cost] : axes[i].whole)
      if (cost > 0)
        order.push_back({-cost, name});
    llvm::sort(order);
    json::Array whole;
    for (size_t n = 0; n < std::min(order.size(), kMostNamed); ++n)
      whole.push_back(json::Object{{"op", order[n].second},
                                   {"flops", -order[n].first}});
    list.push_back(json::Object{
        {"axis", names[i].getValue()},
        {"ops", ops ? static_cast<double>(axes[i].ops) / ops : 1.0},
        {"flops", flops > 0 ? axes[i].flops / flops : 1.0},
        {"whole", std::move(whole)}});
  }
  return list;
}

json::Array pipemesh::measureShardedWork(ModuleOp module) {
  pm::MeshOp mesh = pm::lookupMesh(module);
  if (!mesh)
    return {};
  Measure measure(mesh);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      for (Block &block : function.getBody())
        measure.visit(block, 1);
  return measure.get();
}
