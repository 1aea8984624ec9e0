//===- ShardingRuleOpInterface.td - how an op can be sharded -*- tablegen -*-===//

#ifndef PIPEMESH_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define PIPEMESH_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::pipemesh";
  let description = [{
    Describes an op as an einsum over factors: which dimensions of operands and
    results go together, which factors are summed over, and through which
    operands the op is linear (so that partial values may flow).
  }];
  let methods = [
    InterfaceMethod<"The rule of this op for its present shapes.",
      "::pipemesh::ShardingRule", "getShardingRule", (ins)>
  ];
}

#endif
