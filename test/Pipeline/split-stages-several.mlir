// RUN: pmopt %s --pm-propagate --pm-assign-stages --pm-split-stages --split-input-file | FileCheck %s

// What a stage hands to the next, and its gradient on the way back, are
// activations of both; the update of a stage has its own parameters only.

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: {pm.buffer = @x,
// CHECK-SAME: {pm.buffer = @w,
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.dot_general,
// CHECK-LABEL: func.func @stage0_backward
// CHECK-SAME: {pm.buffer = @x,
// CHECK-SAME: {pm.buffer = @saved.dot_general_1,
// CHECK-SAME: -> (tensor<4x4xf32> {pm.buffer = @w.gradient,
// CHECK-LABEL: func.func @stage0_reduce
// CHECK-SAME: {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"mb"}>}
// CHECK-SAME: -> (tensor<4x4xf32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}, {}]>}
// CHECK-LABEL: func.func @stage0_update
// CHECK-SAME: {pm.buffer = @w,
// CHECK-SAME: {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}, {}]>}
// CHECK-NOT: @v
// CHECK-SAME: -> (tensor<4x4xf32> {pm.buffer = @w,
// CHECK-LABEL: func.func @stage1_forward
// CHECK-SAME: (%{{.*}}: tensor<4x4xf32> {pm.buffer = @v,
// CHECK-SAME: {pm.buffer = @saved.dot_general,
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @y,
// CHECK-LABEL: func.func @stage1_backward
// CHECK-SAME: {pm.buffer = @v,
// CHECK-SAME: {pm.buffer = @saved.dot_general,
// CHECK-SAME: {pm.buffer = @y,
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.dot_general_1,{{.*}}, tensor<4x4xf32> {pm.buffer = @v.gradient,
// CHECK-LABEL: func.func @stage1_reduce
// CHECK-LABEL: func.func @stage1_update
// CHECK: pm.buffer @saved.dot_general activation : tensor<8x4xf32> sharding <@mesh, [{"mb"}, {}]>
// CHECK: pm.buffer @saved.dot_general_1 activation : tensor<8x4xf32> sharding <@mesh, [{"mb"}, {}]>
// CHECK: pm.role 0 {
// CHECK: pm.role 1 {
func.func @activations_and_gradients(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">},
    %v: tensor<4x4xf32> {pm.state = #pm.state<parameter, "v">}) -> (
    tensor<8x4xf32> {pm.output = "y"},
    tensor<4x4xf32> {pm.output = "gradient", pm.name = "w"},
    tensor<4x4xf32> {pm.output = "gradient", pm.name = "v"},
    tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">},
    tensor<4x4xf32> {pm.state = #pm.state<parameter, "v">}) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.dot_general %h, %v, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %dh = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %dv = stablehlo.dot_general %h, %y, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %w2 = stablehlo.subtract %w, %dw {pm.phase = "update"} : tensor<4x4xf32>
  %v2 = stablehlo.subtract %v, %dv {pm.phase = "update"} : tensor<4x4xf32>
  return %y, %dw, %dv, %w2, %v2 : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A value of the first stage goes to each later stage that reads it, without a
// copy of the ones between; a view of it is made where it is read.

pm.mesh @mesh = [<"pp", stage = 3>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.multiply,
// CHECK-LABEL: func.func @stage1_forward
// CHECK-SAME: {pm.buffer = @saved.multiply,
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.tanh,
// CHECK-LABEL: func.func @stage2_forward
// CHECK-SAME: {pm.buffer = @saved.multiply,
// CHECK-SAME: {pm.buffer = @saved.tanh,
// CHECK: stablehlo.reshape
// CHECK: stablehlo.reshape
// CHECK: stablehlo.add
func.func @skip_connection(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<8x4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<8x2x2xf32> {pm.output = "y"}) {
  %0 = stablehlo.multiply %x, %w {pm.stage = 0 : i64} : tensor<8x4xf32>
  %1 = stablehlo.reshape %0 {pm.stage = 0 : i64} : (tensor<8x4xf32>) -> tensor<8x2x2xf32>
  %2 = stablehlo.tanh %0 {pm.stage = 1 : i64} : tensor<8x4xf32>
  %3 = stablehlo.reshape %2 {pm.stage = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x2x2xf32>
  %4 = stablehlo.add %1, %3 {pm.stage = 2 : i64} : tensor<8x2x2xf32>
  return %4 : tensor<8x2x2xf32>
}

// -----

// The backward of one stage may read what the forward of a later one made.

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_backward
// CHECK-SAME: {pm.buffer = @saved.tanh,
// CHECK-LABEL: func.func @stage1_forward
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.tanh,
func.func @forward_value_in_an_earlier_backward(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<8x4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<8x4xf32> {pm.output = "dx"}) {
  %0 = stablehlo.multiply %x, %w {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %1 = stablehlo.tanh %0 {pm.phase = "forward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %2 = stablehlo.multiply %1, %w {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// What needs no state is computed by each stage that reads it; what is made of
// state once a step is sent.

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_prologue
// CHECK-SAME: {pm.buffer = @w,
// CHECK-SAME: -> (tensor<4xf32> {pm.buffer = @value.exponential,{{.*}}, tensor<4xf32> {pm.buffer = @value.cosine,
// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: {pm.buffer = @value.exponential,
// CHECK-SAME: {pm.buffer = @value.cosine,
// CHECK-LABEL: func.func @stage1_prologue() -> (tensor<4xf32> {pm.buffer = @value.cosine_1,
// CHECK: stablehlo.cosine
// CHECK-LABEL: func.func @stage1_forward
// CHECK-SAME: {pm.buffer = @value.exponential,
// CHECK-SAME: {pm.buffer = @value.cosine_1,
// CHECK-NOT: {pm.buffer = @w,
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @y,
func.func @tables_and_values_of_the_prologue(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<8x4xf32> {pm.output = "y"}) {
  %e = stablehlo.exponential %w {pm.stage = 0 : i64} : tensor<4xf32>
  %i = stablehlo.iota dim = 0 {pm.stage = 0 : i64} : tensor<4xf32>
  %c = stablehlo.cosine %i {pm.stage = 0 : i64} : tensor<4xf32>
  %ce = stablehlo.add %c, %e {pm.stage = 0 : i64} : tensor<4xf32>
  %eb = stablehlo.broadcast_in_dim %e, dims = [1] {pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [1] {pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = stablehlo.multiply %x, %eb {pm.stage = 0 : i64} : tensor<8x4xf32>
  %1 = stablehlo.multiply %0, %cb {pm.stage = 0 : i64} : tensor<8x4xf32>
  %2 = stablehlo.multiply %1, %cb {pm.stage = 1 : i64} : tensor<8x4xf32>
  %3 = stablehlo.multiply %2, %eb {pm.stage = 1 : i64} : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

// A tied parameter lives on the stages that read it. The part of its gradient
// that the last stage makes goes to the first one's reduce, and the sum to both
// updates.

pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_backward
// CHECK-SAME: -> (tensor<4xf32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}
// CHECK-LABEL: func.func @stage0_reduce
// CHECK-SAME: {pm.buffer = @sum.reduce, pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}
// CHECK-SAME: {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}
// CHECK-SAME: -> (tensor<4xf32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}]>}
// CHECK: stablehlo.add
// CHECK-NEXT: pm.reshard
// CHECK-NEXT: return
// CHECK-LABEL: func.func @stage0_update
// CHECK-SAME: {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}]>}
// CHECK-LABEL: func.func @stage1_backward
// CHECK-SAME: {pm.buffer = @sum.reduce, pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}
// CHECK-NOT: func.func @stage1_reduce
// CHECK-LABEL: func.func @stage1_update
// CHECK-SAME: {pm.buffer = @w,
// CHECK-SAME: {pm.buffer = @w.moment1,
// CHECK-SAME: {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [{}]>}
// CHECK-SAME: -> (tensor<4xf32> {pm.buffer = @w,{{.*}}, tensor<4xf32> {pm.buffer = @w.moment1,
func.func @tied_parameter(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %w: tensor<4xf32> {pm.state = #pm.state<parameter, "w">},
    %m: tensor<4xf32> {pm.state = #pm.state<moment1, "w">}) -> (
    tensor<4xf32> {pm.output = "gradient", pm.name = "w"},
    tensor<4xf32> {pm.state = #pm.state<parameter, "w">},
    tensor<4xf32> {pm.state = #pm.state<moment1, "w">}) {
  %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %w, dims = [1] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = stablehlo.multiply %x, %b {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %1 = stablehlo.multiply %0, %b {pm.phase = "forward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %2 = stablehlo.multiply %1, %0 {pm.phase = "backward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %dw1 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.multiply %2, %b {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %dw0 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %dw = stablehlo.add %dw1, %dw0 {pm.phase = "backward", pm.stage = 0 : i64} : tensor<4xf32>
  %m2 = stablehlo.add %m, %dw {pm.phase = "update"} : tensor<4xf32>
  %w2 = stablehlo.subtract %w, %m2 {pm.phase = "update"} : tensor<4xf32>
  return %dw, %w2, %m2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Each reduce adds up the squares of its own parameters, in the order in which
// they came; every update adds the sums of the stages, first to last, and is
// scaled alike. The norm itself is written once.

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_reduce
// CHECK-SAME: tensor<f32> {pm.buffer = @value.add,
// CHECK: %[[S:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK-NOT: stablehlo.add
// CHECK: return {{.*}}%[[S]]
// CHECK-LABEL: func.func @stage0_update
// CHECK-SAME: %[[B:[^ ]*]]: tensor<f32> {pm.buffer = @value.multiply,
// CHECK-SAME: %[[A:[^ ]*]]: tensor<f32> {pm.buffer = @value.add,
// CHECK-SAME: {pm.buffer = @grad_norm,
// CHECK: %[[T:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK: stablehlo.sqrt %[[T]]
// CHECK-LABEL: func.func @stage1_reduce
// CHECK-SAME: tensor<f32> {pm.buffer = @value.multiply,
// CHECK-LABEL: func.func @stage1_update
// CHECK-SAME: %[[B:[^ ]*]]: tensor<f32> {pm.buffer = @value.multiply,
// CHECK-SAME: %[[A:[^ ]*]]: tensor<f32> {pm.buffer = @value.add,
// CHECK-SAME: -> (tensor<f32> {pm.buffer = @c,
// CHECK: %[[T:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK: stablehlo.sqrt %[[T]]
func.func @norm_over_stages(
    %x: tensor<8xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}]>},
    %a: tensor<f32> {pm.state = #pm.state<parameter, "a">},
    %b: tensor<f32> {pm.state = #pm.state<parameter, "b">},
    %c: tensor<f32> {pm.state = #pm.state<parameter, "c">}) -> (
    tensor<f32> {pm.output = "grad_norm"},
    tensor<f32> {pm.state = #pm.state<parameter, "a">},
    tensor<f32> {pm.state = #pm.state<parameter, "b">},
    tensor<f32> {pm.state = #pm.state<parameter, "c">}) {
  %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
  %aw = stablehlo.broadcast_in_dim %a, dims = [] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<f32>) -> tensor<8xf32>
  %bw = stablehlo.broadcast_in_dim %b, dims = [] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<f32>) -> tensor<8xf32>
  %cw = stablehlo.broadcast_in_dim %c, dims = [] {pm.phase = "forward", pm.stage = 1 : i64} : (tensor<f32>) -> tensor<8xf32>
  %0 = stablehlo.multiply %x, %aw {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8xf32>
  %1 = stablehlo.multiply %0, %bw {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8xf32>
  %2 = stablehlo.multiply %1, %cw {pm.phase = "forward", pm.stage = 1 : i64} : tensor<8xf32>
  %3 = stablehlo.multiply %2, %1 {pm.phase = "backward", pm.stage = 1 : i64} : tensor<8xf32>
  %dc = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.multiply %2, %cw {pm.phase = "backward", pm.stage = 1 : i64} : tensor<8xf32>
  %5 = stablehlo.multiply %4, %0 {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8xf32>
  %db = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %6 = stablehlo.multiply %4, %bw {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8xf32>
  %7 = stablehlo.multiply %6, %x {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8xf32>
  %da = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %a2 = stablehlo.multiply %da, %da {pm.phase = "update"} : tensor<f32>
  %b2 = stablehlo.multiply %db, %db {pm.phase = "update"} : tensor<f32>
  %c2 = stablehlo.multiply %dc, %dc {pm.phase = "update"} : tensor<f32>
  %s1 = stablehlo.add %a2, %c2 {pm.phase = "update"} : tensor<f32>
  %s2 = stablehlo.add %s1, %b2 {pm.phase = "update"} : tensor<f32>
  %norm = stablehlo.sqrt %s2 {pm.phase = "update"} : tensor<f32>
  %na = stablehlo.subtract %a, %norm {pm.phase = "update"} : tensor<f32>
  %nb = stablehlo.subtract %b, %norm {pm.phase = "update"} : tensor<f32>
  %nc = stablehlo.subtract %c, %norm {pm.phase = "update"} : tensor<f32>
  return %norm, %na, %nb, %nc : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Where ranks hold parts of the squares, the sum of a stage is completed, not
// each of its terms.

pm.mesh @mesh = [<"pp", stage = 2>, <"tp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @stage0_reduce
// CHECK: %[[A:.*]] = stablehlo.reduce
// CHECK: %[[B:.*]] = stablehlo.reduce
// CHECK: %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]] {{.*}}partial = sum{"tp"}
// CHECK-NEXT: %[[OWN:.*]] = pm.reshard %[[SUM]] from <@mesh, [], partial = sum{"tp"}> to <@mesh, []>
// CHECK-NEXT: %[[ALL:.*]] = stablehlo.add %[[OWN]]
// CHECK-NEXT: return %[[ALL]]
// CHECK-LABEL: func.func @stage0_update
func.func @norm_over_stages_and_ranks(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {"tp"}]>},
    %a: tensor<4xf32> {pm.state = #pm.state<parameter, "a">, pm.sharding = #pm.sharding<@mesh, [{"tp"}]>},
    %b: tensor<4xf32> {pm.state = #pm.state<parameter, "b">, pm.sharding = #pm.sharding<@mesh, [{"tp"}]>},
    %c: tensor<4xf32> {pm.state = #pm.state<parameter, "c">, pm.sharding = #pm.sharding<@mesh, [{"tp"}]>},
    %d: tensor<f32> {pm.state = #pm.state<parameter, "d">},
    %e: tensor<f32> {pm.state = #pm.state<parameter, "e">}) -> (
    tensor<f32> {pm.state = #pm.state<parameter, "d">},
    tensor<f32> {pm.state = #pm.state<parameter, "e">}) {
  %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
  %aw = stablehlo.broadcast_in_dim %a, dims = [1] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %bw = stablehlo.broadcast_in_dim %b, dims = [1] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %cw = stablehlo.broadcast_in_dim %c, dims = [1] {pm.phase = "forward", pm.stage = 1 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %dw = stablehlo.broadcast_in_dim %d, dims = [] {pm.phase = "forward", pm.stage = 0 : i64} : (tensor<f32>) -> tensor<8x4xf32>
  %ew = stablehlo.broadcast_in_dim %e, dims = [] {pm.phase = "forward", pm.stage = 1 : i64} : (tensor<f32>) -> tensor<8x4xf32>
  %3 = stablehlo.multiply %x, %dw {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %0 = stablehlo.multiply %3, %aw {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %1 = stablehlo.multiply %0, %bw {pm.phase = "forward", pm.stage = 0 : i64} : tensor<8x4xf32>
  %4 = stablehlo.multiply %1, %ew {pm.phase = "forward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %2 = stablehlo.multiply %4, %cw {pm.phase = "forward", pm.stage = 1 : i64} : tensor<8x4xf32>
  %dc = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %db = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %da = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %dd = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "backward", pm.stage = 0 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %d2 = stablehlo.multiply %dd, %dd {pm.phase = "update"} : tensor<f32>
  %a2 = stablehlo.multiply %da, %da {pm.phase = "update"} : tensor<4xf32>
  %as = stablehlo.reduce(%a2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "update"} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %b2 = stablehlo.multiply %db, %db {pm.phase = "update"} : tensor<4xf32>
  %bs = stablehlo.reduce(%b2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "update"} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %c2 = stablehlo.multiply %dc, %dc {pm.phase = "update"} : tensor<4xf32>
  %cs = stablehlo.reduce(%c2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "update"} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %s0 = stablehlo.add %as, %d2 {pm.phase = "update"} : tensor<f32>
  %s1 = stablehlo.add %s0, %bs {pm.phase = "update"} : tensor<f32>
  %s2 = stablehlo.add %s1, %cs {pm.phase = "update"} : tensor<f32>
  %norm = stablehlo.sqrt %s2 {pm.phase = "update"} : tensor<f32>
  %nd = stablehlo.subtract %d, %norm {pm.phase = "update"} : tensor<f32>
  %ne = stablehlo.subtract %e, %norm {pm.phase = "update"} : tensor<f32>
  return %nd, %ne : tensor<f32>, tensor<f32>
}
