//===- TidyGraph.cpp ------------------------------------------------------===//

#include "TidyGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

void pipemesh::tidyGraph(func::FuncOp function) {
  auto dropUnused = [&] {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  };
  // Dead ops first: fewer to compare.
  dropUnused();
  DominanceInfo dominance(function);
  IRRewriter rewriter(function.getContext());
  eliminateCommonSubExpressions(rewriter, dominance, function);
  dropUnused();
}
