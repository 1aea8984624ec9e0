//===- DifferentiableOpInterface.td - gradients of ops -----*- tablegen -*-===//
//
// Attached to every op through external models (lib/Differentiate), so that a
// dialect does not know how it is differentiated.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define PIPEMESH_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::pipemesh";
  let description = [{
    Reverse-mode gradient of one op. The cotangent of each operand is built by
    a call of its own, so that the gradient of a stage's inputs and of its
    weights can be placed in different fragments (I and W).
  }];
  let methods = [
    InterfaceMethod<
      [{Whether a gradient can flow from a result to this operand: false for
        integer operands, predicates, and operands whose derivative is zero
        almost everywhere.}],
      "bool", "isDifferentiable", (ins "unsigned":$operandIndex)>,
    InterfaceMethod<
      [{Builds the cotangent of operand `operandIndex`, which must be
        differentiable, at the builder's insertion point. `resultCotangents`
        has one entry a result; an entry is null where no gradient flows into
        that result (it counts as zero). At least one is not null. The returned
        value has the operand's type; null means that the cotangent is zero.
        Fails after an error on the op.}],
      "::mlir::FailureOr<::mlir::Value>", "buildCotangent",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$operandIndex,
           "::mlir::ValueRange":$resultCotangents)>,
    InterfaceMethod<
      [{Why no cotangent of operand `operandIndex`, which must be
        differentiable, can be built ("a product"); empty where one can.}],
      "std::string", "getUnsupportedReason", (ins "unsigned":$operandIndex),
      "", "return {};">
  ];
}

#endif
