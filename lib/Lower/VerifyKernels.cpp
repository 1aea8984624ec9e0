//===- VerifyKernels.cpp - pm-verify-kernels ------------------------------===//

#include "ControlFlow.h"
#include "GemmLayout.h"
#include "UniformConditions.h"
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
      if (failed(verifyBlock(function.getBody().front())) ||
          failed(verifyUniformConditions(function)))
        return signalPassFailure();
    }
  }

  static LogicalResult verifyBlock(Block &block) {
    for (Operation &op : block) {
      if (isControlFlow(&op)) {
        for (Region &region : op.getRegions())
          if (failed(verifyBlock(region.front())))
            return failure();
      } else if (failed(verify(op))) {
        return failure();
      }
    }
    return success();
  }

  static LogicalResult verify(Operation &op) {
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
    auto product = dyn_cast<pmrt::ProductOp>(op);
    if (dot || product)
      return (dot ? computeGemmLayout(dot) : computeGemmLayout(product))
                 ? success()
                 : op.emitOpError("is no batched matrix product over dense "
                                  "operands; run pm-prepare-gemms first");
    if (isa<pmrt::FusedOp, stablehlo::ReshapeOp, pm::AllReduceOp,
            pm::AllGatherOp, pm::ReduceScatterOp, pm::AllToAllOp,
            pm::CollectivePermuteOp, func::ReturnOp, stablehlo::ReturnOp>(op))
      return success();
    return op.emitOpError("may not stand in a fragment of the kernel level; run "
                          "pm-fuse-kernels");
  }
};
} // namespace
