// RUN: pmcheck gradients %s

func.func @abs(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.abs %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @cosine(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.cosine %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @exponential(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.exponential %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @exponential_minus_one(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.exponential_minus_one %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @logistic(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.logistic %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @negate(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.negate %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @sine(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.sine %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @tanh(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.tanh %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @cbrt(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.cbrt %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @erf(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = chlo.erf %x : tensor<3x5xf64> -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @square(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = chlo.square %x : tensor<3x5xf64> -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @erfc(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = chlo.erfc %x : tensor<3x5xf64> -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @add(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.add %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @subtract(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.subtract %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @multiply(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.multiply %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @maximum(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.maximum %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @minimum(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.minimum %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @power_of_constants(%x: tensor<3x5xf64>) -> (tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>) {
  %one = stablehlo.constant dense<1.0> : tensor<3x5xf64>
  %two = stablehlo.constant dense<2.0> : tensor<3x5xf64>
  %three = stablehlo.constant dense<3.0> : tensor<3x5xf64>
  %five = stablehlo.constant dense<5.0> : tensor<3x5xf64>
  %0 = stablehlo.power %x, %one : tensor<3x5xf64>
  %1 = stablehlo.power %x, %two : tensor<3x5xf64>
  %2 = stablehlo.power %x, %three : tensor<3x5xf64>
  %3 = stablehlo.power %x, %five : tensor<3x5xf64>
  return %0, %1, %2, %3 : tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>
}
func.func @select(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>, %c: tensor<3x5xf64>) -> (tensor<3x5xf64>, tensor<3x5xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<3x5xf64>
  %p = stablehlo.compare LT, %c, %zero : (tensor<3x5xf64>, tensor<3x5xf64>) -> tensor<3x5xi1>
  %y = stablehlo.select %p, %a, %b : tensor<3x5xi1>, tensor<3x5xf64>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %z = stablehlo.select %true, %b, %c : tensor<i1>, tensor<3x5xf64>
  return %y, %z : tensor<3x5xf64>, tensor<3x5xf64>
}
func.func @clamp(%low: tensor<3x5xf64>, %x: tensor<3x5xf64>, %high: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.clamp %low, %x, %high : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @clamp_with_scalar_bounds(%low: tensor<f64>, %x: tensor<3x5xf64>, %high: tensor<f64>) -> tensor<3x5xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %up = stablehlo.add %low, %one : tensor<f64>
  %y = stablehlo.clamp %low, %x, %up : (tensor<f64>, tensor<3x5xf64>, tensor<f64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @one_value_in_many_places(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<3x5xf64>
  %1 = stablehlo.add %0, %x : tensor<3x5xf64>
  %2 = stablehlo.multiply %1, %0 : tensor<3x5xf64>
  %3 = stablehlo.subtract %2, %x : tensor<3x5xf64>
  return %3 : tensor<3x5xf64>
}
func.func @gelu_of_gpt2(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %three = stablehlo.constant dense<3.0> : tensor<3x5xf64>
  %c = stablehlo.constant dense<0.044715> : tensor<3x5xf64>
  %r = stablehlo.constant dense<0.79788456080286541> : tensor<3x5xf64>
  %half = stablehlo.constant dense<0.5> : tensor<3x5xf64>
  %one = stablehlo.constant dense<1.0> : tensor<3x5xf64>
  %0 = stablehlo.power %x, %three : tensor<3x5xf64>
  %1 = stablehlo.multiply %c, %0 : tensor<3x5xf64>
  %2 = stablehlo.add %x, %1 : tensor<3x5xf64>
  %3 = stablehlo.multiply %r, %2 : tensor<3x5xf64>
  %4 = stablehlo.tanh %3 : tensor<3x5xf64>
  %5 = stablehlo.add %4, %one : tensor<3x5xf64>
  %6 = stablehlo.multiply %half, %x : tensor<3x5xf64>
  %7 = stablehlo.multiply %6, %5 : tensor<3x5xf64>
  return %7 : tensor<3x5xf64>
}
