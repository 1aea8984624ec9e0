// The few ops of CHLO that JAX leaves in its modules.
#ifndef PIPEMESH_CHLO_TD
#define PIPEMESH_CHLO_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLODialect.td"

def CHLO_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::pipemesh::chlo";
  let summary = "Special functions beside stablehlo";
  let description = [{
    The elementwise functions that JAX prints in the CHLO dialect, because
    StableHLO has no op for them.
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

def CHLO_ErfOp : CHLO_UnaryOp<"erf", StableHLO_FloatTensor, "error function of x">;
def CHLO_ErfcOp : CHLO_UnaryOp<"erfc", StableHLO_FloatTensor, "1 - erf(x)">;
def CHLO_SquareOp : CHLO_UnaryOp<"square", StableHLO_NumberTensor, "x * x">;

#endif // PIPEMESH_CHLO_TD
