// What JAX writes about shardings: a subset of Shardy's dialect, for import.
#ifndef PIPEMESH_SDY_TD
#define PIPEMESH_SDY_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def SDY_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::pipemesh::sdy";
  let summary = "Shardings as JAX writes them";
  let description = [{
    A subset of Shardy's dialect in its text form, with a C++ of our own. It
    exists until `pm-import-stablehlo`, which turns it into `pm`.

    | attribute | on | meaning |
    |---|---|---|
    | `sdy.sharding` | argument, result | `#sdy.sharding` of the value; on an op `#sdy.sharding_per_value` |
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Where the attributes' storage is known.
    void registerAttributes();
  }];
}

// ---- Attributes ------------------------------------------------------------

class SDY_Attr<string name, string attrMnemonic> : AttrDef<SDY_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def SDY_MeshAxisAttr : SDY_Attr<"MeshAxis", "axis"> {
  let summary = "A named axis of a mesh";
  let description = "`\"dp\"=2`.";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
}

def SDY_MeshAttr : SDY_Attr<"Mesh", "mesh"> {
  let summary = "Named axes over devices";
  let description = [{
    `<["dp"=2, "tp"=4]>`, major to minor. `device_ids` names the devices where they
    are not in order. `<[], device_ids=[0]>` is one device that holds the whole
    value (maximal), `<[]>` a mesh of nothing.
  }];
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$deviceIds);
}

def SDY_AxisRefAttr : SDY_Attr<"AxisRef", "axis_ref"> {
  let summary = "A mesh axis or a part of one";
  let description = [{
    `"x"`, or `"x":(2)4`: the part of size 4 behind the outermost 2 of `x`. `size`
    is 0 for the whole axis.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$preSize, "int64_t":$size);
}

def SDY_DimensionShardingAttr : SDY_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes over which one dimension is cut";
  let description = [{
    `{"dp", "tp"}`, major to minor; `{"tp", ?}` may be cut further, and `{"tp"}p1`
    has a priority, of which 0 binds first. `priority` is -1 where none is given.
  }];
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "bool":$open,
                        "int64_t":$priority);
}

def SDY_ShardingAttr : SDY_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor lies on a mesh";
  let description = [{
    `#sdy.sharding<@mesh, [{"dp"}, {?} ], replicated={"tp"}, unreduced={"ep"}>`. The
    mesh is a symbol or, as `mesh<["dp"=2]>`, written out.
  }];
  let parameters = (ins "::mlir::Attribute":$mesh,
                        ArrayRefParameter<"DimensionShardingAttr">:$dims,
                        OptionalArrayRefParameter<"AxisRefAttr">:$replicatedAxes,
                        OptionalArrayRefParameter<"AxisRefAttr">:$unreducedAxes);
}

def SDY_ShardingPerValueAttr : SDY_Attr<"ShardingPerValue", "sharding_per_value"> {
  let summary = "A sharding for each of several values";
  let description = [{`#sdy.sharding_per_value<[<@mesh, [{"dp"} ]>, <@mesh, [{} ]>]>`.}];
  let parameters = (ins ArrayRefParameter<"ShardingAttr">:$shardings);
}

// ---- Ops -------------------------------------------------------------------

class SDY_Op<string mnemonic, list<Trait> traits = []>
    : Op<SDY_Dialect, mnemonic, traits>;

def SDY_MeshOp : SDY_Op<"mesh", [Symbol]> {
  let summary = "A named mesh";
  let description = [{
    ```mlir
    sdy.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, SDY_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def SDY_ShardingConstraintOp : SDY_Op<"sharding_constraint",
    [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "The value has this sharding here";
  let description = [{
    ```mlir
    sdy.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %y = sdy.sharding_constraint %x <@mesh, [{"dp"}, {?} ]> : tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, SDY_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def SDY_ShardingGroupOp : SDY_Op<"sharding_group"> {
  let summary = "Values of one group have one sharding";
  let description = [{
    ```mlir
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      sdy.sharding_group %x group_id=3 : tensor<8x4xf32>
      return %x : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def SDY_ManualComputationOp : SDY_Op<"manual_computation",
    [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let summary = "A computation written for each device of some axes";
  let description = [{
    Inside, a value is what one device of the manual axes holds, and collectives are
    written out; over all other axes values are whole.

    ```mlir
    sdy.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"dp"}, {} ]>] out_shardings=[<@mesh, [{"dp"}, {} ]>] manual_axes={"dp"} (%arg0: tensor<4x4xf32>) {
        %0 = stablehlo.tanh %arg0 : tensor<4x4xf32>
        sdy.return %0 : tensor<4x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
    SDY_ShardingPerValueAttr:$in_shardings, SDY_ShardingPerValueAttr:$out_shardings,
    StrArrayAttr:$manual_axes);
  let results = (outs Variadic<AnyRankedTensor>);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def SDY_ReturnOp : SDY_Op<"return", [Pure, Terminator, HasParent<"ManualComputationOp">]> {
  let summary = "The end of a manual computation";
  let description = [{
    ```mlir
    sdy.mesh @mesh = <["dp"=2]>
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"dp"} ]>] out_shardings=[<@mesh, [{"dp"} ]>] manual_axes={"dp"} (%arg0: tensor<4xf32>) {
        sdy.return %arg0 : tensor<4xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

#endif // PIPEMESH_SDY_TD
