// Exchanges between devices, as manual computations (shard_map) write them.
#ifndef PIPEMESH_STABLEHLO_COLLECTIVE_OPS_TD
#define PIPEMESH_STABLEHLO_COLLECTIVE_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_GroupsAttr : ElementsAttrBase<
    CPred<"::llvm::isa<::mlir::DenseIntElementsAttr>($_self) && "
          "::llvm::cast<::mlir::DenseIntElementsAttr>($_self).getType().getRank() == 2 && "
          "::llvm::cast<::mlir::DenseIntElementsAttr>($_self).getElementType().isSignlessInteger(64)">,
    "rank-2 tensor of i64"> {
  let storageType = "::mlir::DenseIntElementsAttr";
  let returnType = "::mlir::DenseIntElementsAttr";
  let convertFromStorage = "$_self";
}

def StableHLO_AllReduceOp : StableHLO_RegionOp<"all_reduce", [SingleBlock]> {
  let summary = "The elements of the devices of a group, joined";
  let description = [{
    Each row of `replica_groups` is a group of devices; each device of it gets the
    elements of all, joined by the body, which is as that of a reduction. Devices
    are partitions where there is a `channel_handle`. A row may end in -1 where the
    groups are of different sizes. Used inside manual computations until
    `pm-import-stablehlo`, which turns it into `pm.all_reduce`.

    ```mlir
    func.func @all_reduce(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
      %y = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands,
    StableHLO_GroupsAttr:$replica_groups,
    OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
    UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def StableHLO_AllGatherOp : StableHLO_Op<"all_gather", [Pure]> {
  let summary = "The tensors of the devices of a group, one after another";
  let description = [{
    Each device of a group gets the operands of all, in the group's order, joined
    along `all_gather_dim`. Groups as in `stablehlo.all_reduce`.

    ```mlir
    func.func @all_gather(%x: tensor<4x2xf32>) -> tensor<4x4xf32> {
      %y = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
      return %y : tensor<4x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands,
    I64Attr:$all_gather_dim, StableHLO_GroupsAttr:$replica_groups,
    OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
    UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
}

def StableHLO_ReduceScatterOp : StableHLO_RegionOp<"reduce_scatter", [SingleBlock]> {
  let summary = "The elements of the devices of a group, joined, and a part for each";
  let description = [{
    As `stablehlo.all_reduce`, but device i of a group gets part i of the result
    along `scatter_dimension`.

    ```mlir
    func.func @reduce_scatter(%x: tensor<4x2xf32>) -> tensor<2x2xf32> {
      %y = "stablehlo.reduce_scatter"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$scatter_dimension,
    StableHLO_GroupsAttr:$replica_groups,
    OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
    UnitAttr:$use_global_device_ids);
  let results = (outs StableHLO_Tensor:$result);
  let regions = (region SizedRegion<1>:$computation);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def StableHLO_AllToAllOp : StableHLO_Op<"all_to_all", [Pure]> {
  let summary = "A part of each device's tensor for each device of a group";
  let description = [{
    Each device cuts its operands along `split_dimension` into `split_count` parts,
    of which device i of the group gets number i; it joins what it gets, in the
    group's order, along `concat_dimension`.

    ```mlir
    func.func @all_to_all(%x: tensor<4x2xf32>) -> tensor<2x4xf32> {
      %y = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x2xf32>) -> tensor<2x4xf32>
      return %y : tensor<2x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands,
    I64Attr:$split_dimension, I64Attr:$concat_dimension, I64Attr:$split_count,
    StableHLO_GroupsAttr:$replica_groups,
    OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasVerifier = 1;
}

def StableHLO_CollectivePermuteOp : StableHLO_Op<"collective_permute",
    [Pure, SameOperandsAndResultType]> {
  let summary = "The tensor of another device";
  let description = [{
    For each pair, the second device gets the operand of the first; a device that no
    pair names as its second gets zeros.

    ```mlir
    func.func @collective_permute(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
      %y = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand,
    StableHLO_GroupsAttr:$source_target_pairs,
    OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
}

class StableHLO_DeviceNumberOp<string mnemonic, string what>
    : StableHLO_Op<mnemonic, [Pure]> {
  let summary = "The number of this device's " # what;
  let description = [{
    Used inside manual computations until `pm-import-stablehlo`.

    ```mlir
    func.func @}] # mnemonic # [{() -> tensor<ui32> {
      %i = stablehlo.}] # mnemonic # [{ : tensor<ui32>
      return %i : tensor<ui32>
    }
    ```
  }];
  let results = (outs StableHLO_ScalarOf<StableHLO_TensorOf<[UI32], "32-bit unsigned integer values">>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def StableHLO_PartitionIdOp : StableHLO_DeviceNumberOp<"partition_id", "partition">;
def StableHLO_ReplicaIdOp : StableHLO_DeviceNumberOp<"replica_id", "replica">;

#endif // PIPEMESH_STABLEHLO_COLLECTIVE_OPS_TD
