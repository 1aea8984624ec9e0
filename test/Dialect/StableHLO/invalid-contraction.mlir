// Refused contractions, reductions and sorts.
// RUN: pmopt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

func.func @dot_range(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{the left operand's list names dimension 3 of a tensor of rank 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_twice(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{the right operand's list names dimension 0 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [0] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_batching_count(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{2 batching dimensions of the left operand, but 1 of the right one}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_contracting_count(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{1 contracting dimensions of the left operand, but 2 of the right one}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [2, 0] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_batching_size(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{batching dimension 1 of the left operand has size 5, but dimension 1 of the right operand has size 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_contracting_size(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{contracting dimension 1 of the left operand has size 5, but dimension 2 of the right operand has size 64}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_types(%a: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error @+2 {{operands have element types 'f32' and 'bf16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xbf16>) -> tensor<f32>
  return
}

// -----

func.func @dot_result(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<8x5x7xf32>' are incompatible with return type(s) of operation 'tensor<8x7x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x7x5xf32>
  return
}

// -----

func.func @dot_narrower_result(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<8x5x7xf32>' are incompatible with return type(s) of operation 'tensor<8x5x7xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xbf16>
  return
}

// -----

func.func @dot_precision_count(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{has 1 precisions for its 2 operands}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_precision_name(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{unknown precision 'LOW', expected DEFAULT, HIGH or HIGHEST}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [LOW, LOW] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_precision_twice(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{expected 'algorithm' or 'precision', each once}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [2], precision = [HIGH, HIGH], precision = [HIGH, HIGH] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_algorithm_last(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{nothing follows the algorithm}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [2], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, precision = [HIGH, HIGH] : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_algorithm_count(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{has an algorithm with a count of 0}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @dot_algorithm_boolean(%a: tensor<8x5x64xf32>, %b: tensor<8x7x64xf32>) {
  // expected-error @+1 {{allow_imprecise_accumulation is 'true' or 'false'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [2], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = maybe> : (tensor<8x5x64xf32>, tensor<8x7x64xf32>) -> tensor<8x5x7xf32>
  return
}

// -----

func.func @reduce_range(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+2 {{dimensions names dimension 2 of a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [2] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+2 {{dimensions names dimension 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_init(%x: tensor<8x10xf32>, %z: tensor<i32>) {
  // expected-error @+2 {{initial value 0 of type 'tensor<i32>' is not a rank-0 tensor of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_init_rank(%x: tensor<8x10xf32>, %z: tensor<1xf32>) {
  // expected-error @+2 {{initial value 0 of type 'tensor<1xf32>' is not a rank-0 tensor of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<1xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<10xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applied_op(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reshape' is not an elementwise op of two operands}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.reshape across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applied_unary_op(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{requires a single operand}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.abs across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applied_comparison(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{requires attribute 'comparison_direction'}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.compare across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applied_unknown_op(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{'other.op' is not an elementwise op of two operands}}
  %0 = stablehlo.reduce(%x init: %z) applies other.op across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_applied_to_pairs(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{'applies' is the form of one ranked input and one result}}
  %0:2 = stablehlo.reduce(%x init: %z), (%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<8x10xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @reduce_operands(%x: tensor<8x10xf32>) {
  // expected-error @+2 {{expected an initial value for each of one input or more, got 1 operands}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%x) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x10xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_shapes(%x: tensor<8x10xf32>, %z: tensor<f32>, %y: tensor<8x9xf32>) {
  // expected-error @+2 {{input 1 of type 'tensor<8x9xf32>' has another shape than the first, of type 'tensor<8x10xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = "stablehlo.reduce"(%x, %y, %z, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x10xf32>, tensor<8x9xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @reduce_body_arguments(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{the body has arguments of types ('tensor<f32>'), expected ('tensor<f32>', 'tensor<f32>')}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>):
    %1 = stablehlo.add %a, %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_body_result(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{the body returns values of types (), expected ('tensor<f32>')}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return
  }) : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_body_end(%x: tensor<8x10xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{the body does not end in stablehlo.return}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    "other.end"() : () -> ()
  }) : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @sort_nothing() {
  // expected-error @+1 {{has nothing to sort}}
  "stablehlo.sort"() <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : () -> ()
  return
}

// -----

func.func @sort_dimension(%x: tensor<4xf32>) {
  // expected-error @+1 {{sorts along dimension 1 of tensors of rank 1}}
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{input 1 of type 'tensor<5xf32>' has another shape than the first, of type 'tensor<4xf32>'}}
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @sort_comparator(%x: tensor<4xf32>) {
  // expected-error @+1 {{the comparator returns values of types ('tensor<f32>'), expected ('tensor<i1>')}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_result(%x: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}
