//===- RandomElementwise.cpp - random elementwise statements --------------===//

#include "RandomProgram.h"
#include <cmath>

using namespace llvm;

namespace pipemesh::check {

void RandomGenerator::unary() {
  RandomValue x = pickAny(0);
  std::string op = "stablehlo.negate";
  RandomValue y = x;
  if (x.type.isBool()) {
    op = "stablehlo.not";
  } else if (x.type.isFloat()) {
    switch (choices.below(x.exact ? 7 : 3)) {
    case 1:
      op = "stablehlo.abs";
      break;
    case 2:
      if (!x.exact || fitsExactly(2 * x.magnitude, 2 * x.grain)) {
        RandomValue like = x;
        like.magnitude = 2 * x.magnitude;
        like.grain = 2 * x.grain;
        return finish(assign("chlo.square " + x.name + " : " + x.type.str() +
                                 " -> " + x.type.str(),
                             x.type, like));
      }
      break;
    case 3:
      op = "stablehlo.floor";
      break;
    case 4:
      op = "stablehlo.ceil";
      break;
    case 5:
      op = "stablehlo.round_nearest_even";
      break;
    case 6:
      op = "stablehlo.sign";
      y.magnitude = 0;
      break;
    default:
      break;
    }
    if (op != "stablehlo.negate" && op != "stablehlo.abs") {
      y.grain = std::max(0.0, x.grain);
      y.magnitude = std::max(y.magnitude, 0.0) + 1;
    }
  } else if (choices.chance(40)) {
    op = "stablehlo.not";
  }
  finish(assign(op + " " + x.name + " : " + x.type.str(), x.type, y));
}

void RandomGenerator::smooth() {
  RandomValue x = pickFloat(0);
  std::string type = x.type.str();
  RandomValue y = x;
  y.exact = false;
  y.magnitude = 0;
  std::string op = "stablehlo.tanh";
  switch (choices.below(9)) {
  default:
    break;
  case 1:
    op = "stablehlo.logistic";
    break;
  case 2:
    op = "stablehlo.sine";
    break;
  case 3:
    op = "stablehlo.cosine";
    break;
  case 4:
    return finish(
        assign("chlo.erf " + x.name + " : " + type + " -> " + type, x.type, y));
  case 5:
  case 6: // Of what is bounded.
    if (x.magnitude > 2) {
      x = assign("stablehlo.tanh " + x.name + " : " + type, x.type, y);
      x.magnitude = 0;
    }
    op = choices.chance(30) ? "stablehlo.exponential_minus_one"
                            : "stablehlo.exponential";
    y.magnitude = 1.45 * std::exp2(x.magnitude);
    break;
  case 7:
  case 8: { // Of what is at least 1.
    RandomValue size = assign("stablehlo.abs " + x.name + " : " + type, x.type, x);
    if (choices.chance(40)) {
      y.magnitude = std::max(1.0, x.magnitude);
      return finish(assign("stablehlo.log_plus_one " + size.name + " : " + type,
                           x.type, y));
    }
    RandomValue one = constant(x.type, 1);
    x = assign("stablehlo.add " + size.name + ", " + one.name + " : " + type,
               x.type, y);
    op = choices.oneOf({"stablehlo.rsqrt", "stablehlo.sqrt", "stablehlo.log"});
    y.magnitude = std::max(1.0, size.magnitude);
    break;
  }
  }
  finish(assign(op + " " + x.name + " : " + type, x.type, y));
}

void RandomGenerator::binary() {
  RandomValue x = pickAny(0);
  if (x.type.isBool()) {
    RandomValue y = pickLike(x);
    std::string op = choices.oneOf({"add", "multiply", "maximum", "minimum"});
    return finish(assign("stablehlo." + op + " " + x.name + ", " + y.name +
                             " : " + x.type.str(),
                         x.type, x));
  }
  RandomValue y = choices.chance(10) ? x : pickLike(x);
  std::string op =
      choices.oneOf({"add", "subtract", "multiply", "maximum", "minimum", "add"});
  RandomValue like = x;
  like.exact = x.exact && y.exact;
  like.magnitude = std::max(x.magnitude, y.magnitude) + 1;
  like.grain = std::min(x.grain, y.grain);
  if (op == "multiply") {
    like.magnitude = x.magnitude + y.magnitude;
    like.grain = x.grain + y.grain;
  }
  if (x.type.isFloat() && like.exact &&
      !fitsExactly(like.magnitude, like.grain)) {
    op = "maximum";
    like.magnitude = std::max(x.magnitude, y.magnitude);
    like.grain = std::min(x.grain, y.grain);
    like.exact = fitsExactly(like.magnitude, like.grain);
  }
  // Large values would hide differences of small ones.
  if (x.type.isFloat() && like.magnitude > 60) {
    op = "minimum";
    like.magnitude = std::max(x.magnitude, y.magnitude);
  }
  if (choices.chance(25))
    std::swap(x.name, y.name);
  finish(assign("stablehlo." + op + " " + x.name + ", " + y.name + " : " +
                    x.type.str(),
                x.type, like));
}

void RandomGenerator::divide() {
  RandomValue x = pickAny(0);
  std::string type = x.type.str();
  if (x.type.isBool())
    return unary();
  if (x.type.isInt()) {
    RandomValue y = constant(x.type, choices.between(1, 4));
    std::string op = choices.oneOf({"divide", "remainder"});
    return finish(assign("stablehlo." + op + " " + x.name + ", " + y.name +
                             " : " + type,
                         x.type, x));
  }
  RandomValue like = x;
  if (!choices.chance(60)) { // By a power of two.
    RandomValue y = constant(x.type, choices.oneOf({2.0, 4.0, -2.0, 0.5}));
    like.magnitude += 1;
    like.grain -= 2;
    like.exact &= fitsExactly(like.magnitude, like.grain);
    return finish(assign("stablehlo.divide " + x.name + ", " + y.name + " : " +
                             type,
                         x.type, like));
  }
  RandomValue y = pickLike(x);
  RandomValue one = constant(x.type, 1);
  y = assign("stablehlo.abs " + y.name + " : " + type, x.type, y);
  y = assign("stablehlo.add " + y.name + ", " + one.name + " : " + type, x.type,
             y);
  like.exact = false;
  finish(assign("stablehlo.divide " + x.name + ", " + y.name + " : " + type,
                x.type, like));
}

void RandomGenerator::logic() {
  RandomValue x = choices.chance(50)
                      ? pickInt(0)
                      : pick([](const RandomValue &v) { return v.type.isBool(); },
                             [&] { return makeArgument(0, 3, "i1"); });
  RandomValue y = pickLike(x);
  std::string op = choices.oneOf({"and", "or", "xor"});
  if (x.type.isInt() && choices.chance(30)) {
    y = constant(x.type, choices.between(0, 3));
    op = choices.oneOf(
        {"shift_left", "shift_right_logical", "shift_right_arithmetic"});
  }
  finish(assign("stablehlo." + op + " " + x.name + ", " + y.name + " : " +
                    x.type.str(),
                x.type, x));
}

void RandomGenerator::compareAndSelect() {
  RandomValue x = pickExact(0);
  TensorType flags = x.type.as("i1");
  RandomValue pred;
  if (choices.chance(20)) {
    pred = pickType(choices.chance(50) ? flags : TensorType{"i1", {}});
  } else {
    RandomValue y = pick(
        [&](const RandomValue &v) { return v.exact && v.type == x.type; },
        [&] {
          return choices.chance(50) ? makeArgument(x.type)
                                    : constant(x.type, choices.below(2));
        });
    std::string direction = choices.oneOf({"LT", "EQ", "NE", "GE", "GT", "LE"});
    pred = assign("stablehlo.compare " + direction + ", " + x.name + ", " +
                      y.name + " : (" + x.type.str() + ", " + x.type.str() +
                      ") -> " + flags.str(),
                  flags, RandomValue());
    if (choices.chance(25))
      return finish(pred);
  }
  // A rank-0 predicate goes with any type.
  RandomValue a = pred.type.rank() == 0
                      ? pickAny(0)
                      : pick([&](const RandomValue &v) {
                          return v.type.shape == pred.type.shape;
                        }, [&] { return makeArgument(pred.type.as("f32")); });
  RandomValue b = pickLike(a);
  RandomValue like = a;
  like.exact = a.exact && b.exact;
  like.magnitude = std::max(a.magnitude, b.magnitude);
  like.grain = std::min(a.grain, b.grain);
  like.exact &= fitsExactly(like.magnitude, like.grain);
  finish(assign("stablehlo.select " + pred.name + ", " + a.name + ", " + b.name +
                    " : " + pred.type.str() + ", " + a.type.str(),
                a.type, like));
}

void RandomGenerator::clamp() {
  RandomValue x = pickAny(0);
  if (x.type.isBool())
    return unary();
  bool isScalar = choices.chance(50);
  TensorType bound = isScalar ? x.type.with({}) : x.type;
  RandomValue low = isScalar && choices.chance(30)
                        ? pickType(bound)
                        : constant(bound, x.type.element[0] == 'u' ? 0 : -1);
  RandomValue high = constant(bound, 2);
  RandomValue like = x;
  like.magnitude = std::max({x.magnitude, low.magnitude, 1.0});
  like.grain = std::min({x.grain, low.grain, high.grain});
  like.exact = x.exact && low.exact && fitsExactly(like.magnitude, like.grain);
  finish(assign("stablehlo.clamp " + low.name + ", " + x.name + ", " +
                    high.name + " : (" + bound.str() + ", " + x.type.str() +
                    ", " + bound.str() + ") -> " + x.type.str(),
                x.type, like));
}

void RandomGenerator::convertElements() {
  RandomValue x = pickExact(0);
  std::string element =
      choices.oneOf({"f32", "i32", "f64", "i1", "i8", "ui8", "i64", "ui32"});
  TensorType type = x.type.as(element);
  RandomValue like;
  if (x.type.isFloat() && type.isFloat()) {
    like = x;
  } else if (type.isFloat()) {
    // Integers of 64 bits are not all real numbers.
    if (x.type.element == "i64" || x.type.element == "ui64")
      type = x.type.as("i32");
    like.magnitude = x.type.isBool() ? 0 : 32;
    if (x.type.element == "i8" || x.type.element == "ui8")
      like.magnitude = 8;
    like.grain = 0;
  }
  finish(assign("stablehlo.convert " + x.name + " : (" + x.type.str() +
                    ") -> " + type.str(),
                type, like));
}

} // namespace pipemesh::check
