// Ops of the stablehlo dialect that address elements by tensors of indices.
#ifndef PIPEMESH_STABLEHLO_INDEX_OPS_TD
#define PIPEMESH_STABLEHLO_INDEX_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_GatherOp : StableHLO_Op<"gather", [Pure, InferTypeOpAdaptor]> {
  let summary = "Slices of a tensor at indices from another";
  let description = [{
    For every index vector of `start_indices` the slice of the operand of size
    `slice_sizes` that starts there (clamped so that it lies inside), put together
    as `dimension_numbers` says. Used at every tensor level.

    ```mlir
    func.func @gather(%table: tensor<10x4xf32>, %ids: tensor<2x3x1xi32>) -> tensor<2x3x4xf32> {
      %rows = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
      return %rows : tensor<2x3x4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
    StableHLO_GatherDimensionNumbersAttr:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ScatterOp : StableHLO_RegionOp<"scatter",
    [SameVariadicOperandSize, SingleBlock, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "A tensor with updates joined in at indices from another";
  let description = [{
    The inputs, where for every index vector of `scatter_indices` the window of the
    updates is joined in by the body, which gets the present element and the update,
    all of rank 0; an update outside of the input is left out. Several inputs of one
    shape are updated together. Used at every tensor level.

    ```mlir
    func.func @scatter(%x: tensor<10x4xf32>, %ids: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> tensor<10x4xf32> {
      %y = "stablehlo.scatter"(%x, %ids, %rows) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%present: tensor<f32>, %update: tensor<f32>):
        %0 = stablehlo.add %present, %update : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
      return %y : tensor<10x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_IntTensor:$scatter_indices,
    Variadic<StableHLO_Tensor>:$updates,
    StableHLO_ScatterDimensionNumbersAttr:$scatter_dimension_numbers,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$update_computation);
  let hasRegionVerifier = 1;
}

#endif // PIPEMESH_STABLEHLO_INDEX_OPS_TD
