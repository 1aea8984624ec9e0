//===- Passes.h - passes of the precision phase -----------------*- C++ -*-===//

#ifndef PIPEMESH_PRECISION_PASSES_H
#define PIPEMESH_PRECISION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Precision/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Precision/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_PRECISION_PASSES_H
