// Who mixes elements along a dimension whose last block is short. What lies behind the
// end is not a number, or a large one; it must reach no result.
pm.mesh @mesh = [MESH]

func.func @reductions(%a: tensor<ROWSx4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}, %i: tensor<ROWSx4xi32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<ROWSxi1> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}, %u: tensor<ROWSxui8> {pm.sharding = #pm.sharding<@mesh, [{"y", "x"}]>})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i1>, tensor<i1>, tensor<ui8>, tensor<ui8>, tensor<4xi32>) {
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %f1 = stablehlo.constant dense<1.0> : tensor<f32>
  %flow = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %fhigh = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %im = stablehlo.constant dense<-1> : tensor<i32>
  %ilow = stablehlo.constant dense<-2147483648> : tensor<i32>
  %ihigh = stablehlo.constant dense<2147483647> : tensor<i32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %ulow = stablehlo.constant dense<0> : tensor<ui8>
  %uhigh = stablehlo.constant dense<255> : tensor<ui8>
  %0 = stablehlo.reduce(%a init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<ROWSx4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%a init: %f1) applies stablehlo.multiply across dimensions = [0] : (tensor<ROWSx4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%a init: %flow) applies stablehlo.maximum across dimensions = [0] : (tensor<ROWSx4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.reduce(%a init: %fhigh) applies stablehlo.minimum across dimensions = [0] : (tensor<ROWSx4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.reduce(%i init: %i0) applies stablehlo.add across dimensions = [0] : (tensor<ROWSx4xi32>, tensor<i32>) -> tensor<4xi32>
  %5 = stablehlo.reduce(%i init: %ilow) applies stablehlo.maximum across dimensions = [0] : (tensor<ROWSx4xi32>, tensor<i32>) -> tensor<4xi32>
  %6 = stablehlo.reduce(%i init: %ihigh) applies stablehlo.minimum across dimensions = [0] : (tensor<ROWSx4xi32>, tensor<i32>) -> tensor<4xi32>
  %7 = stablehlo.reduce(%b init: %true) applies stablehlo.and across dimensions = [0] : (tensor<ROWSxi1>, tensor<i1>) -> tensor<i1>
  %8 = stablehlo.reduce(%b init: %false) applies stablehlo.or across dimensions = [0] : (tensor<ROWSxi1>, tensor<i1>) -> tensor<i1>
  %9 = stablehlo.reduce(%u init: %ulow) applies stablehlo.maximum across dimensions = [0] : (tensor<ROWSxui8>, tensor<ui8>) -> tensor<ui8>
  %10 = stablehlo.reduce(%u init: %uhigh) applies stablehlo.minimum across dimensions = [0] : (tensor<ROWSxui8>, tensor<ui8>) -> tensor<ui8>
  %11 = stablehlo.reduce(%i init: %im) applies stablehlo.and across dimensions = [0] : (tensor<ROWSx4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i1>, tensor<i1>, tensor<ui8>, tensor<ui8>, tensor<4xi32>
}

func.func @argmax(%a: tensor<ROWSx4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<4xf32>, tensor<4xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %places = stablehlo.iota dim = 0 : tensor<ROWSx4xi32>
  %r:2 = stablehlo.reduce(%a init: %low), (%places init: %zero) across dimensions = [0] : (tensor<ROWSx4xf32>, tensor<ROWSx4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%v: tensor<f32>, %w: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %greater = stablehlo.compare GT, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %equal, %first : tensor<i1>
    %take = stablehlo.or %greater, %tie : tensor<i1>
    %value = stablehlo.select %take, %v, %w : tensor<i1>, tensor<f32>
    %index = stablehlo.select %take, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}

// Not zero times a number that is none, on either side.
func.func @products(%a: tensor<6xROWSxf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x", "y"}]>}, %b: tensor<ROWSx5xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}, %c: tensor<ROWSx5xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<6x5xf32>, tensor<ROWSxROWSxf32>, tensor<5x5xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6xROWSxf32>, tensor<ROWSx5xf32>) -> tensor<6x5xf32>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [1] : (tensor<ROWSx5xf32>, tensor<ROWSx5xf32>) -> tensor<ROWSxROWSxf32>
  %log = stablehlo.log %c : tensor<ROWSx5xf32>
  %quotient = stablehlo.divide %b, %log : tensor<ROWSx5xf32>
  %2 = stablehlo.dot_general %quotient, %c, contracting_dims = [0] x [0] : (tensor<ROWSx5xf32>, tensor<ROWSx5xf32>) -> tensor<5x5xf32>
  return %0, %1, %2 : tensor<6x5xf32>, tensor<ROWSxROWSxf32>, tensor<5x5xf32>
}

func.func @moved(%a: tensor<ROWSx4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<ROWSx4xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<ROWSx4xf32>, tensor<TWICEx4xf32>, tensor<PADDEDx4xf32>, tensor<LESSx4xf32>, tensor<ROWSx4xf32>, tensor<FLATxf32>, tensor<ROWSx2x2xf32>, tensor<4xROWSxf32>) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%v: tensor<f32>, %w: tensor<f32>):
    %less = stablehlo.compare LT, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<ROWSx4xf32>) -> tensor<ROWSx4xf32>
  %1 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<ROWSx4xf32>, tensor<ROWSx4xf32>) -> tensor<TWICEx4xf32>
  %f = stablehlo.constant dense<7.0> : tensor<f32>
  %2 = stablehlo.pad %a, %f, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<ROWSx4xf32>, tensor<f32>) -> tensor<PADDEDx4xf32>
  %3 = stablehlo.slice %b [1:ROWS, 0:4] : (tensor<ROWSx4xf32>) -> tensor<LESSx4xf32>
  %4 = stablehlo.reverse %a, dims = [0] : tensor<ROWSx4xf32>
  %5 = stablehlo.reshape %a : (tensor<ROWSx4xf32>) -> tensor<FLATxf32>
  %6 = stablehlo.reshape %b : (tensor<ROWSx4xf32>) -> tensor<ROWSx2x2xf32>
  %7 = stablehlo.transpose %a, dims = [1, 0] : (tensor<ROWSx4xf32>) -> tensor<4xROWSxf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<ROWSx4xf32>, tensor<TWICEx4xf32>, tensor<PADDEDx4xf32>, tensor<LESSx4xf32>, tensor<ROWSx4xf32>, tensor<FLATxf32>, tensor<ROWSx2x2xf32>, tensor<4xROWSxf32>
}

// Ids that are none, and updates behind the end.
func.func @indices(%table: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}]>}, %ids: tensor<ROWSx1xi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}, %n: tensor<ROWSxi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<ROWSx4xf32>, tensor<8x4xf32>, tensor<i32>) {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<ROWSx1xi32>) -> tensor<ROWSx4xf32>
  %1 = "stablehlo.scatter"(%table, %ids, %0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%v: tensor<f32>, %w: tensor<f32>):
    %sum = stablehlo.add %v, %w : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<ROWSx1xi32>, tensor<ROWSx4xf32>) -> tensor<8x4xf32>
  %seven = stablehlo.constant dense<7> : tensor<ROWSxi32>
  %quotient = stablehlo.divide %seven, %n : tensor<ROWSxi32>
  %rest = stablehlo.remainder %quotient, %n : tensor<ROWSxi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.reduce(%rest init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<ROWSxi32>, tensor<i32>) -> tensor<i32>
  return %0, %1, %2 : tensor<ROWSx4xf32>, tensor<8x4xf32>, tensor<i32>
}
