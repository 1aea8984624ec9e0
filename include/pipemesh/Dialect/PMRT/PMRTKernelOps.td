//===- PMRTKernelOps.td - ops of the kernel step ------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTKERNELOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTKERNELOPS_TD

include "pipemesh/Dialect/PMRT/PMRTDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PMRT_FusedOp : Op<PMRT_Dialect, "fused", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "tensor ops that become one kernel";
  let description = [{
    The region's arguments are the operands; it yields the results. Everything
    in it is computed in one pass through memory: nothing but operands and
    results has a buffer. `in_place[i]` is the operand whose buffer result i may
    take over (every element is read before the element at the same place is
    written, also when rows are computed in parallel), or -1.

    ```mlir
    %r = pmrt.fused (%x, %y) in_place [0] : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32> {
    ^bb0(%a: tensor<8x32xf32>, %b: tensor<8x32xf32>):
      %0 = stablehlo.add %a, %b : tensor<8x32xf32>
      pmrt.yield %0 : tensor<8x32xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       DenseI64ArrayAttr:$in_place);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `in_place` $in_place attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def PMRT_ProductOp : Op<PMRT_Dialect, "product", [Pure]> {
  let summary = "a matrix product with what a library does to its result";
  let description = [{
    The product of `lhs` and `rhs` over the contracted dimensions; dimensions of the
    result are the others of `lhs`, then those of `rhs`. `bias`, of the shape of the
    dimensions of `rhs`, is added; with `gelu` the result is
    `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` of that sum (Hendrycks and
    Gimpel 2016, section 2), and a second result, `before`, may be the sum itself.
    A product with neither is a `stablehlo.dot_general`.

    ```mlir
    %y, %x = pmrt.product %a, %w bias %b gelu contracting [1] x [0] : (tensor<20x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> (tensor<20x256xf32>, tensor<20x256xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       Optional<AnyRankedTensor>:$bias,
                       DenseI64ArrayAttr:$lhs_contracting,
                       DenseI64ArrayAttr:$rhs_contracting, UnitAttr:$gelu);
  let results = (outs AnyRankedTensor:$result, Optional<AnyRankedTensor>:$before);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? (`gelu` $gelu^)? `contracting` $lhs_contracting `x` $rhs_contracting
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def PMRT_YieldOp : Op<PMRT_Dialect, "yield", [Pure, Terminator,
    ParentOneOf<["FusedOp"]>]> {
  let summary = "the results of a fused kernel";
  let description = [{
    ```mlir
    %r = pmrt.fused (%x) in_place [0] : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %0 = stablehlo.negate %a : tensor<8xf32>
      pmrt.yield %0 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

#endif
