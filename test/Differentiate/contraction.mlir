// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// Neither gradient of a linear layer needs a transposition, in the layout of
// torch's Linear...
// CHECK-LABEL: func.func @linear_layer_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x5x3xf32>, %[[W:[a-z0-9]+]]: tensor<7x3xf32>, %[[DY:[a-z0-9]+]]: tensor<2x5x7xf32>)
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.dot_general %[[DY]], %[[W]], contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : {{.*}} -> tensor<2x5x3xf32>
// CHECK-NEXT:    %[[DW:.*]] = stablehlo.dot_general %[[DY]], %[[X]], contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : {{.*}} -> tensor<7x3xf32>
// CHECK-NEXT:    return %[[DX]], %[[DW]]
func.func @linear_layer(%x: tensor<2x5x3xf32>, %w: tensor<7x3xf32>) -> tensor<2x5x7xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x5x3xf32>, tensor<7x3xf32>) -> tensor<2x5x7xf32>
  return %y : tensor<2x5x7xf32>
}

// ...and in that of GPT-2's Conv1D.
// CHECK-LABEL: func.func @conv1d_layer_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x5x3xf32>, %[[W:[a-z0-9]+]]: tensor<3x7xf32>, %[[DY:[a-z0-9]+]]: tensor<2x5x7xf32>)
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.dot_general %[[DY]], %[[W]], contracting_dims = [2] x [1] : {{.*}} -> tensor<2x5x3xf32>
// CHECK-NEXT:    %[[DW:.*]] = stablehlo.dot_general %[[X]], %[[DY]], contracting_dims = [0, 1] x [0, 1] : {{.*}} -> tensor<3x7xf32>
// CHECK-NEXT:    return %[[DX]], %[[DW]]
func.func @conv1d_layer(%x: tensor<2x5x3xf32>, %w: tensor<3x7xf32>) -> tensor<2x5x7xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x5x3xf32>, tensor<3x7xf32>) -> tensor<2x5x7xf32>
  return %y : tensor<2x5x7xf32>
}

// Where no order of factors has the layout, the result is transposed.
// CHECK-LABEL: func.func @batch_in_the_middle_grad
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<2x5x3x4xf32>, %[[K:[a-z0-9]+]]: tensor<2x7x3x4xf32>, %[[DS:[a-z0-9]+]]: tensor<2x3x5x7xf32>)
// CHECK-NEXT:    %[[Q1:.*]] = stablehlo.dot_general %[[DS]], %[[K]], batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : {{.*}} -> tensor<2x3x5x4xf32>
// CHECK-NEXT:    %[[DQ:.*]] = stablehlo.transpose %[[Q1]], dims = [0, 2, 1, 3]
// CHECK-NEXT:    %[[K1:.*]] = stablehlo.dot_general %[[DS]], %[[Q]], batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : {{.*}} -> tensor<2x3x7x4xf32>
// CHECK-NEXT:    %[[DK:.*]] = stablehlo.transpose %[[K1]], dims = [0, 2, 1, 3]
// CHECK-NEXT:    return %[[DQ]], %[[DK]]
func.func @batch_in_the_middle(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32> {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32>
  return %s : tensor<2x3x5x7xf32>
}

// Several contracted dimensions in another order on each side.
// CHECK-LABEL: func.func @contracted_in_crossed_order_grad
// CHECK-SAME:    -> (tensor<2x3x4xf32>, tensor<4x5x2xf32>)
func.func @contracted_in_crossed_order(%a: tensor<2x3x4xf32>, %b: tensor<4x5x2xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [2, 0] : (tensor<2x3x4xf32>, tensor<4x5x2xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// A result wider than its operands: the gradient is computed in its type.
// CHECK-LABEL: func.func @wide_result_grad
// CHECK:         stablehlo.convert %{{.*}} : (tensor<7x3xbf16>) -> tensor<7x3xf32>
// CHECK:         stablehlo.dot_general {{.*}} (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
// CHECK:         stablehlo.convert %{{.*}} : (tensor<5x3xf32>) -> tensor<5x3xbf16>
func.func @wide_result(%x: tensor<5x3xbf16>, %w: tensor<7x3xbf16>) -> tensor<5x7xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<5x3xbf16>, tensor<7x3xbf16>) -> tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}
