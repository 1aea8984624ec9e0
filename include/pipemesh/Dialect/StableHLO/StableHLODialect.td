// The stablehlo dialect itself, and what its op files share: type constraints,
// the elementwise trait and the base class. The ops are in StableHLO*Ops.td.
#ifndef PIPEMESH_STABLEHLO_DIALECT_TD
#define PIPEMESH_STABLEHLO_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::pipemesh::stablehlo";
  let summary = "Tensor operations, a subset of StableHLO";
  let description = [{
    The tensor vocabulary of every tensor level: operations with the meaning
    and the text that the public StableHLO specification gives them, restricted
    to ranked tensors of static shape. A module that JAX prints with these ops
    parses as it is. The C++ is Pipemesh's own.

    Operations are pure. Their verifiers check the constraints of the
    specification; where the specification determines a result's type, builders
    infer it.
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  // Each family of ops registers itself in its own file.
  let extraClassDeclaration = [{
    void addAllAttributes();
    void addElementwiseOps();
    void addShapeOps();
    void addContractionOps();
    void addIndexOps();
    void addControlOps();
    void addWindowOps();
    void addCallOps();
    void addCollectiveOps();
  }];
}

// ---- Types -----------------------------------------------------------------

// A ranked tensor of static shape and without an encoding.
class StableHLO_TensorOf<list<Type> elements, string what>
    : Type<And<[RankedTensorOf<elements, [HasStaticShapePred]>.predicate,
                CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">]>,
           "statically shaped tensor of " # what, "::mlir::RankedTensorType">;

def StableHLO_PredElement : Type<CPred<"$_self.isSignlessInteger(1)">, "i1">;
// An integer of the specification: every width but i1, which is its boolean.
def StableHLO_IntElement
    : Type<CPred<"::llvm::isa<::mlir::IntegerType>($_self) && !$_self.isInteger(1)">, "integer">;
def StableHLO_ComplexElement : Complex<AnyFloat>;

def StableHLO_ComplexTensor : StableHLO_TensorOf<[StableHLO_ComplexElement], "complex values">;
def StableHLO_Tensor
    : StableHLO_TensorOf<[AnyFloat, StableHLO_IntElement, StableHLO_PredElement,
                          StableHLO_ComplexElement], "number or boolean values">;
def StableHLO_NumberTensor
    : StableHLO_TensorOf<[AnyFloat, StableHLO_IntElement, StableHLO_ComplexElement], "number values">;
def StableHLO_RealTensor
    : StableHLO_TensorOf<[AnyFloat, StableHLO_IntElement], "real number values">;
def StableHLO_FloatOrComplexTensor
    : StableHLO_TensorOf<[AnyFloat, StableHLO_ComplexElement], "floating-point or complex values">;
def StableHLO_FloatTensor : StableHLO_TensorOf<[AnyFloat], "floating-point values">;
def StableHLO_IntTensor : StableHLO_TensorOf<[StableHLO_IntElement], "integer values">;
def StableHLO_PredOrIntTensor
    : StableHLO_TensorOf<[StableHLO_PredElement, StableHLO_IntElement], "boolean or integer values">;
def StableHLO_PredTensor : StableHLO_TensorOf<[StableHLO_PredElement], "boolean values">;
class StableHLO_ScalarOf<Type tensor>
    : Type<And<[tensor.predicate, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
           "rank-0 " # tensor.summary, "::mlir::RankedTensorType">;
def StableHLO_IntScalar : StableHLO_ScalarOf<StableHLO_IntTensor>;
def StableHLO_PredScalar : StableHLO_ScalarOf<StableHLO_PredTensor>;

// ---- Traits and the base class ---------------------------------------------

// Each element of the result is computed from the elements at the same index
// of the operands; an operand of rank 0 counts for every index.
def StableHLO_Elementwise : NativeOpTrait<"Elementwise"> {
  let cppNamespace = "::pipemesh::stablehlo";
}

class StableHLO_Op<string mnemonic, list<Trait> traits = []>
    : Op<StableHLO_Dialect, mnemonic, traits>;

// An op whose regions are functions of their own arguments.
class StableHLO_RegionOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([RecursiveMemoryEffects, RecursivelySpeculatable], traits)>;

#endif // PIPEMESH_STABLEHLO_DIALECT_TD
