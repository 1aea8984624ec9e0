// RUN: pmopt %s --pm-verify-fragments --split-input-file --verify-diagnostics

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{is no fragment; next to a program stand its fragments only}}
func.func @main() {
  return
}
pm.program @step on @mesh {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-note @below {{the first is here}}
func.func @a() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
// expected-error @below {{is a second #pm.fragment<forward, 0>}}
func.func @b() attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{argument 0 is bound to no buffer of the program}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @y}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{argument 0 is 'tensor<4xf32>', but its buffer 'x' holds 'tensor<8xf32>'}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @x}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<8xf32> sharding <@mesh, [{}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{argument 0 is #pm.sharding<@mesh, [{"mb"}]>, but its buffer 'x' is #pm.sharding<@mesh, [{}]>}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{argument 0 reads 'x', which no earlier fragment writes}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x value : tensor<4xf32> sharding <@mesh, [{}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{result 0 writes the input 'x'}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return %x : tensor<4xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
// expected-error @below {{result 1 writes 'y', which #pm.fragment<forward, 0> writes too}}
func.func @a(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (
    tensor<4xf32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, [{}]>}, tensor<4xf32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, [{}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]>
  pm.buffer @y value : tensor<4xf32> sharding <@mesh, [{}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @a(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) -> (
    tensor<f32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, []>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // expected-error @below {{sums over the temporal axis 'mb' within a micro-batch}}
  %1 = pm.reshard %0 from <@mesh, [], partial = sum{"mb"}> to <@mesh, []> : tensor<f32>
  return %1 : tensor<f32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{"mb"}]>
  pm.buffer @y value : tensor<f32> sharding <@mesh, []>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
func.func @a() -> (tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 1>} {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @below {{argument 0 reads 'x', which no earlier fragment writes}}
func.func @forward_of_an_earlier_stage(%x: tensor<4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x activation : tensor<4xf32> sharding <@mesh, [{"mb"}]>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
func.func @a() -> (tensor<4xf32> {pm.buffer = @g, pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"mb"}>}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @below {{argument 0 reads 'g', which no earlier fragment writes}}
func.func @sum_that_nothing_completes(%x: tensor<4xf32> {pm.buffer = @g, pm.sharding = #pm.sharding<@mesh, [{}]>}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @g accumulator : tensor<4xf32> sharding <@mesh, [{}], partial = sum{"mb"}>
}
