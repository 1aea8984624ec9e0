// The values of control flow and calls, and what is refused.
// RUN: split-file %s %t
// RUN: pmcheck run %t/loops.mlir --print | FileCheck %s --check-prefix=LOOPS
// RUN: not pmcheck run %t/recursion.mlir 2>&1 | FileCheck %s --check-prefix=RECURSION
// RUN: not pmcheck run %t/complex.mlir 2>&1 | FileCheck %s --check-prefix=COMPLEX
// RUN: not pmcheck run %t/ids.mlir 2>&1 | FileCheck %s --check-prefix=IDS

// LOOPS: out0 = 120
// LOOPS: out1 = 5
// LOOPS: out2 = [2, 3]
// LOOPS: out3 = [-1, -2]
// LOOPS: out4 = [9, 9]
//--- loops.mlir
func.func @main() -> (tensor<i32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r:2 = stablehlo.while(%i = %zero, %product = %one) : tensor<i32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %next_product = stablehlo.multiply %product, %next : tensor<i32>
    stablehlo.return %next, %next_product : tensor<i32>, tensor<i32>
  }
  %called = call @increment(%x) : (tensor<2xi32>) -> tensor<2xi32>
  // An index outside takes the last branch.
  %case = "stablehlo.case"(%five) ({
    stablehlo.return %x : tensor<2xi32>
  }, {
    %0 = stablehlo.negate %x : tensor<2xi32>
    stablehlo.return %0 : tensor<2xi32>
  }) : (tensor<i32>) -> tensor<2xi32>
  %if = "stablehlo.if"(%true) ({
    %nine = stablehlo.constant dense<9> : tensor<2xi32>
    stablehlo.return %nine : tensor<2xi32>
  }, {
    stablehlo.return %x : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  return %r#1, %r#0, %called, %case, %if : tensor<i32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
func.func private @increment(%x: tensor<2xi32>) -> tensor<2xi32> {
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %y = stablehlo.add %x, %one : tensor<2xi32>
  %z = stablehlo.optimization_barrier %y : tensor<2xi32>
  return %z : tensor<2xi32>
}

// RECURSION: error: calls are nested deeper than 100: the function calls itself
//--- recursion.mlir
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = call @main(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// COMPLEX: error: the interpreter has no values of type 'tensor<2xcomplex<f32>>'
//--- complex.mlir
func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  return %x : tensor<2xcomplex<f32>>
}

// IDS: error: id 4 is not a row of the table of 3 rows
//--- ids.mlir
func.func @main(%table: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %ids = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %x = pm.embedding %table, %ids : (tensor<3x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %x : tensor<2x2xf32>
}
