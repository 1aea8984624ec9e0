//===- RotaryTest.cpp - Frequencies against those of the library ----------===//
//
// The expected numbers are what ROPE_INIT_FUNCTIONS of transformers 5.24
// returns, to the seven digits of its float32.
//
//===----------------------------------------------------------------------===//

#include "pipemesh/Import/RotaryFrequencies.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace pipemesh;

namespace {

void expectFrequencies(const RotaryConfig &rotary, std::vector<double> expected,
                       double attentionFactor) {
  RotaryFrequencies result =
      computeRotaryFrequencies(rotary, 2 * expected.size());
  ASSERT_EQ(result.inverseFrequencies.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(result.inverseFrequencies[i], expected[i], 4e-7 * expected[i])
        << "pair " << i;
  EXPECT_NEAR(result.attentionFactor, attentionFactor, 1e-12);
}

RotaryConfig make(RotaryConfig::Kind kind, double theta, double factor,
                  double original) {
  RotaryConfig rotary;
  rotary.kind = kind;
  rotary.theta = theta;
  rotary.factor = factor;
  rotary.originalMaxPositions = original;
  return rotary;
}

TEST(RotaryTest, Default) {
  expectFrequencies(make(RotaryConfig::Kind::Default, 1e4, 1, 0),
                    {1.0, 0.1, 0.01, 0.001}, 1.0);
}

TEST(RotaryTest, Linear) {
  expectFrequencies(make(RotaryConfig::Kind::Linear, 1e4, 4, 0),
                    {0.25, 0.025, 0.0025, 0.00025}, 1.0);
}

TEST(RotaryTest, Llama3) {
  expectFrequencies(make(RotaryConfig::Kind::Llama3, 5e5, 8, 8192),
                    {1.0, 0.1939228, 0.03760603, 0.007292665, 0.000524846,
                     3.428102e-05, 6.64787e-06, 1.289173e-06},
                    1.0);
  expectFrequencies(make(RotaryConfig::Kind::Llama3, 5e5, 8, 16),
                    {0.5760564, 0.004700754, 0.0001767767, 6.64787e-06}, 1.0);
}

TEST(RotaryTest, Yarn) {
  expectFrequencies(make(RotaryConfig::Kind::Yarn, 1e4, 4, 64),
                    {1.0, 0.2371708, 0.05, 0.007905695, 0.0025, 0.0007905695,
                     0.00025, 7.905695e-05},
                    1.138629436111989);
  RotaryConfig rotary = make(RotaryConfig::Kind::Yarn, 1e6, 4, 4096);
  expectFrequencies(rotary,
                    {1.0, 0.1778279, 0.02371708, 0.002811707, 0.00025,
                     4.445699e-05, 7.905694e-06, 1.405853e-06},
                    1.138629436111989);
  rotary.truncate = false;
  rotary.mscale = 0.7;
  rotary.mscaleAllDim = 0.5;
  expectFrequencies(rotary,
                    {1.0, 0.1778279, 0.02861361, 0.002986735, 0.00025,
                     4.445699e-05, 7.905694e-06, 1.405853e-06},
                    1.0259286501478284);
}

TEST(RotaryTest, YarnWithItsOwnBounds) {
  RotaryConfig rotary = make(RotaryConfig::Kind::Yarn, 1e6, 4, 4096);
  rotary.betaFast = 8;
  rotary.betaSlow = 2;
  rotary.attentionFactor = 1.5;
  expectFrequencies(rotary,
                    {1.0, 0.1778279, 0.03162278, 0.003514633, 0.00025,
                     4.445699e-05, 7.905694e-06, 1.405853e-06},
                    1.5);
  // Equal bounds: a ramp of no width.
  rotary = make(RotaryConfig::Kind::Yarn, 1e4, 2, 16);
  rotary.betaFast = rotary.betaSlow = 2;
  expectFrequencies(rotary, {1.0, 0.05, 0.005, 0.0005}, 1.0693147180559945);
}

} // namespace
