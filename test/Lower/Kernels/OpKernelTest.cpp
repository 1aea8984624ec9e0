//===- OpKernelTest.cpp - every op on every type, against the interpreter -===//

#include "CompiledFunction.h"
#include <gtest/gtest.h>

using namespace pipemesh::test;

namespace {

/// The text with {NAME} replaced, for each pair.
std::string fill(std::string text,
                 std::vector<std::pair<std::string, std::string>> values) {
  for (auto &[name, value] : values) {
    std::string from = "{" + name + "}";
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += value.size())
      text.replace(at, from.size(), value);
  }
  return text;
}

double toleranceOf(const std::string &type) {
  if (type == "bf16")
    return 1e-2;
  if (type == "f16")
    return 2e-3;
  return type == "f64" ? 1e-13 : 3e-6;
}

const std::vector<std::string> kFloats = {"f32", "f64", "bf16", "f16"};
const std::vector<std::string> kIntegers = {"i8",  "i16",  "i32",  "i64",
                                            "ui8", "ui16", "ui32", "ui64"};

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Several ops in one function, each a result of its own.
void checkUnary(const std::vector<std::string> &ops, const std::string &type,
                const std::string &attributes, double tolerance) {
  std::string body, results, types;
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string name = "%r" + std::to_string(i);
    bool isChlo = ops[i].rfind("chlo.", 0) == 0;
    body += "  " + name + " = " + ops[i] + " %x : {T}" +
            (isChlo ? " -> {T}" : "") + "\n";
    results += (i ? ", " : "") + name;
    types += i ? ", {T}" : "{T}";
  }
  std::string text = "func.func @f(%x: {T} " + attributes + ") -> (" + types +
                     ") {\n" + body + "  return " + results + " : " + types +
                     "\n}\n";
  checkKernels(fill(text, {{"T", "tensor<3x37x" + type + ">"}}), tolerance);
}

TEST(OpKernels, FloatFunctions) {
  for (const std::string &type : kFloats) {
    checkUnary({"stablehlo.abs", "stablehlo.cbrt", "stablehlo.ceil",
                "stablehlo.cosine", "stablehlo.exponential",
                "stablehlo.exponential_minus_one", "stablehlo.floor",
                "stablehlo.logistic", "stablehlo.negate",
                "stablehlo.round_nearest_afz", "stablehlo.round_nearest_even",
                "stablehlo.sign", "stablehlo.sine", "stablehlo.tanh",
                "chlo.asinh", "chlo.atan", "chlo.cosh", "chlo.erf", "chlo.erfc",
                "chlo.sinh", "chlo.square"},
               type, "", toleranceOf(type));
    checkUnary({"stablehlo.log", "stablehlo.log_plus_one", "stablehlo.rsqrt",
                "stablehlo.sqrt", "chlo.lgamma", "chlo.digamma"},
               type, "{test.positive}", 2 * toleranceOf(type));
  }
}

TEST(OpKernels, FunctionsOfAnInterval) {
  for (const std::string &type : kFloats)
    checkKernels(fill(R"(
func.func @f(%x: {T}) -> ({T}, {T}, {T}, {T}, {T}, {T}) {
  %y = stablehlo.tanh %x : {T}
  %0 = chlo.erf_inv %y : {T} -> {T}
  %1 = chlo.asin %y : {T} -> {T}
  %2 = chlo.acos %y : {T} -> {T}
  %3 = chlo.atanh %y : {T} -> {T}
  %4 = stablehlo.tan %y : {T}
  %5 = stablehlo.atan2 %x, %y : {T}
  return %0, %1, %2, %3, %4, %5 : {T}, {T}, {T}, {T}, {T}, {T}
}
)",
                      {{"T", "tensor<5x19x" + type + ">"}}),
                 type == "f32" ? 2e-5 : type == "f64" ? 1e-11 : 4e-2);
}

TEST(OpKernels, FloatArithmetic) {
  for (const std::string &type : kFloats)
    checkKernels(fill(R"(
func.func @f(%a: {T}, %b: {T}, %c: {T} {test.positive}) -> ({T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {P}, {P}, {P}) {
  %0 = stablehlo.add %a, %b : {T}
  %1 = stablehlo.subtract %a, %b : {T}
  %2 = stablehlo.multiply %a, %b : {T}
  %3 = stablehlo.divide %a, %c : {T}
  %4 = stablehlo.maximum %a, %b : {T}
  %5 = stablehlo.minimum %a, %b : {T}
  %6 = stablehlo.power %c, %b : {T}
  %7 = stablehlo.clamp %b, %a, %c : {T}
  %p = stablehlo.compare LT, %a, %b, FLOAT : ({T}, {T}) -> {P}
  %q = stablehlo.compare GE, %a, %b, TOTALORDER : ({T}, {T}) -> {P}
  %r = stablehlo.is_finite %a : ({T}) -> {P}
  %8 = stablehlo.select %p, %a, %b : {P}, {T}
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %p, %q, %r : {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {P}, {P}, {P}
}
)",
                      {{"T", "tensor<3x37x" + type + ">"},
                       {"P", "tensor<3x37xi1>"}}),
                 2 * toleranceOf(type));
}

TEST(OpKernels, NeighboursAndFormats) {
  for (const std::string &type : kFloats)
    checkKernels(fill(R"(
func.func @f(%a: {T}, %b: {T}) -> ({T}, {T}, {T}, {T}) {
  %0 = chlo.next_after %a, %b : {T}, {T} -> {T}
  %1 = stablehlo.reduce_precision %a, format = e5m3 : {T}
  %2 = stablehlo.reduce_precision %a, format = e8m7 : {T}
  %3 = stablehlo.reduce_precision %a, format = e2m1 : {T}
  return %0, %1, %2, %3 : {T}, {T}, {T}, {T}
}
)",
                      {{"T", "tensor<67x" + type + ">"}}),
                 0);
}

TEST(OpKernels, PowersOfNegativeBases) {
  checkKernels(R"(
func.func @f() -> (tensor<8xf32>, tensor<4xi32>) {
  %a = stablehlo.constant dense<[-2.0, -2.0, 0.0, 0.0, -1.5, 4.0, -8.0, 1.0]> : tensor<8xf32>
  %b = stablehlo.constant dense<[3.0, -1.0, 0.0, 2.0, 0.5, 0.5, -2.0, 1000.0]> : tensor<8xf32>
  %0 = stablehlo.power %a, %b : tensor<8xf32>
  %c = stablehlo.constant dense<[-2, 3, -1, 7]> : tensor<4xi32>
  %d = stablehlo.constant dense<[5, -1, -3, 0]> : tensor<4xi32>
  %1 = stablehlo.power %c, %d : tensor<4xi32>
  return %0, %1 : tensor<8xf32>, tensor<4xi32>
}
)");
}

TEST(OpKernels, Integers) {
  for (const std::string &type : kIntegers) {
    std::string low = type[0] == 'u' ? "0" : "-100";
    checkKernels(fill(R"(
func.func @f(%a: {T} {test.low = {LOW} : i64, test.high = 120 : i64}, %b: {T} {test.low = {LOW} : i64, test.high = 70 : i64}, %s: {T} {test.high = 9 : i64})
    -> ({T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, tensor<41xi1>) {
  %0 = stablehlo.add %a, %b : {T}
  %1 = stablehlo.subtract %a, %b : {T}
  %2 = stablehlo.multiply %a, %b : {T}
  %3 = stablehlo.divide %a, %s : {T}
  %4 = stablehlo.remainder %a, %s : {T}
  %5 = stablehlo.maximum %a, %b : {T}
  %6 = stablehlo.minimum %a, %b : {T}
  %7 = stablehlo.and %a, %b : {T}
  %8 = stablehlo.or %a, %b : {T}
  %9 = stablehlo.xor %a, %b : {T}
  %10 = stablehlo.shift_left %a, %s : {T}
  %11 = stablehlo.shift_right_arithmetic %a, %s : {T}
  %12 = stablehlo.shift_right_logical %a, %s : {T}
  %13 = stablehlo.popcnt %a : {T}
  %14 = stablehlo.count_leading_zeros %a : {T}
  %15 = stablehlo.not %a : {T}
  %16 = stablehlo.sign %a : {T}
  %17 = stablehlo.power %b, %s : {T}
  %p = stablehlo.compare LT, %a, %b : ({T}, {T}) -> tensor<41xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %p : {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, {T}, tensor<41xi1>
}
)",
                      {{"T", "tensor<41x" + type + ">"}, {"LOW", low}}),
                 0);
  }
}

TEST(OpKernels, Conversions) {
  std::vector<std::string> types = kFloats;
  types.insert(types.end(), kIntegers.begin(), kIntegers.end());
  types.push_back("i1");
  for (const std::string &from : types) {
    // Numbers beyond the narrow types' limits.
    std::string body, results, resultTypes;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string name = "%r" + std::to_string(i);
      std::string type = "tensor<29x" + types[i] + ">";
      body += "  " + name + " = stablehlo.convert %x : (tensor<29x" + from +
              ">) -> " + type + "\n";
      results += (i ? ", " : "") + name;
      resultTypes += (i ? ", " : "") + type;
    }
    checkKernels("func.func @f(%x: tensor<29x" + from +
                     "> {test.high = 120 : i64}) -> (" + resultTypes + ") {\n" +
                     body + "  return " + results + " : " + resultTypes +
                     "\n}\n",
                 1e-2);
  }
  checkKernels(R"(
func.func @f() -> (tensor<6xi8>, tensor<6xui8>, tensor<6xi32>, tensor<6xui32>, tensor<6xi64>) {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0e10, -300.7, 200.9]> : tensor<6xf32>
  %0 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi8>
  %1 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xui8>
  %2 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  %3 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xui32>
  %4 = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi64>
  return %0, %1, %2, %3, %4 : tensor<6xi8>, tensor<6xui8>, tensor<6xi32>, tensor<6xui32>, tensor<6xi64>
}
)",
               0);
}

TEST(OpKernels, ComplexNumbers) {
  checkKernels(R"(
func.func @f(%a: tensor<4x9xcomplex<f32>>, %b: tensor<4x9xcomplex<f32>>)
    -> (tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xf32>, tensor<9x4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x9xi1>) {
  %0 = stablehlo.add %a, %b : tensor<4x9xcomplex<f32>>
  %1 = stablehlo.multiply %a, %b : tensor<4x9xcomplex<f32>>
  %2 = stablehlo.divide %a, %b : tensor<4x9xcomplex<f32>>
  %3 = stablehlo.exponential %a : tensor<4x9xcomplex<f32>>
  %4 = stablehlo.log %a : tensor<4x9xcomplex<f32>>
  %5 = stablehlo.sqrt %a : tensor<4x9xcomplex<f32>>
  %6 = stablehlo.abs %a : (tensor<4x9xcomplex<f32>>) -> tensor<4x9xf32>
  %re = stablehlo.real %a : (tensor<4x9xcomplex<f32>>) -> tensor<4x9xf32>
  %im = stablehlo.imag %b : (tensor<4x9xcomplex<f32>>) -> tensor<4x9xf32>
  %z = stablehlo.complex %re, %im : tensor<4x9xcomplex<f32>>
  %7 = stablehlo.transpose %z, dims = [1, 0] : (tensor<4x9xcomplex<f32>>) -> tensor<9x4xcomplex<f32>>
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %8 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x9xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  %10 = stablehlo.compare NE, %a, %b, FLOAT : (tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>) -> tensor<4x9xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xcomplex<f32>>, tensor<4x9xf32>, tensor<9x4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<4x9xi1>
}
)",
               1e-5);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

TEST(OpKernels, BitsOfOtherWidths) {
  checkKernels(R"(
func.func @f(%x: tensor<5xf32>, %b: tensor<5x4xui8> {test.high = 250 : i64}, %h: tensor<3x2xbf16>, %i: tensor<3xi64> {test.low = -9 : i64})
    -> (tensor<5x4xui8>, tensor<5xui32>, tensor<3xi32>, tensor<3x8xi8>, tensor<5x2xi16>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<5xf32>) -> tensor<5x4xui8>
  %1 = stablehlo.bitcast_convert %b : (tensor<5x4xui8>) -> tensor<5xui32>
  %2 = stablehlo.bitcast_convert %h : (tensor<3x2xbf16>) -> tensor<3xi32>
  %3 = stablehlo.bitcast_convert %i : (tensor<3xi64>) -> tensor<3x8xi8>
  %4 = stablehlo.bitcast_convert %x : (tensor<5xf32>) -> tensor<5x2xi16>
  return %0, %1, %2, %3, %4 : tensor<5x4xui8>, tensor<5xui32>, tensor<3xi32>, tensor<3x8xi8>, tensor<5x2xi16>
}
)",
               0);
}

TEST(OpKernels, Movement) {
  for (const char *type : {"f32", "bf16", "i8", "i64", "i1", "f64"})
    checkKernels(fill(R"(
func.func @f(%x: tensor<4x6x{E}>, %y: tensor<4x3x{E}>, %v: tensor<{E}>, %i: tensor<i32> {test.low = -3 : i64, test.high = 9 : i64}, %j: tensor<ui8>)
    -> (tensor<7x15x{E}>, tensor<2x4x{E}>, tensor<4x6x{E}>, tensor<4x12x{E}>, tensor<2x2x{E}>, tensor<2x2x{E}>, tensor<4x6x{E}>, tensor<6x4x{E}>, tensor<0x6x{E}>) {
  %0 = stablehlo.pad %x, %v, low = [1, 2], high = [2, -3], interior = [0, 2] : (tensor<4x6x{E}>, tensor<{E}>) -> tensor<7x15x{E}>
  %1 = stablehlo.pad %x, %v, low = [-1, -1], high = [-1, -1], interior = [0, 0] : (tensor<4x6x{E}>, tensor<{E}>) -> tensor<2x4x{E}>
  %2 = stablehlo.reverse %x, dims = [1] : tensor<4x6x{E}>
  %3 = stablehlo.concatenate %y, %x, %y, dim = 1 : (tensor<4x3x{E}>, tensor<4x6x{E}>, tensor<4x3x{E}>) -> tensor<4x12x{E}>
  %4 = stablehlo.slice %x [1:4:2, 0:6:4] : (tensor<4x6x{E}>) -> tensor<2x2x{E}>
  %5 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<4x6x{E}>, tensor<i32>, tensor<i32>) -> tensor<2x2x{E}>
  %6 = stablehlo.dynamic_update_slice %x, %y, %j, %j : (tensor<4x6x{E}>, tensor<4x3x{E}>, tensor<ui8>, tensor<ui8>) -> tensor<4x6x{E}>
  %7 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6x{E}>) -> tensor<6x4x{E}>
  %8 = stablehlo.slice %x [2:2, 0:6] : (tensor<4x6x{E}>) -> tensor<0x6x{E}>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<7x15x{E}>, tensor<2x4x{E}>, tensor<4x6x{E}>, tensor<4x12x{E}>, tensor<2x2x{E}>, tensor<2x2x{E}>, tensor<4x6x{E}>, tensor<6x4x{E}>, tensor<0x6x{E}>
}
)",
                      {{"E", type}}),
                 0);
}

TEST(OpKernels, GathersWithBatchesAndWindows) {
  checkKernels(R"(
func.func @f(%x: tensor<5x7x4xf32>, %i: tensor<5x3x1xi32> {test.low = -2 : i64, test.high = 9 : i64}, %k: tensor<2x3xi64> {test.low = -2 : i64, test.high = 9 : i64})
    -> (tensor<5x3x4xf32>, tensor<3x2x2x4xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<5x7x4xf32>, tensor<5x3x1xi32>) -> tensor<5x3x4xf32>
  %1 = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], start_index_map = [1, 0]>, slice_sizes = array<i64: 2, 2, 4>}> : (tensor<5x7x4xf32>, tensor<2x3xi64>) -> tensor<3x2x2x4xf32>
  return %0, %1 : tensor<5x3x4xf32>, tensor<3x2x2x4xf32>
}
)",
               0);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(OpKernels, ReductionsWithAnyRegion) {
  checkKernels(R"(
func.func @f(%x: tensor<4x9xf32>, %m: tensor<4x9xi1>, %u: tensor<4x9xui32> {test.high = 999 : i64}) -> (tensor<4xf32>, tensor<4xi32>, tensor<9xui32>, tensor<4xi1>, tensor<f32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %u0 = stablehlo.constant dense<0> : tensor<ui32>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %i = stablehlo.iota dim = 1 : tensor<4x9xi32>
  %0:2 = stablehlo.reduce(%x init: %low), (%i init: %c0) across dimensions = [1] : (tensor<4x9xf32>, tensor<4x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %gt = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %gt, %a, %c : tensor<i1>, tensor<f32>
    %2 = stablehlo.select %gt, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  %3 = stablehlo.reduce(%u init: %u0) applies stablehlo.xor across dimensions = [0] : (tensor<4x9xui32>, tensor<ui32>) -> tensor<9xui32>
  %4 = stablehlo.reduce(%m init: %false) applies stablehlo.or across dimensions = [1] : (tensor<4x9xi1>, tensor<i1>) -> tensor<4xi1>
  %5 = stablehlo.reduce(%x init: %half) across dimensions = [0, 1] : (tensor<4x9xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %6 = stablehlo.maximum %a, %b : tensor<f32>
    %7 = stablehlo.maximum %6, %half : tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }
  return %0#0, %0#1, %3, %4, %5 : tensor<4xf32>, tensor<4xi32>, tensor<9xui32>, tensor<4xi1>, tensor<f32>
}
)",
               0);
}

TEST(OpKernels, Windows) {
  checkKernels(R"(
func.func @f(%x: tensor<5x6xf32>, %zero: tensor<f32> {test.value = 0.0 : f64}, %b: tensor<5x6xi32> {test.low = -9 : i64})
    -> (tensor<5x6xf32>, tensor<5x6xf32>, tensor<3x5xf32>, tensor<5x6xi32>) {
  %c0 = stablehlo.constant dense<-100> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [5, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 6>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  %1 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 4], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 5, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  %2 = "stablehlo.reduce_window"(%x, %zero) <{base_dilations = array<i64: 1, 2>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 2, 1>, window_dimensions = array<i64: 2, 4>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  %3 = "stablehlo.reduce_window"(%b, %c0) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.maximum %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5x6xi32>, tensor<i32>) -> tensor<5x6xi32>
  return %0, %1, %2, %3 : tensor<5x6xf32>, tensor<5x6xf32>, tensor<3x5xf32>, tensor<5x6xi32>
}
)");
}

TEST(OpKernels, Convolutions) {
  for (const char *type : {"f32", "bf16", "f64", "i32"})
    checkKernels(fill(R"(
func.func @f(%x: tensor<2x6x9x{E}>, %w: tensor<6x1x3x{E}>, %v: tensor<4x6x2x{E}>, %g: tensor<6x4x6x{E}>) -> (tensor<2x6x9x{E}>, tensor<2x4x10x{E}>, tensor<1x6x6x{E}>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<2x6x9x{E}>, tensor<6x1x3x{E}>) -> tensor<2x6x9x{E}>
  %1 = stablehlo.convolution(%x, %v) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[3, 2]], lhs_dilate = [2], rhs_dilate = [3], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x9x{E}>, tensor<4x6x2x{E}>) -> tensor<2x4x10x{E}>
  %2 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0]x[o, 0, i]->[b, f, 0], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x6x9x{E}>, tensor<6x4x6x{E}>) -> tensor<1x6x6x{E}>
  return %0, %1, %2 : tensor<2x6x9x{E}>, tensor<2x4x10x{E}>, tensor<1x6x6x{E}>
}
)",
                      {{"E", type}}),
                 toleranceOf(type));
}

TEST(OpKernels, ProductsThatNoLibraryKnows) {
  for (const char *type : {"f64", "i32", "i8"})
    checkKernels(fill(R"(
func.func @f(%a: tensor<2x5x3x{E}>, %b: tensor<3x7x2x{E}>) -> (tensor<2x5x7x{E}>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [2] x [0] : (tensor<2x5x3x{E}>, tensor<3x7x2x{E}>) -> tensor<2x5x7x{E}>
  return %0 : tensor<2x5x7x{E}>
}
)",
                      {{"E", type}}),
                 toleranceOf(type));
}

//===----------------------------------------------------------------------===//
// Sorts and scatters
//===----------------------------------------------------------------------===//

TEST(OpKernels, Sorts) {
  for (int size : {1, 2, 7, 64, 101})
    checkKernels(fill(R"(
func.func @f(%x: tensor<3x{N}xi32> {test.high = 9 : i64}, %y: tensor<3x{N}xf32>) -> (tensor<3x{N}xi32>, tensor<3x{N}xf32>, tensor<3x{N}xf32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x{N}xi32>, tensor<3x{N}xf32>) -> (tensor<3x{N}xi32>, tensor<3x{N}xf32>)
  %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x{N}xf32>) -> tensor<3x{N}xf32>
  return %0#0, %0#1, %1 : tensor<3x{N}xi32>, tensor<3x{N}xf32>, tensor<3x{N}xf32>
}
)",
                      {{"N", std::to_string(size)}}),
                 0);
}

TEST(OpKernels, Largest) {
  checkKernels(R"(
func.func @f(%x: tensor<4x11xf32>, %i: tensor<3x8xi32> {test.high = 4 : i64}) -> (tensor<4x3xf32>, tensor<4x3xi32>, tensor<3x5xi32>, tensor<3x5xi32>) {
  %values, %indices = chlo.top_k(%x, k = 3) : tensor<4x11xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %v, %j = chlo.top_k(%i, k = 5) : tensor<3x8xi32> -> (tensor<3x5xi32>, tensor<3x5xi32>)
  return %values, %indices, %v, %j : tensor<4x3xf32>, tensor<4x3xi32>, tensor<3x5xi32>, tensor<3x5xi32>
}
)",
               0);
}

TEST(OpKernels, Scatters) {
  for (int rows : {10, 4000})
    checkKernels(fill(R"(
func.func @f(%x: tensor<{N}x4xf32>, %ids: tensor<60x1xi32> {test.low = -2 : i64, test.high = 13 : i64}, %u: tensor<60x4xf32>, %k: tensor<2x5xi32> {test.low = -1 : i64, test.high = 4 : i64}, %w: tensor<5x3x2xf32>, %b: tensor<4x1xi32>, %q: tensor<4xf32>)
    -> (tensor<{N}x4xf32>, tensor<{N}x4xf32>, tensor<{N}x4xf32>, tensor<{N}x4xf32>) {
  %0 = "stablehlo.scatter"(%x, %ids, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q2: tensor<f32>):
    %s = stablehlo.add %p, %q2 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<{N}x4xf32>, tensor<60x1xi32>, tensor<60x4xf32>) -> tensor<{N}x4xf32>
  %1 = "stablehlo.scatter"(%x, %ids, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q2: tensor<f32>):
    stablehlo.return %q2 : tensor<f32>
  }) : (tensor<{N}x4xf32>, tensor<60x1xi32>, tensor<60x4xf32>) -> tensor<{N}x4xf32>
  %2 = "stablehlo.scatter"(%x, %k, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%p: tensor<f32>, %q2: tensor<f32>):
    %d = stablehlo.subtract %p, %q2 : tensor<f32>
    %s = stablehlo.multiply %d, %p : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<{N}x4xf32>, tensor<2x5xi32>, tensor<5x3x2xf32>) -> tensor<{N}x4xf32>
  %3 = "stablehlo.scatter"(%x, %b, %q) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q2: tensor<f32>):
    %s = stablehlo.maximum %p, %q2 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<{N}x4xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<{N}x4xf32>
  return %0, %1, %2, %3 : tensor<{N}x4xf32>, tensor<{N}x4xf32>, tensor<{N}x4xf32>, tensor<{N}x4xf32>
}
)",
                      {{"N", std::to_string(rows)}}),
                 1e-5);
}

TEST(OpKernels, RandomBits) {
  for (const char *shape : {"7", "4x3", "3x5", "2x3x4", "0x3", "1"})
    for (const char *type : {"ui32", "ui8", "ui64"})
      checkKernels(fill(R"(
func.func @f(%s: tensor<2xui64> {test.low = -50 : i64}, %t: tensor<3xui64> {test.low = -5 : i64}) -> (tensor<2xui64>, tensor<{S}x{E}>, tensor<3xui64>, tensor<{S}x{E}>, tensor<2xui64>, tensor<{S}x{E}>) {
  %output_state, %output = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<{S}x{E}>)
  %1, %2 = stablehlo.rng_bit_generator %t, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<{S}x{E}>)
  %3, %4 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<{S}x{E}>)
  return %output_state, %output, %1, %2, %3, %4 : tensor<2xui64>, tensor<{S}x{E}>, tensor<3xui64>, tensor<{S}x{E}>, tensor<2xui64>, tensor<{S}x{E}>
}
)",
                        {{"S", shape}, {"E", type}}),
                   0);
}

TEST(OpKernels, BarriersAreTransparent) {
  checkKernels(R"(
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.add %x, %y : tensor<4xf32>
  %r:2 = stablehlo.optimization_barrier %a, %x : tensor<4xf32>, tensor<4xf32>
  %b = stablehlo.multiply %r#0, %r#1 : tensor<4xf32>
  return %r#0, %b : tensor<4xf32>, tensor<4xf32>
}
)");
}

} // namespace
