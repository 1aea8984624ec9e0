//===- Passes.h - import of StableHLO text ----------------------*- C++ -*-===//

#ifndef PIPEMESH_IMPORT_PASSES_H
#define PIPEMESH_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Import/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_PASSES_H
