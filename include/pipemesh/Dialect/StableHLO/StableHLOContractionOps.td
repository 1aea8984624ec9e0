// Ops of the stablehlo dialect that mix elements along dimensions.
#ifndef PIPEMESH_STABLEHLO_CONTRACTION_OPS_TD
#define PIPEMESH_STABLEHLO_CONTRACTION_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_DotGeneralOp : StableHLO_Op<"dot_general", [Pure, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "Sums of products over contracted dimensions";
  let description = [{
    For every index of the batching dimensions (which the operands share) and of
    the remaining dimensions of both operands, the sum of the products over the
    contracting dimensions. The result's dimensions are the batching ones, then
    the remaining ones of the left and then of the right operand. Its element type
    may be wider than the operands'; builders make it the left operand's unless
    told. Used at every tensor level.

    ```mlir
    func.func @dot_general(%x: tensor<8x20x64xf32>, %w: tensor<256x64xf32>) -> tensor<8x20x256xf32> {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x20x64xf32>, tensor<256x64xf32>) -> tensor<8x20x256xf32>
      return %y : tensor<8x20x256xf32>
    }
    ```

    ```mlir
    func.func @dot_general_batched(%q: tensor<8x5x64xbf16>, %k: tensor<8x7x64xbf16>) -> tensor<8x5x7xf32> {
      %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xbf16>, tensor<8x7x64xbf16>) -> tensor<8x5x7xf32>
      return %s : tensor<8x5x7xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
    StableHLO_DotDimensionNumbersAttr:$dot_dimension_numbers,
    OptionalAttr<StableHLO_PrecisionConfigAttr>:$precision_config,
    OptionalAttr<StableHLO_DotAlgorithmAttr>:$algorithm);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::llvm::ArrayRef<int64_t>":$lhsBatching, "::llvm::ArrayRef<int64_t>":$rhsBatching,
      "::llvm::ArrayRef<int64_t>":$lhsContracting, "::llvm::ArrayRef<int64_t>":$rhsContracting,
      CArg<"::mlir::Type", "{}">:$elementType)>
  ];
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensions>($dot_dimension_numbers)
    `` custom<PrecisionAndAlgorithm>($precision_config, $algorithm) attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ReduceOp : StableHLO_RegionOp<"reduce",
    [SameVariadicOperandSize, SingleBlock, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "A reduction along dimensions";
  let description = [{
    The elements of the inputs along `dimensions` are joined by the body, starting
    from the initial values; several inputs of one shape are reduced together. The
    body gets the accumulated values and then the elements, all of rank 0, and is
    associative and commutative. A body of one op on both arguments is written
    with `applies`. Used at every tensor level.

    ```mlir
    func.func @reduce(%x: tensor<8x10xf32>, %zero: tensor<f32>) -> tensor<8xf32> {
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
      return %sum : tensor<8xf32>
    }
    ```

    ```mlir
    func.func @reduce_pairs(%x: tensor<8x10xf32>, %y: tensor<8x10xf32>, %zero: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %r:2 = stablehlo.reduce(%x init: %zero), (%y init: %zero) across dimensions = [1] : (tensor<8x10xf32>, tensor<8x10xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>) {
        %0 = stablehlo.add %a, %b : tensor<f32>
        %1 = stablehlo.maximum %c, %d : tensor<f32>
        stablehlo.return %0, %1 : tensor<f32>, tensor<f32>
      }
      return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
    DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // An empty body: the caller fills it.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$initValues,
                   "::llvm::ArrayRef<int64_t>":$dimensions)>,
    // A body of one binary op, named as in "stablehlo.add".
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$initValue,
                   "::llvm::ArrayRef<int64_t>":$dimensions, "::llvm::StringRef":$bodyOp)>
  ];
  let extraClassDeclaration = [{
    // The one op that the body applies to both of its arguments, in order, and
    // returns; null when the body is anything else. Such a reduction has one
    // input and is what the `applies` form says.
    ::mlir::Operation *getAppliedOp();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def StableHLO_SortOp : StableHLO_RegionOp<"sort", [SingleBlock, InferTypeOpAdaptor]> {
  let summary = "Tensors sorted together along a dimension";
  let description = [{
    Along `dimension` the elements of the inputs, taken together at each index,
    stand in the order of the comparator, which says whether the first of two
    stands before the second: its arguments are the two elements of the first
    input, then those of the second, and so on. `is_stable` keeps the order of
    equal ones. Used in the model graph and the differentiated graph.

    ```mlir
    func.func @sort(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %before = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %before : tensor<i1>
      }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
    DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$comparator);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // PIPEMESH_STABLEHLO_CONTRACTION_OPS_TD
