// The few ops of CHLO that JAX leaves in its modules.
#ifndef PIPEMESH_CHLO_TD
#define PIPEMESH_CHLO_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLODialect.td"

def CHLO_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::pipemesh::chlo";
  let summary = "Functions beside stablehlo";
  let description = [{
    The functions that JAX prints in the CHLO dialect, because StableHLO has no op
    for them: elementwise ones and top_k.
  }];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
}

class CHLO_UnaryOp<string mnemonic, Type tensor, string formula>
    : Op<CHLO_Dialect, mnemonic, [Pure, StableHLO_Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise " # formula;
  let description = "Each element of the result is `" # formula # [{` of the element `x` of the operand
at the same index. Used at every tensor level.

```mlir
func.func @}] # mnemonic # [{(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = chlo.}] # mnemonic # [{ %x : tensor<2x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
```
}];
  let arguments = (ins tensor:$operand);
  let results = (outs tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def CHLO_AcosOp : CHLO_UnaryOp<"acos", StableHLO_FloatTensor, "arc cosine of x">;
def CHLO_AcoshOp : CHLO_UnaryOp<"acosh", StableHLO_FloatTensor, "inverse hyperbolic cosine of x">;
def CHLO_AsinOp : CHLO_UnaryOp<"asin", StableHLO_FloatTensor, "arc sine of x">;
def CHLO_AsinhOp : CHLO_UnaryOp<"asinh", StableHLO_FloatTensor, "inverse hyperbolic sine of x">;
def CHLO_AtanOp : CHLO_UnaryOp<"atan", StableHLO_FloatTensor, "arc tangent of x">;
def CHLO_AtanhOp : CHLO_UnaryOp<"atanh", StableHLO_FloatTensor, "inverse hyperbolic tangent of x">;
def CHLO_CoshOp : CHLO_UnaryOp<"cosh", StableHLO_FloatTensor, "hyperbolic cosine of x">;
def CHLO_DigammaOp : CHLO_UnaryOp<"digamma", StableHLO_FloatTensor, "derivative of log |gamma(x)|">;
def CHLO_ErfOp : CHLO_UnaryOp<"erf", StableHLO_FloatTensor, "error function of x">;
def CHLO_ErfcOp : CHLO_UnaryOp<"erfc", StableHLO_FloatTensor, "1 - erf(x)">;
def CHLO_ErfInvOp : CHLO_UnaryOp<"erf_inv", StableHLO_FloatTensor, "inverse of the error function at x">;
def CHLO_LgammaOp : CHLO_UnaryOp<"lgamma", StableHLO_FloatTensor, "log |gamma(x)|">;
def CHLO_SinhOp : CHLO_UnaryOp<"sinh", StableHLO_FloatTensor, "hyperbolic sine of x">;
def CHLO_SquareOp : CHLO_UnaryOp<"square", StableHLO_NumberTensor, "x * x">;

def CHLO_NextAfterOp
    : Op<CHLO_Dialect, "next_after", [Pure, StableHLO_Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise neighbour in a direction";
  let description = [{
    Each element of the result is the representable number next to the element of
    `x` in the direction of that of `y` at the same index; `y` itself where they are
    equal, NaN where either is. Used at every tensor level.

    ```mlir
    func.func @next_after(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %z = chlo.next_after %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      return %z : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_FloatTensor:$x, StableHLO_FloatTensor:$y);
  let results = (outs StableHLO_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)
  }];
}

def CHLO_TopKOp : Op<CHLO_Dialect, "top_k",
    [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The largest elements along the last dimension";
  let description = [{
    `values` holds the `k` largest elements along the last dimension of the operand,
    from the largest down, and `indices` where they stood; of equal ones the first
    comes first, and NaN counts as the largest. Used at every tensor level.

    ```mlir
    func.func @top_k(%x: tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
      %values, %indices = chlo.top_k(%x, k = 3) : tensor<4x6xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
      return %values, %indices : tensor<4x3xf32>, tensor<4x3xi32>
    }
    ```
  }];
  let arguments = (ins StableHLO_RealTensor:$operand, I64Attr:$k);
  let results = (outs StableHLO_RealTensor:$values, StableHLO_IntTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->`
    `(` type($values) `,` type($indices) `)`
  }];
}

#endif // PIPEMESH_CHLO_TD
