// Hexadecimal booleans: a byte for each element, as JAX writes them, is packed into
// a bit for each, as MLIR reads and writes them. Both forms are the same constant.
// RUN: pmopt %s | FileCheck %s
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmcheck run %s --print | FileCheck %s --check-prefix=VALUES

// VALUES: out0 = [true, false, true, true, false, false, false, false, true, true]
// VALUES: out1 = [true, false, true, true, false, false, false, false, true, true]
// VALUES: out2 = {{\[\[}}true, true], [true, true]]
func.func @main() -> (tensor<10xi1>, tensor<10xi1>, tensor<2x2xi1>) {
  // CHECK: stablehlo.constant dense<[true, false, true, true, false, false, false, false, true, true]> : tensor<10xi1>
  %0 = stablehlo.constant dense<"0x01000101000000000101"> : tensor<10xi1>
  // CHECK: stablehlo.constant dense<[true, false, true, true, false, false, false, false, true, true]> : tensor<10xi1>
  %1 = stablehlo.constant dense<"0x0D03"> : tensor<10xi1>
  // CHECK: stablehlo.constant dense<true> : tensor<2x2xi1>
  %2 = stablehlo.constant dense<"0x01010101"> : tensor<2x2xi1>
  // Bytes of other types stay.
  // CHECK: stablehlo.constant dense<[1, 0]> : tensor<2xi8>
  %3 = stablehlo.constant dense<"0x0100"> : tensor<2xi8>
  return %0, %1, %2 : tensor<10xi1>, tensor<10xi1>, tensor<2x2xi1>
}
