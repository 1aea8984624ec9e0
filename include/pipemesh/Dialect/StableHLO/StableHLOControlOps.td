// Control flow of the stablehlo dialect.
#ifndef PIPEMESH_STABLEHLO_CONTROL_OPS_TD
#define PIPEMESH_STABLEHLO_CONTROL_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "pipemesh/Dialect/StableHLO/StableHLODialect.td"

def StableHLO_ReturnOp : StableHLO_Op<"return", [Pure, Terminator]> {
  let summary = "The end of a region";
  let description = [{
    Gives the values of the region that it ends to the op around it. Used at every
    tensor level.

    ```mlir
    func.func @return(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = "stablehlo.if"(%p) ({
        stablehlo.return %x : tensor<4xf32>
      }, {
        %0 = stablehlo.negate %x : tensor<4xf32>
        stablehlo.return %0 : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

def StableHLO_WhileOp : StableHLO_Op<"while",
    [RecursiveMemoryEffects, InferTypeOpAdaptor,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A loop";
  let description = [{
    Starting from the operands, the body computes the next values from the present
    ones as long as the condition of the present ones is true; the results are the
    last values. Used in the model graph and the differentiated graph.

    ```mlir
    func.func @while(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %double = stablehlo.add %y, %y : tensor<4xf32>
        stablehlo.return %next, %double : tensor<i32>, tensor<4xf32>
      }
      return %r#1 : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def StableHLO_IfOp : StableHLO_RegionOp<"if", []> {
  let summary = "A choice between two regions";
  let description = [{
    The values of the first region where `pred` is true, else those of the second.
    Used in the model graph and the differentiated graph.

    ```mlir
    func.func @if(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = "stablehlo.if"(%p) ({
        %0 = stablehlo.add %x, %x : tensor<4xf32>
        stablehlo.return %0 : tensor<4xf32>
      }, {
        stablehlo.return %x : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_PredScalar:$pred);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let hasRegionVerifier = 1;
}

def StableHLO_CaseOp : StableHLO_RegionOp<"case", []> {
  let summary = "A choice between regions by an index";
  let description = [{
    The values of the region of number `index`; of the last one when there is no
    such region. Used in the model graph and the differentiated graph.

    ```mlir
    func.func @case(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = "stablehlo.case"(%i) ({
        stablehlo.return %x : tensor<4xf32>
      }, {
        %0 = stablehlo.negate %x : tensor<4xf32>
        stablehlo.return %0 : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_IntScalar:$index);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // PIPEMESH_STABLEHLO_CONTROL_OPS_TD
