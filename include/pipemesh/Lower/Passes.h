//===- Passes.h - lowering to the runtime program ---------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_PASSES_H
#define PIPEMESH_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir::func {
class FuncOp;
}

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Lower/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Lower/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_LOWER_PASSES_H
