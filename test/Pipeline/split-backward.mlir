// RUN: pmopt %s --pm-propagate --pm-assign-stages --pm-split-stages -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: pmopt %t.mlir --pm-verify-fragments --pm-schedule --pm-verify-scheduled | FileCheck %s --check-prefix=ACTIONS
// RUN: pmopt %t.mlir --pm-schedule=name=1f1b --pm-verify-scheduled | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/pm.schedule = "zb-h1"/pm.schedule = "1f1b"/' %s | pmopt --pm-propagate --pm-assign-stages --pm-split-stages -o %t.whole.mlir
// RUN: not pmopt %t.whole.mlir --pm-schedule=name=zb-h1 2>&1 | FileCheck %s --check-prefix=APART

// APART: error: is a whole backward, but zb-h1 runs the gradients of inputs and of weights apart; give the schedule in the strategy, so that pm-split-stages knows it

// With a schedule that runs I and W apart, a backward is two fragments. I has what
// the stage before waits for, and nothing more; the product of each weight's
// gradient is in W, which reads what I made. The first stage sends no gradient; its
// I is what the gradients of several weights need: the sum, but not the product that
// leads to that of w alone.

// CHECK-LABEL: func.func @stage0_input_gradient
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.add
// CHECK-NEXT: return
// CHECK-LABEL: func.func @stage0_weight_gradient
// CHECK-NOT: stablehlo.add
// CHECK-COUNT-3: stablehlo.dot_general
// CHECK: return {{.*}} : tensor<4x4xf32>, tensor<4x4xf32>
// CHECK-LABEL: func.func @stage1_input_gradient
// CHECK-SAME: {pm.buffer = @v,
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
// CHECK-LABEL: func.func @stage1_weight_gradient
// CHECK-NOT: @v,
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: return {{.*}} : tensor<4x4xf32>

// ACTIONS: pm.role 0 {
// ACTIONS: pm.action forward stage 0 micro_batch 0
// ACTIONS: pm.action forward stage 0 micro_batch 1
// ACTIONS: pm.receive {{.*}} from 1 micro_batch 0
// ACTIONS: pm.action input_gradient stage 0 micro_batch 0
// ACTIONS-NEXT: pm.action weight_gradient stage 0 micro_batch 0
// ACTIONS: pm.role 1 {
// ACTIONS: pm.action forward stage 1 micro_batch 0
// ACTIONS-NEXT: pm.action input_gradient stage 1 micro_batch 0
// ACTIONS-NEXT: pm.send {{.*}} to 0 micro_batch 0
// ACTIONS: pm.action forward stage 1 micro_batch 1
// ACTIONS-NEXT: pm.action input_gradient stage 1 micro_batch 1
// ACTIONS-NEXT: pm.send {{.*}} to 0 micro_batch 1
// ACTIONS-NEXT: pm.action weight_gradient stage 1 micro_batch 0
// ACTIONS-NEXT: pm.action weight_gradient stage 1 micro_batch 1

// A B of a schedule runs both.
// WHOLE: pm.role 1 {
// WHOLE: pm.action forward stage 1 micro_batch 0
// WHOLE-NEXT: pm.action input_gradient stage 1 micro_batch 0
// WHOLE-NEXT: pm.send
// WHOLE-NEXT: pm.action weight_gradient stage 1 micro_batch 0

module attributes {pm.schedule = "zb-h1"} {
pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
func.func @step(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">},
    %u: tensor<4x4xf32> {pm.state = #pm.state<parameter, "u">},
    %v: tensor<4x4xf32> {pm.state = #pm.state<parameter, "v">}) -> (
    tensor<8x4xf32> {pm.output = "y"},
    tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">},
    tensor<4x4xf32> {pm.state = #pm.state<parameter, "u">},
    tensor<4x4xf32> {pm.state = #pm.state<parameter, "v">}) {
  %g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %h = stablehlo.dot_general %g, %u, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.dot_general %h, %v, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %dy = stablehlo.add %y, %y {pm.phase = "backward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %dh = stablehlo.dot_general %dy, %v, contracting_dims = [1] x [1] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %dv = stablehlo.dot_general %h, %dy, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dh2 = stablehlo.add %dh, %dh {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %dg = stablehlo.dot_general %dh2, %u, contracting_dims = [1] x [1] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %du = stablehlo.dot_general %g, %dh2, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dw = stablehlo.dot_general %x, %dg, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %w2 = stablehlo.subtract %w, %dw {pm.phase = "update"} : tensor<4x4xf32>
  %u2 = stablehlo.subtract %u, %du {pm.phase = "update"} : tensor<4x4xf32>
  %v2 = stablehlo.subtract %v, %dv {pm.phase = "update"} : tensor<4x4xf32>
  return %y, %w2, %u2, %v2 : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
}
