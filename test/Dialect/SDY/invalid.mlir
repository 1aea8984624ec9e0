// RUN: pmopt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{axis "x" has size 0, expected at least 1}}
sdy.mesh @mesh = <["x"=0]>

// -----

func.func @part(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{a part of axis "x" has sizes of at least 1}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x":(0)2}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @priority(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected 'p' and a priority, but found 'q1'}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}q1]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @word(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected 'replicated' or 'unreduced', each once, but found 'reduced'}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}], reduced={"y"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @operands(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has 1 operands, 0 in_shardings and 1 arguments of the body}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @results(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has 1 results, 0 out_shardings and 1 values that the body returns}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[] manual_axes={"x"} (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @end(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{does not end with sdy.return}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<8xf32>) {
    stablehlo.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
