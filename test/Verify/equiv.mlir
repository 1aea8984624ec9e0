// Two functions are compared by the names of their arguments and results.
// RUN: split-file %s %t
// RUN: pmcheck equiv %t/a.mlir %t/same.mlir | FileCheck %s --check-prefix=SAME
// RUN: pmcheck equiv %t/a.mlir %t/same.mlir --seed=7 | FileCheck %s --check-prefix=SAME
// RUN: not pmcheck equiv %t/a.mlir %t/other.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: pmcheck equiv %t/a.mlir %t/other.mlir --tolerance=2 | FileCheck %s --check-prefix=SAME
// RUN: not pmcheck equiv %t/a.mlir %t/fewer.mlir 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not pmcheck equiv %t/a.mlir %t/same.mlir --sed=7 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not pmcheck equiv %t/a.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not pmcheck equiv %t/a.mlir %t/same.mlir --seed=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not pmcheck prove %t/a.mlir 2>&1 | FileCheck %s --check-prefix=COMMAND
// RUN: pmcheck --help | FileCheck %s --check-prefix=HELP

// SAME: compared 2 values; largest differences:
// SAME: equivalent
// OTHER: pmcheck: error: 'gradient w' departs: element {{[0-9]+}} is
// FEWER: pmcheck: error: 'loss' is missing
// OPTION: pmcheck: error: unknown option '--sed'; usage: pmcheck equiv A.mlir B.mlir [options]
// COUNT: pmcheck: error: takes 2 files and got 1; usage: pmcheck equiv A.mlir B.mlir [options]
// NUMBER: pmcheck: error: '--seed=x' is not a number
// COMMAND: pmcheck: error: unknown command 'prove'; pmcheck --help lists them
// HELP: pmcheck equiv A.mlir B.mlir [options]
// HELP: Examples:

//--- a.mlir
func.func @main(%x: tensor<4x3xf32> {pm.input = "x"}, %w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">})
    -> (tensor<f32> {pm.output = "loss"}, tensor<3xf32> {pm.output = "gradient", pm.name = "w"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  %e = stablehlo.exponential %y : tensor<4xf32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return %loss, %g : tensor<f32>, tensor<3xf32>
}
// The arguments and results in another order, and another order of the sums.
//--- same.mlir
func.func @main(%w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">}, %x: tensor<4x3xf32> {pm.input = "x"})
    -> (tensor<3xf32> {pm.output = "gradient", pm.name = "w"}, tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %xw = stablehlo.multiply %x, %wide : tensor<4x3xf32>
  %y = stablehlo.reduce(%xw init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %e = stablehlo.exponential %y : tensor<4xf32>
  %r = stablehlo.reverse %e, dims = [0] : tensor<4xf32>
  %loss = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %column = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %ex = stablehlo.multiply %x, %column : tensor<4x3xf32>
  %g = stablehlo.reduce(%ex init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %g, %loss : tensor<3xf32>, tensor<f32>
}
// The gradient is doubled.
//--- other.mlir
func.func @main(%x: tensor<4x3xf32> {pm.input = "x"}, %w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">})
    -> (tensor<f32> {pm.output = "loss"}, tensor<3xf32> {pm.output = "gradient", pm.name = "w"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  %e = stablehlo.exponential %y : tensor<4xf32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  %twice = stablehlo.add %g, %g : tensor<3xf32>
  return %loss, %twice : tensor<f32>, tensor<3xf32>
}
//--- fewer.mlir
func.func @main(%x: tensor<4x3xf32> {pm.input = "x"}, %w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">})
    -> (tensor<3xf32> {pm.output = "gradient", pm.name = "w"}) {
  return %w : tensor<3xf32>
}
