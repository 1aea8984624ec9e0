//===- PMDialect.td - the pm dialect ------------------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PM_PMDIALECT_TD
#define PIPEMESH_DIALECT_PM_PMDIALECT_TD

include "mlir/IR/OpBase.td"

def PM_Dialect : Dialect {
  let name = "pm";
  let cppNamespace = "::pipemesh::pm";
  let summary = "Meshes, shardings, state, fused model ops, fragments";
  let description = [{
    What a model graph needs beyond tensor ops to become the program of a
    cluster: a mesh with named axes, shardings of values over it, state that
    lives from step to step, model ops that deserve to stay whole, collectives,
    and the fragments and actions of a pipeline.

    Discardable attributes of the dialect:

    | attribute | on | meaning |
    |---|---|---|
    | `pm.input` | argument | an input given at run time, by name |
    | `pm.output` | result | an output, by name |
    | `pm.name` | result | the parameter that a `gradient` output belongs to |
    | `pm.state` | argument, result | `#pm.state`: argument and result share one buffer |
    | `pm.stored_shape` | argument, `pm.buffer` | `array<i64>`: the parameter's shape in its file, where the graph takes the same elements, in the same order, in another one |
    | `pm.schedule` | module | the name of the pipeline schedule that the strategy asks for |
    | `pm.rank_of_stage` | module | the pipeline rank of each stage, where a rank has several: a list of integers; without it stage i lies on rank i |
    | `pm.cluster` | module | the levels of the machine that the mesh lies on, from the innermost out: a list of `{name, size, bandwidth, latency, reduces}` in GB/s and microseconds |
    | `pm.sharding` | argument, result | `#pm.sharding` of the value |
    | `pm.shardings` | op | one `#pm.sharding` for each result |
    | `pm.phase` | op | `"forward"`, `"backward"` or `"update"` |
    | `pm.fragment` | function | `#pm.fragment`: what the function is a piece of |
    | `pm.buffer` | argument, result | the `pm.buffer` that it is bound to |
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Where the attributes' storage is known.
    void registerAttributes();
  }];
}

#endif
