//===- Passes.h - forming kernels -------------------------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_KERNELS_PASSES_H
#define PIPEMESH_LOWER_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pipemesh/Lower/Kernels/Passes.h.inc"

} // namespace pipemesh

#endif // PIPEMESH_LOWER_KERNELS_PASSES_H
