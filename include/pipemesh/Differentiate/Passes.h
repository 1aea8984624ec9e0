//===- Passes.h - passes of the differentiation phase -----------*- C++ -*-===//

#ifndef PIPEMESH_DIFFERENTIATE_PASSES_H
#define PIPEMESH_DIFFERENTIATE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Differentiate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Differentiate/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_DIFFERENTIATE_PASSES_H
