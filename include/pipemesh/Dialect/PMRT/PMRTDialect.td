//===- PMRTDialect.td - the pmrt dialect --------------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTDIALECT_TD
#define PIPEMESH_DIALECT_PMRT_PMRTDIALECT_TD

include "mlir/IR/OpBase.td"

def PMRT_Dialect : Dialect {
  let name = "pmrt";
  let cppNamespace = "::pipemesh::pmrt";
  let summary = "The runtime program";
  let description = [{
    The last level before the bundle, in two steps. At the *kernel* step a
    fragment is still made of tensors, but its ops are what the runtime can
    execute: matrix products, fused kernels, collectives. At the *program* step
    every value has a place: bodies are flat lists of instructions over buffers
    and scratch, and a role's action list binds bodies to micro-batches.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
