//===- PMOps.td - meshes, shardings and programs ------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PM_PMOPS_TD
#define PIPEMESH_DIALECT_PM_PMOPS_TD

include "pipemesh/Dialect/PM/PMAttrs.td"
include "pipemesh/Dialect/PM/PMModelOps.td"
include "pipemesh/Dialect/PM/PMCollectiveOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def PM_MeshOp : PM_Op<"mesh", [Symbol]> {
  let summary = "a mesh of devices, micro-batches and stages";
  let description = [{
    Named axes, outermost first: the last spatial axis runs between neighbours.
    Spatial axes divide devices, temporal ones micro-batches, a stage axis the
    ops of the model. All levels from the sharded graph on.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 4>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypedArrayAttrBase<PM_MeshAxisAttr, "mesh axes">:$axes);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axis of that name, or null.
    MeshAxisAttr lookupAxis(::llvm::StringRef name);
    /// The product of the sizes of the spatial axes.
    int64_t getNumRanksPerStage();
  }];
}

class PM_UnarySharded<string mnemonic>
    : PM_Op<mnemonic, [Pure, AllTypesMatch<["input", "result"]>]> {
  let results = (outs AnyRankedTensor:$result);
}

def PM_ConstrainOp : PM_UnarySharded<"constrain"> {
  let summary = "the value must have this sharding here";
  let description = [{
    An annotation: propagation treats it as binding. Model and sharded levels.

    ```mlir
    %y = pm.constrain %x to <@mesh, [{"dp"}, {} ]> : tensor<8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, PM_ShardingAttr:$sharding);
  let assemblyFormat = "$input `to` $sharding attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def PM_ShardingGroupOp : PM_Op<"sharding_group"> {
  let summary = "values of one group lie alike";
  let description = [{
    All values of a module with the same `id` have one shape, and propagation
    gives them one sharding. It removes the op. Model level.

    ```mlir
    pm.sharding_group %x id 3 : tensor<8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$id);
  let assemblyFormat = "$input `id` $id attr-dict `:` type($input)";
}

def PM_ReshardOp : PM_UnarySharded<"reshard"> {
  let summary = "the same global value under another sharding";
  let description = [{
    The identity on the global value. Inserted by propagation wherever a use
    needs another sharding than the value has; partitioning turns it into the
    cheapest collectives. Sharded and fragment levels.

    ```mlir
    %y = pm.reshard %x from <@mesh, [{}, {} ], partial = sum{"dp"}> to <@mesh, [{}, {} ]> : tensor<8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, PM_ShardingAttr:$source,
                       PM_ShardingAttr:$target);
  let assemblyFormat = "$input `from` $source `to` $target attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def PM_ProgramOp : PM_Op<"program", [Symbol, NoTerminator,
    NoRegionArguments, SingleBlock, SymbolTable]> {
  let summary = "the buffers of a step and the order of its fragments";
  let description = [{
    Holds the `pm.buffer`s that fragments exchange values through, and one
    `pm.role` for each pipeline rank. The fragments are the functions of the
    module that carry `pm.fragment`; their arguments and results name a buffer
    each. How a buffer is bound follows from its sharding:

    - sharded over a temporal axis: a per-micro-batch fragment sees the slice of
      its micro-batch, a prologue or an update all of it;
    - partial over a temporal axis: it is zero when the step starts, and each
      run of a fragment adds its result; the update sees the sum;
    - otherwise: one value for the step.

    Levels: fragments, partitioned, scheduled.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
    pm.program @step on @mesh {
      pm.buffer @input_ids input : tensor<8x20xi32> sharding <@mesh, [{"dp", "mb"}, {} ]>
      pm.buffer @grad accumulator : tensor<32x64xf32> sharding <@mesh, [{}, {} ], partial = sum{"dp", "mb"}>
      pm.role 0 {
        pm.action prologue stage 0 micro_batch 0
        pm.action forward stage 0 micro_batch 0
        pm.action backward stage 0 micro_batch 0
        pm.action forward stage 0 micro_batch 1
        pm.action backward stage 0 micro_batch 1
        pm.action update stage 0 micro_batch 0
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $mesh attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def PM_BufferOp : PM_Op<"buffer", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a value that outlives one fragment";
  let description = [{
    The type is global at the fragment level and that of a rank (and
    micro-batch) after partitioning, where `global_type` keeps the global one.
    `role` says what an input, a state or an output is (`input_ids`,
    `parameter`, `loss`, ...), `parameter` which parameter it belongs to.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 1>]
    pm.program @step on @mesh {
      pm.buffer @w state : tensor<32x64xf32> sharding <@mesh, [{}, {} ]> {role = "parameter", parameter = "model.w"}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PM_BufferKindAttr:$kind,
                       TypeAttrOf<AnyRankedTensor>:$type, PM_ShardingAttr:$sharding,
                       OptionalAttr<TypeAttrOf<AnyRankedTensor>>:$global_type,
                       OptionalAttr<StrAttr>:$role,
                       OptionalAttr<StrAttr>:$parameter);
  let assemblyFormat = "$sym_name $kind `:` $type `sharding` $sharding attr-dict";
}

def PM_RoleOp : PM_Op<"role", [NoTerminator, NoRegionArguments, SingleBlock,
                               HasParent<"ProgramOp">]> {
  let summary = "the total order of actions of one pipeline rank";
  let description = [{
    Filled by `pm-schedule`.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]
    pm.program @step on @mesh {
      pm.role 0 {
        pm.action forward stage 0 micro_batch 0
      }
    }
    ```
  }];
  let arguments = (ins I64Attr:$pipeline_rank);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$pipeline_rank attr-dict-with-keyword $body";
}

def PM_ActionOp : PM_Op<"action", [HasParent<"RoleOp">]> {
  let summary = "one run of a fragment";
  let description = [{
    The micro-batch of a prologue, a reduce or an update is 0.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]
    pm.program @step on @mesh {
      pm.role 0 {
        pm.action update stage 0 micro_batch 0
      }
    }
    ```
  }];
  let arguments = (ins PM_FragmentKindAttr:$kind, I64Attr:$stage,
                       I64Attr:$micro_batch);
  let assemblyFormat = "$kind `stage` $stage `micro_batch` $micro_batch attr-dict";
}

class PM_TransferOp<string mnemonic>
    : PM_Op<mnemonic, [HasParent<"RoleOp">]>;

def PM_SendOp : PM_TransferOp<"send"> {
  let summary = "the start of a transfer to another pipeline rank";
  let description = [{
    Sends what the buffer holds of a micro-batch (0 where the buffer holds one
    value a step) to the rank of role `peer` that has the same spatial
    coordinates. It never waits; the buffer may be written again at once. What
    one role sends to another from one buffer arrives in the order of the sends.
    Scheduled level.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 1>, <"pp", stage = 2>, <"mb", temporal = 1>]
    pm.program @step on @mesh {
      pm.buffer @x activation : tensor<8x16xf32> sharding <@mesh, [{"mb"}, {} ]>
      pm.role 0 {
        pm.action forward stage 0 micro_batch 0
        pm.send @x to 1 micro_batch 0
      }
      pm.role 1 {
        pm.receive @x from 0 micro_batch 0
        pm.action forward stage 1 micro_batch 0
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer, I64Attr:$peer,
                       I64Attr:$micro_batch);
  let assemblyFormat = "$buffer `to` $peer `micro_batch` $micro_batch attr-dict";
}

def PM_ReceiveOp : PM_TransferOp<"receive"> {
  let summary = "the end of a transfer from another pipeline rank";
  let description = [{
    Waits for what role `peer` has sent, and puts it into this role's own buffer
    of that name. Scheduled level.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 1>, <"pp", stage = 2>, <"mb", temporal = 1>]
    pm.program @step on @mesh {
      pm.buffer @x activation : tensor<8x16xf32> sharding <@mesh, [{"mb"}, {} ]>
      pm.role 1 {
        pm.receive @x from 0 micro_batch 0
        pm.action forward stage 1 micro_batch 0
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer, I64Attr:$peer,
                       I64Attr:$micro_batch);
  let assemblyFormat = "$buffer `from` $peer `micro_batch` $micro_batch attr-dict";
}

#endif
