//===- VerifyKernels.cpp - pm-verify-kernels ------------------------------===//

#include "GemmLayout.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
struct VerifyKernels : pipemesh::impl::VerifyKernelsBase<VerifyKernels> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(pm::kFragmentAttr))
        continue;
      for (Operation &op : function.getBody().front())
        if (failed(verify(op)))
          return signalPassFailure();
    }
  }

  static LogicalResult verify(Operation &op) {
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      return computeGemmLayout(dot)
                 ? success()
                 : op.emitOpError("is no batched matrix product over dense "
                                  "operands; run pm-prepare-gemms first");
    if (isa<pmrt::FusedOp, stablehlo::ReshapeOp, pm::AllReduceOp,
            pm::AllGatherOp, pm::ReduceScatterOp, pm::AllToAllOp,
            pm::CollectivePermuteOp, func::ReturnOp>(op))
      return success();
    return op.emitOpError("may not stand in a fragment of the kernel level; run "
                          "pm-fuse-kernels");
  }
};
} // namespace
