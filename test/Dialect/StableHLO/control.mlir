// Control flow, as JAX prints it.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @while(
// CHECK: stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.constant dense<1> : tensor<i32>
// CHECK: stablehlo.while(%{{[^ ,)]+}} = %{{[^ ,)]+}}, %{{[^ ,)]+}} = %{{[^ ,)]+}}) : tensor<i32>, tensor<4xf32>
// CHECK: cond {
// CHECK: stablehlo.compare LT, %{{[^ ,)]+}}, %{{[^ ,)]+}}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<i1>
// CHECK: } do {
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i32>
// CHECK: func.call @double(%{{[^ ,)]+}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: stablehlo.return %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i32>, tensor<4xf32>
func.func @while(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %iterArg, %one : tensor<i32>
    %2 = func.call @double(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_with_attributes(
// CHECK: stablehlo.constant dense<false> : tensor<i1>
// CHECK: stablehlo.while(%{{[^ ,)]+}} = %{{[^ ,)]+}}) : tensor<4xf32> attributes {name = "never"}
// CHECK: cond {
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<i1>
// CHECK: } do {
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<4xf32>
func.func @while_with_attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.while(%iterArg = %x) : tensor<4xf32> attributes {name = "never"}
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %iterArg : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_without_values(
// CHECK: stablehlo.while()
// CHECK: cond {
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<i1>
// CHECK: } do {
// CHECK: stablehlo.return
func.func @while_without_values(%p: tensor<i1>) {
  stablehlo.while()
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return
  }
  return
}

// CHECK-LABEL: func.func @if(
// CHECK: "stablehlo.if"(%{{[^ ,)]+}}) ({
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<4xf32>
// CHECK: }, {
// CHECK: stablehlo.negate %{{[^ ,)]+}} : tensor<4xf32>
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<4xf32>
// CHECK: }) : (tensor<i1>) -> tensor<4xf32>
func.func @if(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @case(
// CHECK: "stablehlo.case"(%{{[^ ,)]+}}) ({
// CHECK: stablehlo.return %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xf32>, tensor<i32>
// CHECK: }, {
// CHECK: stablehlo.negate %{{[^ ,)]+}} : tensor<4xf32>
// CHECK: stablehlo.return %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xf32>, tensor<i32>
// CHECK: }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
func.func @case(%i: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %0:2 = "stablehlo.case"(%i) ({
    stablehlo.return %x, %i : tensor<4xf32>, tensor<i32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1, %i : tensor<4xf32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<i32>
}

// CHECK-LABEL: func.func private @double(
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xf32>
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
