// RUN: pmopt %s --pm-split-stages --split-input-file | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// A count over the whole batch goes to the prologue with all it needs; masks
// are computed where they are needed; the loss is accumulated.

// CHECK-LABEL: func.func @stage0_prologue
// CHECK-SAME: %[[LABELS:.*]]: tensor<8xi32> {pm.buffer = @labels
// CHECK-SAME: -> (tensor<f32> {pm.buffer = @value.reshard
// CHECK: %[[MASK:.*]] = stablehlo.compare{{.*}}%[[LABELS]]
// CHECK: %[[ONES:.*]] = stablehlo.convert %[[MASK]]
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[ONES]]
// CHECK: %[[COUNT:.*]] = pm.reshard %[[SUM]]
// CHECK: return %[[COUNT]]

// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: {pm.buffer = @labels
// CHECK-SAME: {pm.buffer = @w
// CHECK-SAME: {pm.buffer = @value.reshard
// CHECK-SAME: -> (tensor<8xf32> {pm.buffer = @saved.tanh{{.*}}, tensor<f32> {pm.buffer = @sum.divide
// CHECK: stablehlo.compare
// CHECK: stablehlo.tanh
// CHECK: stablehlo.divide

// The broadcast in front of the saved value is made again, not saved.
// CHECK-LABEL: func.func @stage0_backward
// CHECK-SAME: {pm.buffer = @w
// CHECK-SAME: {pm.buffer = @saved.tanh
// CHECK-SAME: -> (tensor<f32> {pm.buffer = @w.gradient{{.*}}partial = sum{"dp", "mb"}
// CHECK: stablehlo.broadcast_in_dim

// The reduced gradient goes to the buffer that it was summed in.
// CHECK-LABEL: func.func @stage0_update
// CHECK-SAME: {pm.buffer = @sum.divide
// CHECK-SAME: {pm.buffer = @w.gradient
// CHECK-SAME: -> (tensor<f32> {pm.buffer = @loss{{.*}}, tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, []>}, tensor<f32> {pm.buffer = @w,

// CHECK-LABEL: pm.program @step on @mesh
// CHECK-NEXT: pm.buffer @labels  input : tensor<8xi32> sharding <@mesh, [{"dp", "mb"}]> {role = "labels"}
// CHECK-NEXT: pm.buffer @w  state : tensor<f32> sharding <@mesh, []> {parameter = "w", role = "parameter"}
// CHECK-NEXT: pm.buffer @value.reshard  value : tensor<f32>
// CHECK-NEXT: pm.buffer @saved.tanh  activation : tensor<8xf32> sharding <@mesh, [{"dp", "mb"}]>
// CHECK-NEXT: pm.buffer @sum.divide  accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"dp", "mb"}>
// CHECK-NEXT: pm.buffer @w.gradient  accumulator : tensor<f32> {{.*}} {parameter = "w", role = "gradient"}
// CHECK-NEXT: pm.buffer @loss  output : tensor<f32> sharding <@mesh, []> {role = "loss"}
// CHECK-NEXT: pm.role 0 {
func.func @main(
    %labels: tensor<8xi32> {pm.input = "labels", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}]>},
    %w: tensor<f32> {pm.state = #pm.state<parameter, "w">, pm.sharding = #pm.sharding<@mesh, []>}) -> (
    tensor<f32> {pm.output = "loss", pm.sharding = #pm.sharding<@mesh, []>},
    tensor<f32> {pm.output = "gradient", pm.name = "w", pm.sharding = #pm.sharding<@mesh, []>},
    tensor<f32> {pm.state = #pm.state<parameter, "w">, pm.sharding = #pm.sharding<@mesh, []>}) {
  %zero = stablehlo.constant {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  %minus = stablehlo.constant {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} dense<-100> : tensor<8xi32>
  %mask = stablehlo.compare NE, %labels, %minus {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %ones = stablehlo.convert %mask {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : (tensor<8xi1>) -> tensor<8xf32>
  %total = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"dp", "mb"}>]} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %count = pm.reshard %total from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  %wb = stablehlo.broadcast_in_dim %w, dims = [] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : (tensor<f32>) -> tensor<8xf32>
  %x = stablehlo.dot_general %wb, %ones, batching_dims = [0] x [0], contracting_dims = [] x [] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = stablehlo.tanh %x {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : tensor<8xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"dp", "mb"}>]} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %count {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"dp", "mb"}>]} : tensor<f32>
  %loss = pm.reshard %mean from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  %d = stablehlo.multiply %y, %wb {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}]>]} : tensor<8xf32>
  %dw = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"dp", "mb"}>]} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %g = pm.reshard %dw from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> {pm.phase = "update", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  %w1 = stablehlo.subtract %w, %g {pm.phase = "update", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  return %loss, %g, %w1 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// Tables that depend on no input are computed once a step. An output that is
// cut over micro-batches is written by the forward.

// CHECK-LABEL: func.func @stage0_prologue
// CHECK-NEXT: stablehlo.iota
// CHECK-NEXT: stablehlo.cosine
// CHECK-NOT: return %0,
// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: {pm.buffer = @x
// CHECK-SAME: {pm.buffer = @value.cosine
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @y
// CHECK-NOT: func.func
// CHECK: pm.buffer @y  activation : tensor<8x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {role = "y"}
func.func @main(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (
    tensor<8x4xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) {
  %i = stablehlo.iota dim = 0 {pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %c = stablehlo.cosine %i {pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [1] {pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : (tensor<4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.multiply %x, %cb {pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// The backward reads the gate and the other factor anyhow, and uses the
// logistic and the gated value in elementwise ops: it computes them again. The
// product is read by a contraction, and is saved.

// CHECK-LABEL: func.func @stage0_forward
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @saved.dot_general,{{.*}}, tensor<8x4xf32> {pm.buffer = @saved.dot_general_1,{{.*}}, tensor<8x4xf32> {pm.buffer = @saved.multiply, {{[^@]*}}@mesh, [{"dp", "mb"}, {}]>}) attributes
// CHECK-LABEL: func.func @stage0_backward
// CHECK: %[[S:.*]] = stablehlo.logistic
// CHECK: stablehlo.multiply %{{.*}}, %[[S]]
func.func @main(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">, pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> (
    tensor<4x4xf32> {pm.output = "gradient", pm.name = "w", pm.sharding = #pm.sharding<@mesh, [{}, {}]>},
    tensor<8x4xf32> {pm.output = "dg", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) {
  %g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %u = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = stablehlo.logistic %g {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %a = stablehlo.multiply %g, %s {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %h = stablehlo.multiply %a, %u {pm.phase = "forward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %dw = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{}, {}], partial = sum{"dp", "mb"}>]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %du = stablehlo.multiply %x, %a {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %ds = stablehlo.multiply %du, %s {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %dg = stablehlo.multiply %ds, %g {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %dgu = stablehlo.multiply %dg, %u {pm.phase = "backward", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : tensor<8x4xf32>
  %r = pm.reshard %dw from <@mesh, [{}, {}], partial = sum{"dp", "mb"}> to <@mesh, [{}, {}]> {pm.phase = "update", pm.stage = 0 : i64, pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<4x4xf32>
  return %r, %dgu : tensor<4x4xf32>, tensor<8x4xf32>
}
