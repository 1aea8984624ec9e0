//===- CostOpInterface.td - what an op costs --------------*- tablegen -*-===//

#ifndef PIPEMESH_INTERFACES_COSTOPINTERFACE_TD
#define PIPEMESH_INTERFACES_COSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::pipemesh";
  let description = [{
    Arithmetic and memory traffic of one op for its present (global or local)
    shapes. Ops without the interface move their operands and results once and
    do one operation for each element of the result.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations, and bytes read and written.",
      "::pipemesh::OpCost", "getCost", (ins)>
  ];
}

#endif
