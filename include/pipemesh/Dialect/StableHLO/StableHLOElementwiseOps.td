// Elementwise ops of the stablehlo dialect.
#ifndef PIPEMESH_STABLEHLO_ELEMENTWISE_OPS_TD
#define PIPEMESH_STABLEHLO_ELEMENTWISE_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pipemesh/Dialect/StableHLO/StableHLOAttrs.td"

class StableHLO_UnaryOp<string mnemonic, Type tensor, string formula, string notes = "",
                        string example = "tensor<2x3xf32>">
    : StableHLO_Op<mnemonic, [Pure, StableHLO_Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise " # formula;
  let description = "Each element of the result is `" # formula # [{` of the element `x` of the operand
at the same index. }] # notes # [{ Used at every tensor level.

```mlir
func.func @}] # mnemonic # "(%x: " # example # ") -> " # example # [{ {
  %y = stablehlo.}] # mnemonic # " %x : " # example # [{
  return %y : }] # example # [{
}
```
}];
  let arguments = (ins tensor:$operand);
  let results = (outs tensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
}

class StableHLO_BinaryOp<string mnemonic, Type tensor, string formula, list<Trait> traits = [],
                         string notes = "", string example = "tensor<2x3xf32>">
    : StableHLO_Op<mnemonic, !listconcat([Pure, StableHLO_Elementwise, SameOperandsAndResultType], traits)> {
  let summary = "Elementwise " # formula;
  let description = "Each element of the result is `" # formula # [{` of the elements `a` of the left and `b` of
the right operand at the same index. }] # notes # [{ Used at every tensor level.

```mlir
func.func @}] # mnemonic # "(%a: " # example # ", %b: " # example # ") -> " # example # [{ {
  %c = stablehlo.}] # mnemonic # " %a, %b : " # example # [{
  return %c : }] # example # [{
}
```
}];
  let arguments = (ins tensor:$lhs, tensor:$rhs);
  let results = (outs tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<SameType>(type($lhs), type($rhs), type($result))
  }];
}

// ---- Unary -----------------------------------------------------------------

def StableHLO_CbrtOp : StableHLO_UnaryOp<"cbrt", StableHLO_FloatOrComplexTensor, "cube root of x">;
def StableHLO_CeilOp : StableHLO_UnaryOp<"ceil", StableHLO_FloatTensor, "smallest integer not below x">;
def StableHLO_ClzOp : StableHLO_UnaryOp<"count_leading_zeros", StableHLO_IntTensor,
    "number of zero bits above the highest set bit of x", "All bits of a zero.", "tensor<4xui32>">;
def StableHLO_CosineOp : StableHLO_UnaryOp<"cosine", StableHLO_FloatOrComplexTensor, "cos(x)">;
def StableHLO_ExpOp : StableHLO_UnaryOp<"exponential", StableHLO_FloatOrComplexTensor, "e^x">;
def StableHLO_Expm1Op : StableHLO_UnaryOp<"exponential_minus_one", StableHLO_FloatOrComplexTensor, "e^x - 1",
    "Precise where `x` is small.">;
def StableHLO_FloorOp : StableHLO_UnaryOp<"floor", StableHLO_FloatTensor, "largest integer not above x">;
def StableHLO_LogOp : StableHLO_UnaryOp<"log", StableHLO_FloatOrComplexTensor, "natural logarithm of x">;
def StableHLO_Log1pOp : StableHLO_UnaryOp<"log_plus_one", StableHLO_FloatOrComplexTensor, "log(1 + x)",
    "Precise where `x` is small.">;
def StableHLO_LogisticOp : StableHLO_UnaryOp<"logistic", StableHLO_FloatOrComplexTensor, "1 / (1 + e^-x)">;
def StableHLO_NegOp : StableHLO_UnaryOp<"negate", StableHLO_NumberTensor, "-x",
    "Integers wrap around.">;
def StableHLO_NotOp : StableHLO_UnaryOp<"not", StableHLO_PredOrIntTensor, "complement of x",
    "The logical complement of a boolean, that of all bits of an integer.", "tensor<2x3xi1>">;
def StableHLO_PopulationCountOp : StableHLO_UnaryOp<"popcnt", StableHLO_IntTensor,
    "number of set bits of x", "", "tensor<4xui32>">;
def StableHLO_RoundNearestAfzOp : StableHLO_UnaryOp<"round_nearest_afz", StableHLO_FloatTensor,
    "integer nearest to x", "Ties go away from zero.">;
def StableHLO_RoundNearestEvenOp : StableHLO_UnaryOp<"round_nearest_even", StableHLO_FloatTensor,
    "integer nearest to x", "Ties go to the even one.">;
def StableHLO_RsqrtOp : StableHLO_UnaryOp<"rsqrt", StableHLO_FloatOrComplexTensor, "1 / sqrt(x)">;
def StableHLO_SignOp : StableHLO_UnaryOp<"sign", StableHLO_NumberTensor, "sign of x",
    "-1, 0 or 1; a signed zero and NaN stay what they are; `x / |x|` of a complex number.">;
def StableHLO_SineOp : StableHLO_UnaryOp<"sine", StableHLO_FloatOrComplexTensor, "sin(x)">;
def StableHLO_SqrtOp : StableHLO_UnaryOp<"sqrt", StableHLO_FloatOrComplexTensor, "sqrt(x)">;
def StableHLO_TanOp : StableHLO_UnaryOp<"tan", StableHLO_FloatOrComplexTensor, "tan(x)">;
def StableHLO_TanhOp : StableHLO_UnaryOp<"tanh", StableHLO_FloatOrComplexTensor, "tanh(x)">;

def StableHLO_AbsOp : StableHLO_Op<"abs",
    [Pure, StableHLO_Elementwise, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Elementwise |x|";
  let description = [{
    Each element of the result is `|x|` of the element `x` of the operand at the
    same index; that of a complex number is real. Used at every tensor level.

    ```mlir
    func.func @abs(%x: tensor<2x3xf32>, %z: tensor<4xcomplex<f32>>) -> (tensor<2x3xf32>, tensor<4xf32>) {
      %0 = stablehlo.abs %x : tensor<2x3xf32>
      %1 = stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
      return %0, %1 : tensor<2x3xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_NumberTensor:$operand);
  let results = (outs StableHLO_RealTensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
}

class StableHLO_PartOp<string mnemonic, string what>
    : StableHLO_Op<mnemonic,
        [Pure, StableHLO_Elementwise, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Elementwise " # what # " part";
  let description = "Each element of the result is the " # what # [{ part of the operand's element at the
same index; a real number counts as a complex one without imaginary part. Used at
every tensor level.

```mlir
func.func @}] # mnemonic # [{(%z: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %x = stablehlo.}] # mnemonic # [{ %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
```
}];
  let arguments = (ins StableHLO_FloatOrComplexTensor:$operand);
  let results = (outs StableHLO_FloatTensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
}
def StableHLO_RealOp : StableHLO_PartOp<"real", "real">;
def StableHLO_ImagOp : StableHLO_PartOp<"imag", "imaginary">;

def StableHLO_ComplexOp : StableHLO_Op<"complex",
    [Pure, StableHLO_Elementwise, SameTypeOperands, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Elementwise a + bi";
  let description = [{
    Each element of the result is the complex number whose real part is the element
    of the left and whose imaginary part is that of the right operand. Used at
    every tensor level.

    ```mlir
    func.func @complex(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
      %z = stablehlo.complex %a, %b : tensor<4xcomplex<f32>>
      return %z : tensor<4xcomplex<f32>>
    }
    ```
  }];
  let arguments = (ins StableHLO_FloatTensor:$lhs, StableHLO_FloatTensor:$rhs);
  let results = (outs StableHLO_ComplexTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ComplexType>(type($lhs), type($rhs), type($result))
  }];
}

def StableHLO_ReducePrecisionOp : StableHLO_Op<"reduce_precision",
    [Pure, StableHLO_Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise rounding to fewer bits";
  let description = [{
    Each element of the result is the operand's element, rounded to the nearest
    number (ties to even) of a format with `exponent_bits` and `mantissa_bits`:
    too large ones become infinite, and those below its smallest normal number
    zero. Used at every tensor level.

    ```mlir
    func.func @reduce_precision(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_FloatTensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs StableHLO_FloatTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<FloatFormat>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<SameType>(type($operand), type($output))
  }];
  let hasVerifier = 1;
}

def StableHLO_IsFiniteOp : StableHLO_Op<"is_finite",
    [Pure, StableHLO_Elementwise, SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "Elementwise test for neither infinity nor NaN";
  let description = [{
    Each element of the result is true where the operand's element is a number:
    neither infinite nor NaN. Used at every tensor level.

    ```mlir
    func.func @is_finite(%x: tensor<4xf32>) -> tensor<4xi1> {
      %finite = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
      return %finite : tensor<4xi1>
    }
    ```
  }];
  let arguments = (ins StableHLO_FloatTensor:$x);
  let results = (outs StableHLO_PredTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def StableHLO_ConvertOp : StableHLO_Op<"convert",
    [Pure, StableHLO_Elementwise, SameOperandsAndResultShape]> {
  let summary = "Elementwise conversion to another element type";
  let description = [{
    Each element of the result is the operand's element, represented in the
    result's element type: floating point rounds to the nearest (ties to even),
    conversion to an integer truncates towards zero, to a boolean tests for
    unequal to zero, and from a boolean gives 0 or 1. Used at every tensor level.

    ```mlir
    func.func @convert(%x: tensor<4xi1>, %y: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
      %0 = stablehlo.convert %x : (tensor<4xi1>) -> tensor<4xf32>
      %1 = stablehlo.convert %y : tensor<f32>
      return %0, %1 : tensor<4xf32>, tensor<f32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType)>];
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameType>(type($operand), type($result))
  }];
  let hasFolder = 1;
}

// ---- Binary ----------------------------------------------------------------

def StableHLO_AddOp : StableHLO_BinaryOp<"add", StableHLO_Tensor, "a + b", [Commutative],
    "Integers wrap around; booleans are joined by or.">;
def StableHLO_AndOp : StableHLO_BinaryOp<"and", StableHLO_PredOrIntTensor, "a and b", [Commutative],
    "Bit by bit for integers.", "tensor<2x3xi1>">;
def StableHLO_Atan2Op : StableHLO_BinaryOp<"atan2", StableHLO_FloatOrComplexTensor,
    "angle of the point (b, a) from the positive x axis", [], "Between -pi and pi.">;
def StableHLO_DivOp : StableHLO_BinaryOp<"divide", StableHLO_NumberTensor, "a / b", [],
    "Integer division truncates towards zero.">;
def StableHLO_MaxOp : StableHLO_BinaryOp<"maximum", StableHLO_Tensor, "max(a, b)", [Commutative],
    "NaN if either is NaN; booleans are joined by or.">;
def StableHLO_MinOp : StableHLO_BinaryOp<"minimum", StableHLO_Tensor, "min(a, b)", [Commutative],
    "NaN if either is NaN; booleans are joined by and.">;
def StableHLO_MulOp : StableHLO_BinaryOp<"multiply", StableHLO_Tensor, "a * b", [Commutative],
    "Integers wrap around; booleans are joined by and.">;
def StableHLO_OrOp : StableHLO_BinaryOp<"or", StableHLO_PredOrIntTensor, "a or b", [Commutative],
    "Bit by bit for integers.", "tensor<2x3xi1>">;
def StableHLO_PowOp : StableHLO_BinaryOp<"power", StableHLO_NumberTensor, "a^b">;
def StableHLO_RemOp : StableHLO_BinaryOp<"remainder", StableHLO_NumberTensor, "remainder of a / b", [],
    "It has the sign of `a`, and `|b|` bounds it.">;
def StableHLO_ShiftLeftOp : StableHLO_BinaryOp<"shift_left", StableHLO_IntTensor, "a << b", [],
    "Zero where `b` is not below the number of bits.", "tensor<4xui32>">;
def StableHLO_ShiftRightArithmeticOp : StableHLO_BinaryOp<"shift_right_arithmetic", StableHLO_IntTensor,
    "a >> b, filled with the sign", [], "All sign bits where `b` is not below the number of bits.",
    "tensor<4xi32>">;
def StableHLO_ShiftRightLogicalOp : StableHLO_BinaryOp<"shift_right_logical", StableHLO_IntTensor,
    "a >> b, filled with zeros", [], "Zero where `b` is not below the number of bits.",
    "tensor<4xui32>">;
def StableHLO_SubtractOp : StableHLO_BinaryOp<"subtract", StableHLO_NumberTensor, "a - b", [],
    "Integers wrap around.">;
def StableHLO_XorOp : StableHLO_BinaryOp<"xor", StableHLO_PredOrIntTensor, "a xor b", [Commutative],
    "Bit by bit for integers.", "tensor<2x3xi1>">;

// ---- Comparison and choice -------------------------------------------------

def StableHLO_CompareOp : StableHLO_Op<"compare",
    [Pure, StableHLO_Elementwise, SameTypeOperands, InferTypeOpAdaptor]> {
  let summary = "Elementwise comparison";
  let description = [{
    Each element of the result says whether the left operand's element stands in
    the relation `comparison_direction` (EQ, NE, GE, GT, LE, LT) to the right
    one's. With `compare_type` FLOAT (and when it is left out) floating-point
    numbers compare as IEEE 754 says: NaN is unequal to everything; TOTALORDER
    sorts -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN. SIGNED and UNSIGNED
    belong to integers and booleans. Used at every tensor level.

    ```mlir
    func.func @compare(%a: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>) {
      %0 = stablehlo.compare LT, %a, %a, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %1 = stablehlo.compare EQ, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      return %0, %1 : tensor<4xi1>, tensor<4xi1>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
    StableHLO_ComparisonDirectionAttr:$comparison_direction,
    OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_PredTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "::pipemesh::stablehlo::ComparisonDirection":$direction)>];
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_SelectOp : StableHLO_Op<"select",
    [Pure, StableHLO_Elementwise, InferTypeOpAdaptor]> {
  let summary = "Elementwise choice between two tensors";
  let description = [{
    Each element of the result is the element of `on_true` where `pred` is true
    and that of `on_false` elsewhere. `pred` has the shape of the others or rank
    0. Used at every tensor level.

    ```mlir
    func.func @select(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
      return %c : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_PredTensor:$pred, StableHLO_Tensor:$on_true,
                       StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
    custom<SelectType>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

def StableHLO_ClampOp : StableHLO_Op<"clamp",
    [Pure, StableHLO_Elementwise, InferTypeOpAdaptor]> {
  let summary = "Elementwise clamping between a minimum and a maximum";
  let description = [{
    Each element of the result is `min(max(x, low), high)`. `min` and `max` have
    the shape of the operand or rank 0. Used at every tensor level.

    ```mlir
    func.func @clamp(%low: tensor<f32>, %x: tensor<4xf32>, %high: tensor<f32>) -> tensor<4xf32> {
      %y = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$min, StableHLO_Tensor:$operand, StableHLO_Tensor:$max);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<SameType>(type($min), type($operand), type($max), type($result))
  }];
}

#endif // PIPEMESH_STABLEHLO_ELEMENTWISE_OPS_TD
