// Refused control flow.
// RUN: pmopt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

func.func @while_types(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{1 values are carried, but 2 types given}}
  %0 = stablehlo.while(%y = %x) : tensor<4xf32>, tensor<4xf32> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %y : tensor<4xf32>
  }
  return
}

// -----

func.func @while_condition(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{the condition returns values of types ('tensor<4xf32>'), expected ('tensor<i1>')}}
  %0 = stablehlo.while(%y = %x) : tensor<4xf32> cond {
    stablehlo.return %y : tensor<4xf32>
  } do {
    stablehlo.return %y : tensor<4xf32>
  }
  return
}

// -----

func.func @while_body(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{the body returns values of types ('tensor<i1>'), expected ('tensor<4xf32>')}}
  %0 = stablehlo.while(%y = %x) : tensor<4xf32> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %p : tensor<i1>
  }
  return
}

// -----

func.func @while_arguments(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{the condition has arguments of types (), expected ('tensor<4xf32>')}}
  %0 = "stablehlo.while"(%x) ({
    stablehlo.return %p : tensor<i1>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_results(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation }}
  // expected-error @+1 {{failed to infer returned types}}
  "stablehlo.while"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%y: tensor<4xf32>):
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @if_predicate(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be rank-0 statically shaped tensor of boolean values}}
  %0 = "stablehlo.if"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @if_second_region(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{the second region returns values of types ('tensor<i1>'), expected ('tensor<4xf32>')}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %p : tensor<i1>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @if_first_region(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{the first region returns values of types (), expected ('tensor<4xf32>')}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @if_regions(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 regions}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @case_empty(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{has no region to choose}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @case_index(%i: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{has an index of type 'tensor<i64>', expected tensor<i32>}}
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @case_region(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{region 1 returns values of types (), expected ('tensor<4xf32>')}}
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @case_end(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{region 0 does not end in stablehlo.return}}
  %0 = "stablehlo.case"(%i) ({
    "other.end"() : () -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}
