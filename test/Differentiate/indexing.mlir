// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// CHECK-LABEL: func.func @dynamic_slice_is_put_back_into_zeros_grad
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<i32>, %[[DY:[a-z0-9]+]]: tensor<2xf32>) -> tensor<5xf32>
// CHECK-NEXT:    %[[Z:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<5xf32>
// CHECK-NEXT:    stablehlo.dynamic_update_slice %[[Z]], %[[DY]], %[[I]]
func.func @dynamic_slice_is_put_back_into_zeros(%x: tensor<5xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %y = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @dynamic_update_slice_parts_its_cotangent_grad
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<i32>, %[[DY:[a-z0-9]+]]: tensor<5xf32>) -> (tensor<5xf32>, tensor<2xf32>)
// CHECK-DAG:     %[[Z:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<2xf32>
// CHECK-DAG:     %[[DX:.*]] = stablehlo.dynamic_update_slice %[[DY]], %[[Z]], %[[I]]
// CHECK-DAG:     %[[DU:.*]] = stablehlo.dynamic_slice %[[DY]], %[[I]], sizes = [2]
// CHECK:         return %[[DX]], %[[DU]]
func.func @dynamic_update_slice_parts_its_cotangent(%x: tensor<5xf32>, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<5xf32> {
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// A gather moves indices inside, where a scatter would drop them: so they are
// clamped first.
// CHECK-LABEL: func.func @gathered_rows_are_added_up_grad
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<2x3x1xi32>, %[[DY:[a-z0-9]+]]: tensor<2x3x4xf32>) -> tensor<10x4xf32>
// CHECK-DAG:     %[[LOW:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK-DAG:     %[[HIGH:.*]] = stablehlo.constant dense<9> : tensor<i32>
// CHECK-DAG:     %[[Z:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<10x4xf32>
// CHECK-DAG:     %[[INSIDE:.*]] = stablehlo.clamp %[[LOW]], %[[IDS]], %[[HIGH]]
// CHECK:         "stablehlo.scatter"(%[[Z]], %[[INSIDE]], %[[DY]])
// CHECK-SAME:    #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>
// CHECK:           stablehlo.add
func.func @gathered_rows_are_added_up(%table: tensor<10x4xf32>, %ids: tensor<2x3x1xi32>) -> tensor<2x3x4xf32> {
  %rows = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return %rows : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @indices_of_two_components_grad
// CHECK:         %[[BOUNDS:.*]] = stablehlo.constant dense<[4, 1]> : tensor<2xi32>
// CHECK:         stablehlo.broadcast_in_dim %[[BOUNDS]], dims = [1] : (tensor<2xi32>) -> tensor<3x2xi32>
func.func @indices_of_two_components(%x: tensor<5x4xf32>, %ids: tensor<3x2xi32>) -> tensor<3x3xf32> {
  %rows = "stablehlo.gather"(%x, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x4xf32>, tensor<3x2xi32>) -> tensor<3x3xf32>
  return %rows : tensor<3x3xf32>
}
