// RUN: pmopt %s --split-input-file --verify-diagnostics

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]
func.func @sources_of_all_members(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{names the sources of 2 members, but its axes have 4}}
  %b = pm.collective_permute %a over ["x", "y"] sources [1, 0] on @mesh : tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @source_of_the_group(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has the source 2, which is not one of its 2 members}}
  %b = pm.collective_permute %a over ["x"] sources [1, 2] on @mesh : tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @one_dimension(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{splits and joins the same dimension 1}}
  %b = pm.all_to_all %a split 1 concat 1 over ["x"] on @mesh : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @wrong_way(%a: tensor<4x4xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{but splits dimension 0 and joins dimension 1}}
  %b = pm.all_to_all %a split 0 concat 1 over ["x"] on @mesh : (tensor<4x4xf32>) -> tensor<8x2xf32>
  return %b : tensor<8x2xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @manual_sizes(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{operand 0 of type 'tensor<4xf32>' is 'tensor<2xf32>' on a rank of the manual axes, but the body has 'tensor<4xf32>'}}
  %b = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}]>] out [#pm.sharding<@mesh, [{}]>] manual ["x"] on @mesh : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%c: tensor<4xf32>):
    pm.return %c : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @manual_must_divide(%a: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{the manual axis 'x' of size 2 does not divide dimension 0 of 'tensor<3xf32>'}}
  %b = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}]>] out [#pm.sharding<@mesh, [{}]>] manual ["x"] on @mesh : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%c: tensor<2xf32>):
    pm.return %c : tensor<2xf32>
  }
  return %b : tensor<3xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]
func.func @parts_of_the_rows(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{names sources of 2 parts for each member, which do not divide dimension 0 of 'tensor<3x4xf32>'}}
  %b = pm.collective_permute %a over ["x"] sources [1, 0, 0, 1] on @mesh : tensor<3x4xf32>
  return %b : tensor<3x4xf32>
}
