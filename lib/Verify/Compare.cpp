//===- Compare.cpp - inputs and comparison of programs --------------------===//

#include "pipemesh/Verify/Compare.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace pipemesh::interp {

/// Complex numbers as their two parts along a last dimension.
static Tensor splitParts(const Tensor &tensor) {
  SmallVector<int64_t> shape(tensor.getShape());
  shape.push_back(2);
  auto type = cast<ComplexType>(tensor.getElementType());
  Tensor parts(RankedTensorType::get(shape, type.getElementType()));
  std::copy_n(tensor.floats(), parts.size(), parts.floats());
  return parts;
}

Difference compareTensors(const Tensor &actual, const Tensor &expected) {
  if (actual.isComplex() && expected.isComplex()) {
    Difference difference =
        compareTensors(splitParts(actual), splitParts(expected));
    difference.index /= 2;
    return difference;
  }
  Difference difference;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (actual.getShape() != expected.getShape() ||
      actual.isFloat() != expected.isFloat() ||
      actual.isComplex() != expected.isComplex()) {
    difference.error = difference.absolute = infinity;
    return difference;
  }
  double scale = 1e-30;
  for (int64_t i = 0, e = expected.size(); i < e; ++i)
    if (double value = std::fabs(expected.asDouble(i)); std::isfinite(value))
      scale = std::max(scale, value);
  for (int64_t i = 0, e = expected.size(); i < e; ++i) {
    double x = actual.asDouble(i), y = expected.asDouble(i);
    double absolute = std::fabs(x - y), error = absolute / scale;
    bool same = expected.isFloat() ? x == y || (std::isnan(x) && std::isnan(y))
                                   : actual.asInt(i) == expected.asInt(i);
    if (same)
      absolute = error = 0;
    else if (!expected.isFloat() || std::isnan(absolute))
      error = infinity;
    if (i == 0 || error > difference.error) {
      difference.error = error;
      difference.absolute = absolute;
      difference.index = i;
      difference.expected = y;
      difference.actual = x;
    }
  }
  return difference;
}

//===----------------------------------------------------------------------===//
// Random inputs
//===----------------------------------------------------------------------===//

namespace {
/// SplitMix64 (Steele et al. 2014), started from the seed and the name.
class Random {
public:
  Random(uint64_t seed, StringRef name) : state(seed) {
    for (char c : name)
      state = (state ^ uint8_t(c)) * 0x100000001b3;
  }
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t limit) { return bits() % uint64_t(limit); }
  /// In (0, 1].
  double uniform() { return (double(bits() >> 11) + 1) * 0x1p-53; }
  /// Box and Muller 1958.
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) *
           std::cos(6.283185307179586 * uniform());
  }

private:
  uint64_t state;
};
} // namespace

static double getScalar(StringRef role) {
  struct Setting {
    StringRef role;
    double value;
  };
  for (Setting setting : {Setting{"step", 3}, {"learning_rate", 0.01},
                          {"beta1", 0.9}, {"beta2", 0.95}, {"epsilon", 1e-8},
                          {"weight_decay", 0.1}, {"clip_norm", 0.5}})
    if (role == setting.role)
      return setting.value;
  return std::numeric_limits<double>::quiet_NaN();
}

static Tensor makeRandomInput(const Port &port, int64_t vocabulary,
                              uint64_t seed) {
  if (double value = getScalar(port.role);
      port.type.getRank() == 0 && !std::isnan(value))
    return Tensor::splat(port.type, value);

  Tensor tensor(port.type);
  Random random(seed, port.name);
  StringRef name = port.name;
  bool isNorm = port.type.getRank() == 1 && !name.ends_with("bias") &&
                (name.contains("norm") || name.contains("ln_"));
  int64_t row = port.type.getRank() ? port.type.getShape().back() : 1;
  int64_t ignoredRow = tensor.size() > row ? random.below(tensor.size() / row)
                                           : -1;
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    if (port.role == "input_ids") {
      tensor.ints()[i] = random.below(vocabulary);
    } else if (port.role == "labels") {
      bool ignored = random.below(5) == 0 || i / row == ignoredRow;
      tensor.ints()[i] = ignored ? -100 : random.below(vocabulary);
    } else if (!tensor.isFloat()) {
      tensor.ints()[i] = IntegerFormat::get(port.type.getElementType())
                             .wrap(random.below(3));
    } else if (port.role == "parameter") {
      tensor.floats()[i] = isNorm ? 1 + 0.1 * random.normal()
                                  : 0.05 * random.normal();
    } else if (port.role == "moment1") {
      tensor.floats()[i] = 0.01 * random.normal();
    } else if (port.role == "moment2") {
      double value = 0.01 * random.normal();
      tensor.floats()[i] = value * value;
    } else {
      tensor.floats()[i] = double(random.below(129) - 64) / 32;
    }
  }
  return tensor;
}

NamedTensors makeRandomInputs(ArrayRef<Port> ports, int64_t vocabulary,
                              uint64_t seed) {
  NamedTensors inputs;
  for (const Port &port : ports)
    if (!inputs.count(port.name))
      inputs[port.name] = makeRandomInput(port, vocabulary, seed);
  return inputs;
}

int64_t getVocabulary(ModuleOp module) {
  if (auto attr = module->getAttrOfType<IntegerAttr>("pm.vocabulary"))
    return attr.getInt();
  int64_t rows = 0;
  module.walk([&](pm::EmbeddingOp op) {
    int64_t table = cast<RankedTensorType>(op.getTable().getType()).getDimSize(0);
    rows = rows ? std::min(rows, table) : table;
  });
  return rows ? rows : 2;
}

} // namespace pipemesh::interp
