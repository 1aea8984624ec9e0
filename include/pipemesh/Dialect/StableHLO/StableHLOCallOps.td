// Ops of the stablehlo dialect that name a computation which is elsewhere.
#ifndef PIPEMESH_STABLEHLO_CALL_OPS_TD
#define PIPEMESH_STABLEHLO_CALL_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_CompositeOp
    : StableHLO_Op<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A named operation that a function spells out";
  let description = [{
    An operation that is called `name`, with `composite_attributes`, and means what
    the function `decomposition` does. Import replaces it by a call. Used in modules
    that are imported.

    ```mlir
    func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.composite "my.double" %x {composite_attributes = {n = 2 : i64}, decomposition = @double, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StrAttr:$name,
    OptionalAttr<DictionaryAttr>:$composite_attributes, FlatSymbolRefAttr:$decomposition,
    OptionalAttr<I32Attr>:$version);
  let results = (outs Variadic<StableHLO_Tensor>);
  let assemblyFormat = "$name $inputs attr-dict `:` functional-type(operands, results)";
}

def StableHLO_CustomCallOp
    : StableHLO_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A call of code outside of the module";
  let description = [{
    A call of the target `call_target_name`, which some runtimes know. The text of
    JAX is kept as it is; compilation refuses targets by their name. Used in modules
    that are imported.

    ```mlir
    func.func @custom_call(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
      %y = stablehlo.custom_call @lapack_spotrf_ffi(%x) {api_version = 4 : i32, has_side_effect = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
      return %y : tensor<3x3xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StrAttr:$call_target_name,
    OptionalAttr<BoolAttr>:$has_side_effect, OptionalAttr<AnyAttr>:$backend_config,
    OptionalAttr<I32Attr>:$api_version, OptionalAttr<ArrayAttr>:$called_computations,
    OptionalAttr<ArrayAttr>:$operand_layouts, OptionalAttr<ArrayAttr>:$result_layouts,
    OptionalAttr<ArrayAttr>:$output_operand_aliases);
  let results = (outs Variadic<StableHLO_Tensor>);
  let assemblyFormat = [{
    custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // PIPEMESH_STABLEHLO_CALL_OPS_TD
