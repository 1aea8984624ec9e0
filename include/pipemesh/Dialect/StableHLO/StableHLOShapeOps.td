// Ops of the stablehlo dialect that make or move elements and compute none.
#ifndef PIPEMESH_STABLEHLO_SHAPE_OPS_TD
#define PIPEMESH_STABLEHLO_SHAPE_OPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_ConstantOp : StableHLO_Op<"constant",
    [Pure, ConstantLike, InferTypeOpAdaptor,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A constant tensor";
  let description = [{
    The tensor that `value` holds. Used at every tensor level.

    ```mlir
    func.func @constant() -> (tensor<f32>, tensor<2x2xi32>) {
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
      return %cst, %c : tensor<f32>, tensor<2x2xi32>
    }
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def StableHLO_IotaOp : StableHLO_Op<"iota", [Pure]> {
  let summary = "The index along one dimension";
  let description = [{
    Each element of the result is its own index along `iota_dimension`. Used at
    every tensor level.

    ```mlir
    func.func @iota() -> tensor<2x8xi32> {
      %i = stablehlo.iota dim = 1 : tensor<2x8xi32>
      return %i : tensor<2x8xi32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_NumberTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def StableHLO_BroadcastInDimOp : StableHLO_Op<"broadcast_in_dim", [Pure]> {
  let summary = "Repetition along new dimensions or dimensions of size 1";
  let description = [{
    Dimension `i` of the operand becomes dimension `broadcast_dimensions[i]` of
    the result, repeated where its size is 1 and the result's is not; along the
    other dimensions of the result everything is repeated. Used at every tensor
    level.

    ```mlir
    func.func @broadcast_in_dim(%x: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
      %y = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3x4xf32>
      return %y : tensor<2x3x4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def StableHLO_ReshapeOp : StableHLO_Op<"reshape", [Pure]> {
  let summary = "The same elements in another shape";
  let description = [{
    The operand's elements, in row-major order, in the shape of the result. Used
    at every tensor level.

    ```mlir
    func.func @reshape(%x: tensor<4x6xf32>) -> tensor<4x2x3xf32> {
      %y = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
      return %y : tensor<4x2x3xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$shape)>];
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def StableHLO_BitcastConvertOp : StableHLO_Op<"bitcast_convert", [Pure]> {
  let summary = "The same bits as another element type";
  let description = [{
    The bits of the operand, read as the result's element type. Where the widths
    differ, the wider side lacks a last dimension, whose size is their quotient.
    Used at every tensor level.

    ```mlir
    func.func @bitcast_convert(%x: tensor<4xf32>) -> (tensor<4xui32>, tensor<4x2xi16>) {
      %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
      %1 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xi16>
      return %0, %1 : tensor<4xui32>, tensor<4x2xi16>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_TransposeOp : StableHLO_Op<"transpose", [Pure, InferTypeOpAdaptor]> {
  let summary = "A permutation of the dimensions";
  let description = [{
    Dimension `i` of the result is dimension `permutation[i]` of the operand.
    Used at every tensor level.

    ```mlir
    func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
      %y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
      return %y : tensor<4x2x3xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def StableHLO_ReverseOp : StableHLO_Op<"reverse", [Pure, SameOperandsAndResultType]> {
  let summary = "The elements in reverse order along some dimensions";
  let description = [{
    Along each of `dimensions` the result holds the operand's elements from the
    last to the first. Used at every tensor level.

    ```mlir
    func.func @reverse(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %y = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>
      return %y : tensor<2x3xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_ConcatenateOp : StableHLO_Op<"concatenate", [Pure, InferTypeOpAdaptor]> {
  let summary = "Tensors one after another along a dimension";
  let description = [{
    The operands in order, joined along `dimension`; their other dimensions agree.
    Used at every tensor level.

    ```mlir
    func.func @concatenate(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {
      %c = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
      return %c : tensor<2x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsThenComma>($inputs) `dim` `=` $dimension attr-dict `:`
    functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def StableHLO_PadOp : StableHLO_Op<"pad", [Pure, InferTypeOpAdaptor]> {
  let summary = "Elements added around and between those of a tensor";
  let description = [{
    Along dimension `i`, `edge_padding_low[i]` elements are put before the
    operand's, `edge_padding_high[i]` after them and `interior_padding[i]` between
    each two; all are `padding_value`. A negative edge padding removes elements.
    Used at every tensor level.

    ```mlir
    func.func @pad(%x: tensor<3xf32>, %zero: tensor<f32>) -> tensor<7xf32> {
      %y = stablehlo.pad %x, %zero, low = [2], high = [0], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
      return %y : tensor<7xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
    DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
    DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high
    `,` `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_SliceOp : StableHLO_Op<"slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "A part of a tensor at fixed indices";
  let description = [{
    Along dimension `i` the elements from `start_indices[i]` to just below
    `limit_indices[i]`, every `strides[i]`-th. Used at every tensor level.

    ```mlir
    func.func @slice(%x: tensor<8x6xf32>) -> tensor<4x2xf32> {
      %y = stablehlo.slice %x [2:6, 0:6:3] : (tensor<8x6xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
    DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:`
    functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def StableHLO_DynamicSliceOp : StableHLO_Op<"dynamic_slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "A part of a tensor at indices known at run time";
  let description = [{
    The part of size `slice_sizes` that starts at `start_indices`, one rank-0
    integer for each dimension; a start is clamped so that the part lies inside
    the operand. Used at every tensor level.

    ```mlir
    func.func @dynamic_slice(%x: tensor<8x6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x6xf32> {
      %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      return %y : tensor<1x6xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_IntScalar>:$start_indices,
    DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenComma>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DynamicUpdateSliceOp : StableHLO_Op<"dynamic_update_slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "A tensor with a part replaced at indices known at run time";
  let description = [{
    The operand with the part that starts at `start_indices` replaced by `update`;
    a start is clamped so that the part lies inside the operand. Used at every
    tensor level.

    ```mlir
    func.func @dynamic_update_slice(%x: tensor<8x6xf32>, %u: tensor<1x6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<8x6xf32> {
      %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<8x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
    Variadic<StableHLO_IntScalar>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_RngBitGeneratorOp : StableHLO_Op<"rng_bit_generator",
    [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Random bits from a state";
  let description = [{
    `output` is filled with random bits that `initial_state` determines, and
    `output_state` is the state that follows. The state is a vector of ui64: the key
    and then the counter. THREE_FRY is Threefry-2x32 and has a state of 2; PHILOX is
    Philox-4x32 and has a state of 2 or 3; both are of Salmon et al., "Parallel
    random numbers: as easy as 1, 2, 3" (SC 2011), 20 and 10 rounds. DEFAULT is
    PHILOX. Each element is made from the state and its own place alone. Used at
    every tensor level.

    ```mlir
    func.func @rng_bit_generator(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>) {
      %output_state, %output = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>)
      return %output_state, %output : tensor<2xui64>, tensor<4x3xui32>
    }
    ```
  }];
  let arguments = (ins StableHLO_IntTensor:$initial_state, StableHLO_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs StableHLO_IntTensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_OptimizationBarrierOp : StableHLO_Op<"optimization_barrier", [Pure, InferTypeOpAdaptor]> {
  let summary = "Values that no transformation may look through";
  let description = [{
    The operands, unchanged. What is computed from a result is not merged with
    what is computed from the operand, so that a recomputation stays one. Used in
    the model graph and the differentiated graph.

    ```mlir
    func.func @optimization_barrier(%a: tensor<2xf32>, %b: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
      %r:2 = stablehlo.optimization_barrier %a, %b : tensor<2xf32>, tensor<i32>
      return %r#0, %r#1 : tensor<2xf32>, tensor<i32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseSameTypes>(type($operand), type($result))):(`(` `)`)?
  }];
}

#endif // PIPEMESH_STABLEHLO_SHAPE_OPS_TD
