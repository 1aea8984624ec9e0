//===- AttentionKernelTest.cpp - attention and embedding ------------------===//

#include "CompiledFunction.h"
#include <gtest/gtest.h>

using namespace pipemesh::test;

namespace {

struct Shape {
  int batch, sequence, heads, keyHeads, size, window;
  const char *element = "f32";

  /// Kernel and reference compute in float32 and round once, so that an element
  /// may be one place of the format further; a gradient reads such a result,
  /// too.
  double tolerance(double single) const {
    if (element == std::string("bf16"))
      return 1.0 / 128;
    return element == std::string("f16") ? 1.0 / 1024 : single;
  }
};

class Attention : public ::testing::TestWithParam<Shape> {
protected:
  std::string text(const char *body) const {
    const Shape &s = GetParam();
    auto tensor = [](std::initializer_list<int> sizes, const char *element) {
      std::string type = "tensor<";
      for (int size : sizes)
        type += std::to_string(size) + "x";
      return type + element + ">";
    };
    std::string result = body;
    auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t at = 0; (at = result.find(from, at)) != std::string::npos;
           at += to.size())
        result.replace(at, from.size(), to);
    };
    replace("{Q}", tensor({s.batch, s.sequence, s.heads, s.size}, s.element));
    replace("{K}",
            tensor({s.batch, s.sequence, s.keyHeads, s.size}, s.element));
    replace("{L}", tensor({s.batch, s.heads, s.sequence}, "f32"));
    replace("{window}",
            s.window ? "window " + std::to_string(s.window) : std::string());
    return result;
  }
};

TEST_P(Attention, Forward) {
  checkKernels(text(R"(
func.func @f(%q: {Q}, %k: {K}, %v: {K}) -> ({Q}, {L}) {
  %o, %lse = pm.attention %q, %k, %v scale 0.35355339 causal {window} : {Q}, {K} -> {L}
  return %o, %lse : {Q}, {L}
}
)"),
               GetParam().tolerance(2e-6));
}

TEST_P(Attention, Gradient) {
  checkKernels(text(R"(
func.func @f(%q: {Q}, %k: {K}, %v: {K}, %do: {Q}) -> ({Q}, {K}, {K}) {
  %o, %lse = pm.attention %q, %k, %v scale 0.35355339 causal {window} : {Q}, {K} -> {L}
  %dq, %dk, %dv = pm.attention_grad %q, %k, %v, %o, %lse, %do scale 0.35355339 causal {window} : {Q}, {K}, {L}
  return %dq, %dk, %dv : {Q}, {K}, {K}
}
)"),
               2 * GetParam().tolerance(2e-6));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Attention,
    ::testing::Values(Shape{1, 1, 1, 1, 1, 0}, Shape{2, 20, 4, 2, 8, 0},
                      Shape{2, 20, 4, 2, 8, 6}, Shape{1, 3, 2, 1, 17, 2},
                      Shape{1, 130, 3, 1, 12, 0}, Shape{1, 130, 2, 2, 9, 50},
                      Shape{1, 67, 9, 3, 64, 0},
                      Shape{2, 20, 4, 2, 8, 0, "bf16"},
                      Shape{1, 33, 2, 1, 64, 0, "bf16"},
                      Shape{1, 50, 2, 1, 9, 20, "bf16"},
                      Shape{2, 33, 4, 2, 16, 6, "f16"}));

TEST(Kernels, AttentionOfAllKeys) {
  checkKernels(R"(
func.func @f(%q: tensor<2x9x2x8xf32>, %k: tensor<2x9x2x8xf32>, %v: tensor<2x9x2x8xf32>) -> (tensor<2x9x2x8xf32>, tensor<2x2x9xf32>) {
  %o, %lse = pm.attention %q, %k, %v scale 0.35355339 : tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32> -> tensor<2x2x9xf32>
  return %o, %lse : tensor<2x9x2x8xf32>, tensor<2x2x9xf32>
}
)");
}

TEST(Kernels, EmbeddingRows) {
  checkKernels(R"(
func.func @f(%t: tensor<1100x17xf32>, %ids: tensor<3x5xi32> {test.high = 1100 : i64}) -> tensor<3x5x17xf32> {
  %x = pm.embedding %t, %ids : (tensor<1100x17xf32>, tensor<3x5xi32>) -> tensor<3x5x17xf32>
  return %x : tensor<3x5x17xf32>
}
)",
               0);
}

TEST(Kernels, EmbeddingGradientAddsRepeatedIds) {
  checkKernels(R"(
func.func @f(%ids: tensor<3x50xi32> {test.high = 20 : i64}, %dx: tensor<3x50x17xf32>) -> tensor<1100x17xf32> {
  %dt = pm.embedding_grad %ids, %dx : (tensor<3x50xi32>, tensor<3x50x17xf32>) -> tensor<1100x17xf32>
  return %dt : tensor<1100x17xf32>
}
)");
}

} // namespace
