// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// CHECK-LABEL: func.func @add_gives_its_cotangent_to_both_grad
// CHECK-SAME:    %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %[[DY:.*]]: tensor<3xf32>)
// CHECK-NEXT:    return %[[DY]], %[[DY]]
func.func @add_gives_its_cotangent_to_both(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @subtract_negates_for_the_right_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-NEXT:    %[[N:.*]] = stablehlo.negate %[[DY]]
// CHECK-NEXT:    return %[[DY]], %[[N]]
func.func @subtract_negates_for_the_right(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.subtract %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @multiply_takes_the_other_factor_grad
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3xf32>, %[[B:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-DAG:     %[[DB:.*]] = stablehlo.multiply %[[DY]], %[[A]]
// CHECK-DAG:     %[[DA:.*]] = stablehlo.multiply %[[DY]], %[[B]]
// CHECK:         return %[[DA]], %[[DB]]
func.func @multiply_takes_the_other_factor(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.multiply %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @divide_reuses_the_quotient_grad
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3xf32>, %[[B:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK:         %[[Y:.*]] = stablehlo.divide %[[A]], %[[B]]
// CHECK:         %[[DA:.*]] = stablehlo.divide %[[DY]], %[[B]]
// CHECK:         %[[P:.*]] = stablehlo.multiply %[[DA]], %[[Y]]
// CHECK:         %[[DB:.*]] = stablehlo.negate %[[P]]
// CHECK:         return %[[DA]], %[[DB]]
func.func @divide_reuses_the_quotient(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.divide %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @maximum_halves_ties_grad
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3xf32>, %[[B:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-DAG:     %[[TIE:.*]] = stablehlo.compare EQ, %[[A]], %[[B]]
// CHECK-DAG:     %[[HALF:.*]] = stablehlo.multiply %[[DY]]
// CHECK-DAG:     %[[REST:.*]] = stablehlo.select %[[TIE]], %[[HALF]]
// CHECK-DAG:     %[[WIN:.*]] = stablehlo.compare GT, %[[A]], %[[B]]
// CHECK-DAG:     %[[DA:.*]] = stablehlo.select %[[WIN]], %[[DY]], %[[REST]]
// CHECK-DAG:     %[[LOSE:.*]] = stablehlo.compare GT, %[[B]], %[[A]]
// CHECK-DAG:     %[[DB:.*]] = stablehlo.select %[[LOSE]], %[[DY]], %[[REST]]
// CHECK:         return %[[DA]], %[[DB]]
func.func @maximum_halves_ties(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.maximum %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @minimum_takes_the_lesser_grad
// CHECK:         stablehlo.compare LT
// CHECK:         stablehlo.compare LT
func.func @minimum_takes_the_lesser(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.minimum %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// A constant exponent needs no power in its gradient.
// CHECK-LABEL: func.func @power_three_is_a_square_times_three_grad
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-NOT:     stablehlo.power
// CHECK:         %[[SQ:.*]] = stablehlo.multiply %[[A]], %[[A]]
// CHECK:         %[[SLOPE:.*]] = stablehlo.multiply %[[SQ]]
// CHECK:         %[[DA:.*]] = stablehlo.multiply %[[DY]], %[[SLOPE]]
// CHECK:         return %[[DA]]
func.func @power_three_is_a_square_times_three(%a: tensor<3xf32>) -> tensor<3xf32> {
  %three = stablehlo.constant dense<3.0> : tensor<3xf32>
  %y = stablehlo.power %a, %three : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @power_guards_a_zero_base_and_exponent_grad
// CHECK:         stablehlo.power
// CHECK-DAG:     stablehlo.compare EQ, %{{.*}}, %{{.*}}
// CHECK-DAG:     stablehlo.log
func.func @power_guards_a_zero_base_and_exponent(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.power %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @exponential_uses_its_result_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-NEXT:    %[[Y:.*]] = stablehlo.exponential %[[X]]
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.multiply %[[DY]], %[[Y]]
// CHECK-NEXT:    return %[[DX]]
func.func @exponential_uses_its_result(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.exponential %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @logarithm_does_not_compute_its_result_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.divide %[[DY]], %[[X]]
// CHECK-NEXT:    return %[[DX]]
func.func @logarithm_does_not_compute_its_result(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.log %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @logistic_grad
// CHECK:         %[[Y:.*]] = stablehlo.logistic
// CHECK:         %[[REST:.*]] = stablehlo.subtract %{{.*}}, %[[Y]]
// CHECK:         %[[SLOPE:.*]] = stablehlo.multiply %[[Y]], %[[REST]]
// CHECK:         stablehlo.multiply %{{.*}}, %[[SLOPE]]
func.func @logistic(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.logistic %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @select_gives_zeros_to_the_other_side_grad
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<i1>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
// CHECK-DAG:     %[[Z:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<3xf32>
// CHECK-DAG:     %[[DA:.*]] = stablehlo.select %[[P]], %[[DY]], %[[Z]]
// CHECK-DAG:     %[[DB:.*]] = stablehlo.select %[[P]], %[[Z]], %[[DY]]
// CHECK:         return %[[DA]], %[[DB]]
func.func @select_gives_zeros_to_the_other_side(%p: tensor<i1>, %a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.select %p, %a, %b : tensor<i1>, tensor<3xf32>
  return %y : tensor<3xf32>
}

// A bound of rank 0 holds for every element: its cotangent is a sum.
// CHECK-LABEL: func.func @clamp_with_scalar_bounds_grad
// CHECK-SAME:    -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-COUNT-2: stablehlo.reduce
func.func @clamp_with_scalar_bounds(%low: tensor<f32>, %x: tensor<3xf32>, %high: tensor<f32>) -> tensor<3xf32> {
  %y = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @convert_goes_back_to_the_narrow_type_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<3xf32>) -> tensor<3xbf16>
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.convert %[[DY]] : (tensor<3xf32>) -> tensor<3xbf16>
// CHECK-NEXT:    return %[[DX]]
func.func @convert_goes_back_to_the_narrow_type(%x: tensor<3xbf16>) -> tensor<3xf32> {
  %y = stablehlo.convert %x : (tensor<3xbf16>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// No gradient flows through integers or steps.
// CHECK-LABEL: func.func @integers_and_steps_cut_the_flow_grad
// CHECK-NEXT:    %[[Z:.*]] = stablehlo.constant dense<0.0
// CHECK-NEXT:    return %[[Z]]
func.func @integers_and_steps_cut_the_flow(%x: tensor<3xf32>) -> tensor<3xf32> {
  %i = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xi32>
  %f = stablehlo.convert %i : (tensor<3xi32>) -> tensor<3xf32>
  %floor = stablehlo.floor %x : tensor<3xf32>
  %sign = stablehlo.sign %f : tensor<3xf32>
  %y = stablehlo.add %floor, %sign : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @cotangents_of_several_uses_are_added_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3xf32>, %[[DY:[a-z0-9]+]]: tensor<3xf32>)
// CHECK:         %[[E:.*]] = stablehlo.exponential %[[X]]
// CHECK-DAG:     %[[A:.*]] = stablehlo.multiply %[[DY]], %[[E]]
// CHECK-DAG:     %[[B:.*]] = stablehlo.multiply %[[DY]], %[[X]]
// CHECK-DAG:     %[[C:.*]] = stablehlo.multiply %[[B]], %[[E]]
// CHECK:         %[[DX:.*]] = stablehlo.add %[[A]], %[[C]]
// CHECK:         return %[[DX]]
func.func @cotangents_of_several_uses_are_added(%x: tensor<3xf32>) -> tensor<3xf32> {
  %e = stablehlo.exponential %x : tensor<3xf32>
  %y = stablehlo.multiply %x, %e : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @only_floats_have_cotangents_grad
// CHECK-SAME:    %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xi32>, %[[D0:[a-z0-9]+]]: tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:    return %[[D0]] : tensor<3xf32>
func.func @only_floats_have_cotangents(%x: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  return %x, %i : tensor<3xf32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @tanh_grad
// CHECK:         %[[Y:.*]] = stablehlo.tanh
// CHECK:         stablehlo.multiply %[[Y]], %[[Y]]
func.func @tanh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.tanh %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @erf_grad
// CHECK:         stablehlo.exponential
// CHECK:         dense<1.12837{{.*}}>
func.func @erf(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}
