//===- PMCollectiveOps.td - exchanges between ranks ---------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PM_PMCOLLECTIVEOPS_TD
#define PIPEMESH_DIALECT_PM_PMCOLLECTIVEOPS_TD

include "pipemesh/Dialect/PM/PMAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PM_Op<string mnemonic, list<Trait> traits = []>
    : Op<PM_Dialect, mnemonic, traits>;

def PM_AllReduceOp : PM_Op<"all_reduce", [Pure]> {
  let summary = "combines the parts of several ranks, and gives each the whole";
  let description = [{
    The members are the ranks that differ only in their coordinates on `axes`.
    Parts are combined in the order of the ranks. Several operands are one
    exchange (a bucket). Partitioned level; every member must reach it.

    ```mlir
    %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<32x64xf32>
    %b, %c = pm.all_reduce sum(%x, %y) over ["dp"] on @mesh : tensor<32x64xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       PM_ReductionKindAttr:$kind, StrArrayAttr:$axes,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class PM_DimCollective<string mnemonic> : PM_Op<mnemonic, [Pure]> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def PM_AllGatherOp : PM_DimCollective<"all_gather"> {
  let summary = "joins the blocks that several ranks hold of one dimension";
  let description = [{
    The members are the ranks that differ only in their coordinates on `axes`,
    of which the first is the outermost. Member i holds block i of dimension
    `dim`, and each gets all of it. Partitioned level; every member must reach
    it.

    ```mlir
    %y = pm.all_gather %x dim 1 over ["tp"] on @mesh : (tensor<8x16xf32>) -> tensor<8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim,
                       StrArrayAttr:$axes, FlatSymbolRefAttr:$mesh);
  let assemblyFormat = "$input `dim` $dim `over` $axes `on` $mesh attr-dict `:` functional-type($input, $result)";
}

def PM_ReduceScatterOp : PM_DimCollective<"reduce_scatter"> {
  let summary = "combines the parts of several ranks, and gives each a block";
  let description = [{
    As `pm.all_reduce`, in the order of the ranks, but member i of the ranks that
    differ on `axes` gets block i of dimension `dim`. Partitioned level.

    ```mlir
    %y = pm.reduce_scatter %x sum dim 0 over ["dp"] on @mesh : (tensor<8x16xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, PM_ReductionKindAttr:$kind,
                       I64Attr:$dim, StrArrayAttr:$axes,
                       FlatSymbolRefAttr:$mesh);
  let assemblyFormat = "$input $kind `dim` $dim `over` $axes `on` $mesh attr-dict `:` functional-type($input, $result)";
}

def PM_AllToAllOp : PM_DimCollective<"all_to_all"> {
  let summary = "moves the cut of several ranks from one dimension to another";
  let description = [{
    The members are the ranks that differ only in their coordinates on `axes`, of
    which the first is the outermost. Before, member i holds block i of dimension
    `concat`, and all of dimension `split`; after, it holds block i of dimension
    `split`, and all of dimension `concat`. Sizes that the members do not divide
    have blocks of the size rounded up, or of the block size that the operand
    (the result) has; what lies behind the end is padding. Partitioned level;
    every member must reach it.

    ```mlir
    %y = pm.all_to_all %x split 0 concat 1 over ["tp"] on @mesh : (tensor<8x16xf32>) -> tensor<4x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$split, I64Attr:$concat,
                       StrArrayAttr:$axes, FlatSymbolRefAttr:$mesh);
  let assemblyFormat = "$input `split` $split `concat` $concat `over` $axes `on` $mesh attr-dict `:` functional-type($input, $result)";
}

def PM_CollectivePermuteOp : PM_Op<"collective_permute",
    [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "each rank gets the value of another one";
  let description = [{
    The members are the ranks that differ only in their coordinates on `axes`, of
    which the first is the outermost. Member i gets the value of member
    `sources[i]`, or zero where that is -1. With k sources for each of n members the
    value is k equal parts along dimension 0, which move in one exchange: part j of
    member i is part j of member `sources[j n + i]`. Partitioned level; every member
    must reach it.

    ```mlir
    %y = pm.collective_permute %x over ["dp"] sources [1, -1] on @mesh : tensor<4x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes,
                       DenseI64ArrayAttr:$sources, FlatSymbolRefAttr:$mesh);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `over` $axes `sources` $sources `on` $mesh attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def PM_AxisIndexOp : PM_Op<"axis_index", [Pure]> {
  let summary = "the rank's coordinate on a mesh axis";
  let description = [{
    For offsets and masks only. On a temporal axis it is the micro-batch.
    Partitioned level.

    ```mlir
    %i = pm.axis_index "dp" on @mesh : tensor<i32>
    ```
  }];
  let arguments = (ins StrAttr:$axis, FlatSymbolRefAttr:$mesh);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "$axis `on` $mesh attr-dict `:` type($result)";
}

def PM_ManualComputationOp : PM_Op<"manual_computation",
    [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "a computation written for each rank of some axes";
  let description = [{
    Inside, a value is what one rank of the manual axes holds, and collectives
    over these axes stand for themselves; over all other axes values are whole,
    and are partitioned as everywhere. Each operand is brought to its entry of
    `in_shardings`, in which the manual axes of a dimension stand first, and must
    divide it; each result has its entry of `out_shardings`. `pm-partition` dissolves
    it. Model and sharded levels.

    ```mlir
    %y = pm.manual_computation(%x) in [#pm.sharding<@mesh, [{"dp"}, {} ]>] out [#pm.sharding<@mesh, [{}, {} ]>] manual ["dp"] on @mesh : (tensor<8x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %sum = pm.all_reduce sum(%a) over ["dp"] on @mesh : tensor<4x4xf32>
      pm.return %sum : tensor<4x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
      TypedArrayAttrBase<PM_ShardingAttr, "shardings">:$in_shardings,
      TypedArrayAttrBase<PM_ShardingAttr, "shardings">:$out_shardings,
      StrArrayAttr:$manual_axes, FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `in` $in_shardings `out` $out_shardings `manual` $manual_axes `on` $mesh attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def PM_ReturnOp : PM_Op<"return", [Pure, Terminator,
                                   HasParent<"ManualComputationOp">]> {
  let summary = "the end of a manual computation";
  let description = [{
    Gives what this rank holds of each result.

    ```mlir
    %y = pm.manual_computation(%x) in [#pm.sharding<@mesh, [{"dp"} ]>] out [#pm.sharding<@mesh, [{"dp"} ]>] manual ["dp"] on @mesh : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<4xf32>):
      pm.return %a : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

#endif
