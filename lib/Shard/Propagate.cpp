//===- Propagate.cpp - a sharding for every value -------------------------===//

#include "Propagate/Alternatives.h"
#include "Propagate/Settle.h"
#include "RefineMesh.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

/// Propagates in one function. Where ops would use parts of an axis, these are
/// added to `parts`, and nothing is written.
static LogicalResult propagate(func::FuncOp function, CutTable &cuts,
                               MeshRefinement &parts) {
  std::vector<Wish> wishes = findWishes(function, cuts);
  RuleTable rules;
  Graph graph(function, cuts, rules);
  if (failed(graph.build()))
    return failure();
  Sweep sweep(graph, wishes);
  sweep.run();
  for (const AxisSplit &split : sweep.findSplits())
    parts.split(cuts.mesh().all()[split.axis], split.major);
  if (!parts.empty())
    return success();
  PartialPlan plan(graph, sweep);
  plan.solve();
  return Settle(graph, sweep, plan).run();
}

namespace {
class Propagate : public pipemesh::impl::PropagatePassBase<Propagate> {
public:
  void runOnOperation() override {
    // Each round splits an axis.
    for (bool again = true; again;) {
      pm::MeshOp meshOp = pm::lookupMesh(getOperation());
      if (!meshOp) {
        getOperation().emitError(
            "the module has no mesh; run pm-apply-strategy, or add a pm.mesh");
        return signalPassFailure();
      }
      MeshAxes mesh(meshOp);
      CutTable cuts(mesh);
      MeshRefinement parts(meshOp);
      again = false;
      for (auto function : getOperation().getOps<func::FuncOp>()) {
        if (function.isExternal())
          continue;
        if (failed(propagate(function, cuts, parts)))
          return signalPassFailure();
        if (!parts.empty()) {
          parts.apply(getOperation());
          again = true;
          break;
        }
      }
    }
  }
};
} // namespace
