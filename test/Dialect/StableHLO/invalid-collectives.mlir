// RUN: pmopt %s -split-input-file -verify-diagnostics

func.func @twice(%arg0: tensor<4x2xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has the device 1 twice in its groups}}
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @negative(%arg0: tensor<4x2xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has the device -2 in its groups}}
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @gathered(%arg0: tensor<4x2xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{turns 'tensor<4x2xf32>' into 'tensor<4x6xf32>', expected 'tensor<4x4xf32>'}}
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @dimension(%arg0: tensor<4x2xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has all_gather_dim 2, which is not a dimension of 'tensor<4x2xf32>'}}
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @scatter(%arg0: tensor<4x3xf32>) -> tensor<4x1xf32> {
  // expected-error @+1 {{cannot cut dimension 1 of 'tensor<4x3xf32>' for the 2 devices of a group}}
  %0 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// -----

func.func @count(%arg0: tensor<4x2xf32>) -> tensor<1x8xf32> {
  // expected-error @+1 {{cuts its operands into 4 parts for the 2 devices of a group}}
  %0 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x2xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

func.func @reduced(%arg0: tensor<4x2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has results of other types than its operands}}
  %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @mixed(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{joins 'tensor<4xf32>' and 'tensor<4xi32>' by one body}}
  %0:2 = "stablehlo.all_reduce"(%arg0, %arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func @pairs(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has the device 0 twice as a target}}
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @triples(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has source_target_pairs of type 'tensor<1x3xi64>', expected pairs}}
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
