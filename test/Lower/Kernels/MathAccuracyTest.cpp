//===- MathAccuracyTest.cpp - error of each function ----------------------===//

#include "CompiledFunction.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace pipemesh::test;

namespace {

struct Case {
  const char *op;
  std::function<double(double)> exact;
  double low, high;
  /// Largest error, relative to the value or to 1, whichever is less strict
  /// when `absolute`.
  double tolerance;
  bool absolute;
};

constexpr int kCount = 1 << 14;

class MathAccuracy : public ::testing::TestWithParam<Case> {};

TEST_P(MathAccuracy, AgainstFloat64) {
  const Case &c = GetParam();
  std::string type = "tensor<" + std::to_string(kCount + 3) + "xf32>";
  std::string suffix =
      std::string(c.op).find("chlo") == 0 ? type + " -> " + type : type;
  CompiledFunction function("func.func @f(%x: " + type + ") -> " + type +
                            " {\n  %y = " + c.op + " %x : " + suffix +
                            "\n  return %y : " + type + "\n}\n");
  ASSERT_TRUE(function.isValid());
  std::vector<float> x(kCount + 3);
  for (int i = 0; i < kCount + 3; ++i)
    x[i] = float(c.low + (c.high - c.low) * i / (kCount + 2));
  Bytes bytes(x.size() * 4);
  memcpy(bytes.data(), x.data(), bytes.size());
  Bytes result = function.run({bytes}, Split::Whole, false)[0];
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    float y;
    memcpy(&y, &result[i * 4], 4);
    double exact = c.exact(x[i]);
    double scale = c.absolute ? std::fmax(1, std::fabs(exact))
                              : std::fmax(std::fabs(exact), 1e-37);
    double error = std::fabs(y - exact) / scale;
    if (!(error <= worst)) {
      worst = error;
      where = x[i];
    }
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(worst, c.tolerance) << c.op << " at " << where;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, MathAccuracy,
    ::testing::Values(
        Case{"stablehlo.exponential", [](double x) { return std::exp(x); }, -80,
             80, 1e-6, false},
        Case{"stablehlo.log", [](double x) { return std::log(x); }, 1e-3, 100,
             1e-6, true},
        Case{"stablehlo.log_plus_one", [](double x) { return std::log1p(x); },
             -0.9, 10, 1e-6, true},
        Case{"stablehlo.exponential_minus_one",
             [](double x) { return std::expm1(x); }, -3, 3, 1e-6, true},
        Case{"stablehlo.tanh", [](double x) { return std::tanh(x); }, -12, 12,
             1e-6, false},
        Case{"stablehlo.logistic",
             [](double x) { return 1 / (1 + std::exp(-x)); }, -60, 60, 1e-6,
             false},
        Case{"stablehlo.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6,
             100, 3e-7, false},
        Case{"stablehlo.sqrt", [](double x) { return std::sqrt(x); }, 0, 100,
             1e-7, false},
        Case{"stablehlo.sine", [](double x) { return std::sin(x); }, -300, 300,
             2e-6, true},
        Case{"stablehlo.cosine", [](double x) { return std::cos(x); }, -300,
             300, 2e-6, true},
        Case{"chlo.erf", [](double x) { return std::erf(x); }, -5, 5, 1e-6,
             true}));

TEST(Kernels, ExponentialOfTheExtremes) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = stablehlo.exponential %x : tensor<16xf32>
  return %y : tensor<16xf32>
}
)");
  ASSERT_TRUE(function.isValid());
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(16, -infinity);
  x[1] = infinity;
  x[2] = -1e30f;
  x[3] = 200;
  x[4] = NAN;
  Bytes bytes(64);
  memcpy(bytes.data(), x.data(), 64);
  Bytes result = function.run({bytes}, Split::Whole, false)[0];
  std::vector<float> y(16);
  memcpy(y.data(), result.data(), 64);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], infinity);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], infinity);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[15], 0);
}

} // namespace
