// The values of ops that join elements, known by hand.
// RUN: pmcheck run %s --print --function=dots | FileCheck %s --check-prefix=DOTS
// RUN: pmcheck run %s --print --function=reductions | FileCheck %s --check-prefix=REDUCTIONS
// RUN: pmcheck run %s --print --function=argmax | FileCheck %s --check-prefix=ARGMAX
// RUN: pmcheck run %s --print --function=sorted | FileCheck %s --check-prefix=SORTED
// RUN: pmcheck run %s --print --function=empty | FileCheck %s --check-prefix=EMPTY

// DOTS: out0 = {{\[\[}}14, 32], [32, 77]]
// DOTS: out1 = {{\[\[\[}}1, 4], [2, 8], [3, 12]], {{\[\[}}8, 14], [10, 17.5], [12, 21]]]
// DOTS: out2 = 91
// DOTS: out3 = [9, -2]
func.func @dots() -> (tensor<2x2xf32>, tensor<2x3x2xf32>, tensor<f32>, tensor<2xi8>) {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %xxt = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %a = stablehlo.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %b = stablehlo.constant dense<[[[1.0], [4.0]], [[2.0], [3.5]]]> : tensor<2x2x1xf32>
  %outer = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x1x3xf32>, tensor<2x2x1xf32>) -> tensor<2x3x2xf32>
  %square = stablehlo.dot_general %x, %x, contracting_dims = [0, 1] x [0, 1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %i = stablehlo.constant dense<[[100, 3], [-2, 0]]> : tensor<2x2xi8>
  %l = stablehlo.constant dense<[-3, 53]> : tensor<2xi8>
  // 100 * -3 + 3 * 53 = -141, and 115 in eight bits; 115 - 106 = 9.
  %product = stablehlo.dot_general %i, %l, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %shift = stablehlo.constant dense<[-106, -8]> : tensor<2xi8>
  %wrapped = stablehlo.add %product, %shift : tensor<2xi8>
  return %xxt, %outer, %square, %wrapped : tensor<2x2xf32>, tensor<2x3x2xf32>, tensor<f32>, tensor<2xi8>
}

// REDUCTIONS: out0 = [5, 7, 9]
// REDUCTIONS: out1 = [6, 120]
// REDUCTIONS: out2 = 6
// REDUCTIONS: out3 = [11, 14]
// REDUCTIONS: out4 = [true, false]
// REDUCTIONS: out5 = [5, 7, 9]
func.func @reductions() -> (tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi1>, tensor<3xf32>) {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  %product = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %max = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %i = stablehlo.constant dense<[[1, 2, 3], [4, 5, 0]]> : tensor<2x3xi32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %integers = stablehlo.reduce(%i init: %five) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %p = stablehlo.constant dense<[[true, true], [true, false]]> : tensor<2x2xi1>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %all = stablehlo.reduce(%p init: %true) applies stablehlo.and across dimensions = [1] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
  // Not the one op that is recognised.
  %general = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %0 = stablehlo.add %a, %b : tensor<f32>
    %1 = stablehlo.multiply %0, %one : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %sum, %product, %max, %integers, %all, %general : tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi1>, tensor<3xf32>
}

// The first of equal values counts.
// ARGMAX: out0 = [5, 7]
// ARGMAX: out1 = [1, 0]
func.func @argmax() -> (tensor<2xf32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[[1.0, 5.0, 3.0, 5.0, 2.0], [7.0, 6.0, 7.0, 0.0, 7.0]]> : tensor<2x5xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x5xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %gt = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lower = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lower : tensor<i1>
    %first = stablehlo.or %gt, %tie : tensor<i1>
    %value = stablehlo.select %gt, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %first, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
}

// Sorted by the first operand, the second along; the sort is stable.
// SORTED: out0 = {{\[\[}}1, 1, 2, 3, 5], [0, 2, 7, 7, 9]]
// SORTED: out1 = {{\[\[}}1, 3, 4, 0, 2], [4, 1, 0, 2, 3]]
// SORTED: out2 = {{\[\[}}9, 6], [3, 2]]
func.func @sorted() -> (tensor<2x5xf32>, tensor<2x5xi32>, tensor<2x2xi32>) {
  %x = stablehlo.constant dense<[[3.0, 1.0, 5.0, 1.0, 2.0], [7.0, 2.0, 7.0, 9.0, 0.0]]> : tensor<2x5xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x5xi32>
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<2x5xf32>, tensor<2x5xi32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)
  %y = stablehlo.constant dense<[[3, 6], [9, 2]]> : tensor<2x2xi32>
  %t = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %gt = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<2x2xi32>) -> tensor<2x2xi32>
  return %s#0, %s#1, %t : tensor<2x5xf32>, tensor<2x5xi32>, tensor<2x2xi32>
}

// EMPTY: out0 = [3, 3]
// EMPTY: out1 = {{\[\[}}0, 0], [0, 0]]
func.func @empty() -> (tensor<2xf32>, tensor<2x2xf32>) {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  %dot = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x2xf32>
  return %sum, %dot : tensor<2xf32>, tensor<2x2xf32>
}
