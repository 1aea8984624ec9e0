// Ops of the stablehlo dialect that move a window over a tensor.
#ifndef PIPEMESH_STABLEHLO_WINDOW_OPS_TD
#define PIPEMESH_STABLEHLO_WINDOW_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

def StableHLO_ReduceWindowOp : StableHLO_RegionOp<"reduce_window",
    [SameVariadicOperandSize, SingleBlock, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "A reduction of each window of a tensor";
  let description = [{
    The inputs are spread out by `base_dilations`, and `padding` elements are put
    before and after each dimension. A window of `window_dimensions`, itself spread
    out by `window_dilations`, moves over them in steps of `window_strides`; each
    element of a result joins the elements of one window by the body, as `reduce`
    does, where padding counts as the initial value. Absent lists are ones and
    absent padding is zero. A cumulative sum is a window as long as the dimension,
    padded on one side. Used at every tensor level.

    ```mlir
    func.func @reduce_window(%x: tensor<4x6xf32>, %zero: tensor<f32>) -> tensor<4x6xf32> {
      %sums = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [5, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 6>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
      return %sums : tensor<4x6xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
    DenseI64ArrayAttr:$window_dimensions,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
    OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
    OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    // How the window moves along a dimension, absent attributes filled in.
    struct Window {
      int64_t size, stride, baseDilation, dilation, low, high;
    };
    ::llvm::SmallVector<Window> getWindows();
  }];
  let hasRegionVerifier = 1;
}

def StableHLO_ConvolutionOp : StableHLO_Op<"convolution", [Pure, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "Sums of products of a kernel with each window of a tensor";
  let description = [{
    The kernel moves over the spatial dimensions of the input, which is spread out
    by `lhs_dilation` and padded with zeros by `padding`, in steps of
    `window_strides`; the kernel is spread out by `rhs_dilation` and read backwards
    where `window_reversal` says so. Each element of the result sums the products
    over the window and the input features. With `feature_group_count` the features,
    with `batch_group_count` the batch is cut into groups, each of which meets its
    part of the kernel's output features. Used at every tensor level.

    ```mlir
    func.func @convolution(%x: tensor<1x6x4xf32>, %w: tensor<6x1x3xf32>) -> tensor<1x6x4xf32> {
      %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<1x6x4xf32>, tensor<6x1x3xf32>) -> tensor<1x6x4xf32>
      return %y : tensor<1x6x4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<I64ElementsAttr>:$padding,
    OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
    OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
    OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
    StableHLO_ConvDimensionNumbersAttr:$dimension_numbers,
    I64Attr:$feature_group_count, I64Attr:$batch_group_count,
    OptionalAttr<StableHLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    `(` $lhs `,` $rhs `)` `dim_numbers` `=` custom<ConvDimensions>($dimension_numbers) `,`
    `window` `=` `{` custom<ConvWindow>($window_strides, $padding, $lhs_dilation, $rhs_dilation,
    $window_reversal) `}` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    // How the kernel moves along a spatial dimension, absent attributes filled in.
    struct Window {
      int64_t size, stride, inputDilation, dilation, low, high;
      bool reversed;
    };
    ::llvm::SmallVector<Window> getWindows();
  }];
  let hasVerifier = 1;
}

#endif // PIPEMESH_STABLEHLO_WINDOW_OPS_TD
