//===- TidyGraph.h - merges equal ops and drops unused ones -----*- C++ -*-===//

#ifndef PIPEMESH_LIB_DIFFERENTIATE_TIDYGRAPH_H
#define PIPEMESH_LIB_DIFFERENTIATE_TIDYGRAPH_H

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace pipemesh {

/// Merges equal ops of a function of one block, where the first of them stays,
/// and drops what no result depends on. No op is created.
void tidyGraph(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_LIB_DIFFERENTIATE_TIDYGRAPH_H
