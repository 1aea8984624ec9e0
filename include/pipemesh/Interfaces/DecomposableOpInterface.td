//===- DecomposableOpInterface.td - fused ops ---------------*- tablegen -*-===//

#ifndef PIPEMESH_INTERFACES_DECOMPOSABLEOPINTERFACE_TD
#define PIPEMESH_INTERFACES_DECOMPOSABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::pipemesh";
  let description = [{
    A fused op whose meaning is its decomposition into `stablehlo`.
  }];
  let methods = [
    InterfaceMethod<
      [{Builds the decomposition at the builder's insertion point and returns
        one value for each result, of the result's type.}],
      "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif
