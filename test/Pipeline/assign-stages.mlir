// RUN: pmopt %s --pm-assign-stages --split-input-file --verify-diagnostics --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @one_stage
func.func @one_stage(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: stablehlo.tanh %{{.*}} {pm.stage = 0 : i64}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// Five layers over two stages: two, and three. What stands in front goes to the
// first of its users, what stands behind stays with what it needs.
// CHECK-LABEL: func.func @layers_by_location
func.func @layers_by_location(%x: tensor<8xf32> {pm.input = "x"}, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}, %v: tensor<8xf32> {pm.state = #pm.state<parameter, "v">}) -> tensor<8xf32> {
  // CHECK: stablehlo.add {{.*}}pm.stage = 0
  %e = stablehlo.add %x, %w : tensor<8xf32> loc("model.embed")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 0
  %0 = stablehlo.tanh %e : tensor<8xf32> loc("model.layers.0.mlp")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 0
  %1 = stablehlo.tanh %0 : tensor<8xf32> loc("model.layers.1.mlp")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %2 = stablehlo.tanh %1 : tensor<8xf32> loc("model.layers.2.mlp.experts.0")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %3 = stablehlo.tanh %2 : tensor<8xf32> loc("model.layers.3.mlp")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %4 = stablehlo.tanh %3 : tensor<8xf32> loc("model.layers.4.mlp")
  // CHECK: stablehlo.negate {{.*}}pm.stage = 1
  %n = stablehlo.negate %v : tensor<8xf32> loc("lm_head")
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 1
  %5 = stablehlo.multiply %4, %n : tensor<8xf32> loc("lm_head")
  return %5 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// A backward op is on the stage of its forward op, and the sum of a value's
// gradients on that of the first op that uses the value. The update has none.
// CHECK-LABEL: func.func @backward_follows_forward
func.func @backward_follows_forward(%x: tensor<8xf32> {pm.input = "x"}, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 0
  %0 = stablehlo.multiply %x, %w {pm.phase = "forward"} : tensor<8xf32> loc("h.0.attn")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %1 = stablehlo.tanh %0 {pm.phase = "forward"} : tensor<8xf32> loc("h.1.norm")
  // CHECK: stablehlo.add {{.*}}pm.stage = 1
  %2 = stablehlo.add %0, %1 {pm.phase = "forward"} : tensor<8xf32> loc("h.1.residual")
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 1
  %3 = stablehlo.multiply %2, %1 {pm.phase = "backward"} : tensor<8xf32> loc("h.1.norm")
  // CHECK: stablehlo.add {{.*}}pm.stage = 1
  %4 = stablehlo.add %3, %2 {pm.phase = "backward"} : tensor<8xf32> loc("h.1.norm")
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 0
  %5 = stablehlo.multiply %4, %w {pm.phase = "backward"} : tensor<8xf32> loc("h.0.attn")
  // CHECK: stablehlo.subtract
  // CHECK-NOT: pm.stage
  %6 = stablehlo.subtract %w, %5 {pm.phase = "update"} : tensor<8xf32> loc("w")
  return %6 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// Without layers in the locations, pieces of equal cost; and a backward op goes
// where what it reads is read in the forward.
// CHECK-LABEL: func.func @pieces_of_equal_cost
func.func @pieces_of_equal_cost(%x: tensor<8x4xf32> {pm.input = "x"}, %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">}, %v: tensor<4x4xf32> {pm.state = #pm.state<parameter, "v">}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: stablehlo.dot_general {{.*}}pm.stage = 0
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 0
  %1 = stablehlo.tanh %0 {pm.phase = "forward"} : tensor<8x4xf32>
  // CHECK: stablehlo.dot_general {{.*}}pm.stage = 1
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %3 = stablehlo.tanh %2 {pm.phase = "forward"} : tensor<8x4xf32>
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 1
  %4 = stablehlo.multiply %3, %3 {pm.phase = "backward"} : tensor<8x4xf32>
  // CHECK: stablehlo.dot_general {{.*}}pm.stage = 1
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.dot_general {{.*}}pm.stage = 0
  %6 = stablehlo.dot_general %5, %w, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %3, %6 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 3>, <"mb", temporal = 2>]

// A stage that an op carries stays, and what needs the op is not on an earlier
// one.
// CHECK-LABEL: func.func @given_stage_is_kept
func.func @given_stage_is_kept(%x: tensor<8xf32> {pm.input = "x"}, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 1
  %0 = stablehlo.multiply %x, %w {pm.stage = 1 : i64} : tensor<8xf32> loc("h.0")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %1 = stablehlo.tanh %0 : tensor<8xf32> loc("h.0")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 1
  %2 = stablehlo.tanh %1 : tensor<8xf32> loc("h.1")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 2
  %3 = stablehlo.tanh %2 : tensor<8xf32> loc("h.2")
  return %3 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 3>, <"mb", temporal = 2>]

// ... and what it needs not on a later one.
// CHECK-LABEL: func.func @given_stage_binds_what_it_needs
func.func @given_stage_binds_what_it_needs(%x: tensor<8xf32> {pm.input = "x"}, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  // CHECK: stablehlo.multiply {{.*}}pm.stage = 0
  %0 = stablehlo.multiply %x, %w : tensor<8xf32> loc("h.0")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 0
  %1 = stablehlo.tanh %0 : tensor<8xf32> loc("h.1")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 0
  %2 = stablehlo.tanh %1 {pm.stage = 0 : i64} : tensor<8xf32> loc("h.1")
  // CHECK: stablehlo.tanh {{.*}}pm.stage = 2
  %3 = stablehlo.tanh %2 : tensor<8xf32> loc("h.2")
  return %3 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 4>, <"mb", temporal = 2>]

// expected-error @below {{has 3 layers, which do not make 4 pipeline stages; 1 to 3 stages work}}
func.func @more_stages_than_layers(%x: tensor<8xf32>, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  %0 = stablehlo.multiply %x, %w : tensor<8xf32> loc("model.layers.0")
  %1 = stablehlo.tanh %0 : tensor<8xf32> loc("model.layers.1")
  %2 = stablehlo.tanh %1 : tensor<8xf32> loc("model.layers.2")
  return %2 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 4>, <"mb", temporal = 2>]

// expected-error @below {{has 2 forward ops that need state, which do not make 4 pipeline stages; 1 to 2 stages work}}
func.func @more_stages_than_ops(%x: tensor<8xf32>, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  %0 = stablehlo.multiply %x, %w : tensor<8xf32>
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// expected-error @below {{has 2 pipeline stages, but no temporal axis for their micro-batches; add one, of size 1 at least}}
pm.mesh @mesh = [<"pp", stage = 2>]

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @stage_out_of_range(%x: tensor<8xf32>) {
  // expected-error @below {{is on stage 3, but the mesh has one stage, 0}}
  %0 = stablehlo.tanh %x {pm.stage = 3 : i64} : tensor<8xf32>
  return
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 1>]

func.func @stage_out_of_several(%x: tensor<8xf32>) {
  // expected-error @below {{is on stage 2, but the mesh has 2 stages, 0 to 1}}
  %0 = stablehlo.tanh %x {pm.stage = 2 : i64} : tensor<8xf32>
  return
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 1>]

func.func @stages_run_backwards(%x: tensor<8xf32>, %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  // expected-note @below {{the result is made here}}
  %0 = stablehlo.multiply %x, %w {pm.stage = 1 : i64} : tensor<8xf32>
  // expected-error @below {{is on stage 0 of the forward, but needs a result of stage 1, which runs after it}}
  %1 = stablehlo.tanh %0 {pm.stage = 0 : i64} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 1>]

// expected-error @below {{a step is one block, but this has 2}}
func.func @two_blocks() {
  return
^bb1:
  return
}

// -----

// expected-error @below {{the module has no mesh; run pm-apply-strategy, or add a pm.mesh}}
module {
}
