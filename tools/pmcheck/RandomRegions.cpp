//===- RandomRegions.cpp - random loops and branches ----------------------===//

#include "RandomProgram.h"
#include <cmath>

using namespace llvm;

namespace pipemesh::check {

/// Statements of a region: what they make is visible as long as this lives.
struct RandomGenerator::Scope {
  explicit Scope(RandomGenerator &g) : g(g), count(g.visible.size()) {
    ++g.depth;
    g.indent += 2;
  }
  ~Scope() {
    --g.depth;
    g.indent -= 2;
    if (g.visible.size() > count)
      g.visible.erase(g.visible.begin() + count, g.visible.end());
  }
  RandomGenerator &g;
  size_t count;
};

/// The value in the range and of the grain of `like`: bounded, and rounded down
/// where that cannot jump.
RandomValue RandomGenerator::normalized(const RandomValue &value,
                                        const RandomValue &like) {
  if (!value.type.isFloat())
    return value;
  TensorType scalar = value.type.with({});
  RandomValue y = value;
  std::string type = value.type.str();
  if (value.magnitude > like.magnitude) {
    double bound = std::exp2(std::floor(like.magnitude));
    RandomValue low = constant(scalar, -bound), high = constant(scalar, bound);
    y = assign("stablehlo.clamp " + low.name + ", " + y.name + ", " + high.name +
                   " : (" + scalar.str() + ", " + type + ", " + scalar.str() +
                   ") -> " + type,
               value.type, y);
  }
  if (like.exact && value.grain < like.grain) {
    double scale = std::exp2(-like.grain);
    RandomValue factor = constant(value.type, scale);
    RandomValue back = constant(value.type, 1 / scale);
    y = assign("stablehlo.multiply " + y.name + ", " + factor.name + " : " + type,
               value.type, y);
    y = assign("stablehlo.floor " + y.name + " : " + type, value.type, y);
    y = assign("stablehlo.multiply " + y.name + ", " + back.name + " : " + type,
               value.type, y);
  }
  y.magnitude = like.magnitude;
  y.grain = like.grain;
  y.exact = like.exact;
  return y;
}

void RandomGenerator::loop() {
  constexpr int64_t kMostTrips = 3;
  TensorType counter{choices.oneOf({"i32", "i64"}), {}};
  std::vector<RandomValue> inits;
  RandomValue zero = constant(counter, 0), one = constant(counter, 1);
  RandomValue trips = choices.chance(40) ? makeArgument(counter)
                                         : constant(counter, choices.between(1, kMostTrips));
  for (uint32_t i = 0, count = 1 + choices.below(3); i < count; ++i)
    inits.push_back(pickAny(0));
  std::string r = newName(), types = counter.str();
  std::string i = newName(), carried = i + " = " + zero.name;
  std::vector<RandomValue> carries;
  // How each carry gets its next value: 0 anything, 1 what is added to it,
  // 2 the same, 3 that of another.
  SmallVector<uint32_t> ways;
  for (RandomValue &init : inits) {
    uint32_t way = choices.below(4);
    RandomValue carry = result(init.type, init);
    if (init.type.isFloat() && way != 2) {
      bool isExact = init.exact && (way == 1 || !choices.chance(50));
      carry.exact = isExact;
      carry.magnitude = std::max(4.0, init.magnitude);
      carry.grain = std::min(-6.0, init.grain);
      if (isExact && !fitsExactly(carry.magnitude, carry.grain))
        carry.exact = false;
    }
    ways.push_back(way);
    carried += ", " + carry.name + " = " + init.name;
    types += ", " + init.type.str();
    carries.push_back(carry);
  }
  line(r + ":" + std::to_string(inits.size() + 1) + " = stablehlo.while(" +
       carried + ") : " + types);
  std::string more = newName();
  line("cond {");
  line("  " + more + " = stablehlo.compare LT, " + i + ", " + trips.name +
       " : (" + counter.str() + ", " + counter.str() + ") -> tensor<i1>");
  line("  stablehlo.return " + more + " : tensor<i1>");
  line("} do {");
  std::vector<RandomValue> results = carries;
  {
    Scope scope(*this);
    RandomValue index;
    index.name = i;
    index.type = counter;
    std::string next = newName();
    visible.push_back(index);
    for (uint32_t n = 0, count = 1 + choices.below(3); n < count; ++n) {
      // What is added to a carry must not grow with it.
      if (n == 0)
        for (auto [way, carry] : zip(ways, carries))
          if (way != 1)
            visible.push_back(carry);
      statement();
      if (n == 0)
        for (auto [way, carry] : zip(ways, carries))
          if (way == 1 && !carry.exact)
            visible.push_back(carry);
    }
    line(next + " = stablehlo.add " + i + ", " + one.name + " : " +
         counter.str());
    std::string names = next;
    for (size_t index = 0; index < carries.size(); ++index) {
      const RandomValue &carry = carries[index], &init = inits[index];
      const std::string &name = carry.name;
      const TensorType &type = carry.type;
      RandomValue value = carry;
      switch (ways[index]) {
      case 0:
        value = pickType(type);
        break;
      case 1:
        if (!type.isBool() && carry.exact) {
          RandomValue term = pick(
              [&](const RandomValue &v) {
                return v.type == init.type && v.exact && v.name != name;
              },
              [&] { return makeArgument(init.type); });
          value = assign("stablehlo.add " + carry.name + ", " + term.name +
                             " : " + type.str(),
                         type, carry);
          if (type.isFloat()) {
            RandomValue &out = results[index];
            out.magnitude =
                std::max(carry.magnitude, term.magnitude + 2) + 1;
            out.grain = std::min(carry.grain, term.grain);
            out.exact = fitsExactly(out.magnitude, out.grain);
          }
        }
        break;
      case 2:
        break;
      case 3:
        for (size_t other = 0; other < carries.size(); ++other)
          if (other != index && carries[other].type == type)
            value = carries[other];
        break;
      }
      if (ways[index] != 2 && ways[index] != 1 && value.name != carry.name) {
        if (type.isFloat() && carry.exact && !value.exact)
          value = carry;
        else
          value = normalized(value, carry);
      }
      names += ", " + value.name;
    }
    line("stablehlo.return " + names + " : " + types);
  }
  line("}");
  for (auto [index, out] : enumerate(results)) {
    out.name = r + "#" + std::to_string(index + 1);
    finish(out);
  }
}

void RandomGenerator::branch() {
  bool isIf = !choices.chance(50);
  RandomValue selector = isIf ? pickType({"i1", {}}) : pickIndexScalar("i32", 3);
  RandomValue like = pickAny(0);
  uint32_t branches = isIf ? 2 : 1 + choices.below(3);
  std::string r = newName();
  line(r + " = \"stablehlo." + (isIf ? "if" : "case") + "\"(" + selector.name +
       ") ({");
  RandomValue out = like;
  for (uint32_t b = 0; b < branches; ++b) {
    if (b)
      line("}, {");
    Scope scope(*this);
    for (uint32_t n = 0, count = choices.below(3); n < count; ++n)
      statement();
    RandomValue value = pickType(like.type);
    out.exact &= value.exact;
    out.magnitude = std::max(out.magnitude, value.magnitude);
    out.grain = std::min(out.grain, value.grain);
    line("stablehlo.return " + value.name + " : " + like.type.str());
  }
  line("}) : (" + selector.type.str() + ") -> " + like.type.str());
  out.exact &= !out.type.isFloat() || fitsExactly(out.magnitude, out.grain);
  out.name = r;
  finish(out);
}

} // namespace pipemesh::check
