//===- RandomContractions.cpp - random statements that mix elements -------===//

#include "RandomProgram.h"
#include <cmath>

using namespace llvm;

namespace pipemesh::check {

void RandomGenerator::dot() {
  RandomValue x = pickAny(1);
  if (x.type.isBool())
    return unary();
  int64_t rank = x.type.rank();
  Shape order = choices.permutation(rank);
  int64_t contracted = std::min<int64_t>(choices.oneOf({1, 1, 1, 1, 2, 0}), rank);
  int64_t batched = std::min<int64_t>(choices.oneOf({0, 0, 1, 1, 2}),
                                      rank - contracted);
  // The contracted ones are the last ones as long as nothing is chosen.
  std::reverse(order.begin(), order.end());
  Shape contracting(order.begin(), order.begin() + contracted);
  Shape batching(order.begin() + contracted,
                 order.begin() + contracted + batched);
  // The right operand: its dimensions in any order.
  struct Dim {
    int64_t size;
    int role; // 0 batching, 1 contracting, 2 free
  };
  SmallVector<Dim> dims;
  for (int64_t dim : batching)
    dims.push_back({x.type.shape[dim], 0});
  for (int64_t dim : contracting)
    dims.push_back({x.type.shape[dim], 1});
  for (int64_t i = 0, free = choices.oneOf({1, 1, 0, 2}); i < free; ++i)
    dims.push_back({drawSize(), 2});
  bool isSame = choices.chance(8);
  Shape places = choices.permutation(dims.size()), shape(dims.size());
  Shape rhsBatching, rhsContracting, freeSizes;
  for (auto [index, dim] : enumerate(dims)) {
    shape[places[index]] = dim.size;
    if (dim.role == 0)
      rhsBatching.push_back(places[index]);
    else if (dim.role == 1)
      rhsContracting.push_back(places[index]);
  }
  RandomValue y = x;
  if (isSame) {
    rhsBatching = batching;
    rhsContracting = contracting;
  } else {
    y = pickType(x.type.with(shape));
  }
  for (auto [dim, size] : enumerate(y.type.shape))
    if (!is_contained(rhsBatching, int64_t(dim)) &&
        !is_contained(rhsContracting, int64_t(dim)))
      freeSizes.push_back(size);
  int64_t terms = 1;
  for (int64_t dim : contracting)
    terms *= x.type.shape[dim];
  Shape result;
  for (int64_t dim : batching)
    result.push_back(x.type.shape[dim]);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!is_contained(batching, dim) && !is_contained(contracting, dim))
      result.push_back(x.type.shape[dim]);
  result.append(freeSizes);
  TensorType type = x.type.with(result);
  RandomValue like = x;
  like.magnitude = x.magnitude + y.magnitude + std::log2(double(terms) + 1);
  like.grain = x.grain + y.grain;
  like.exact = x.exact && y.exact && fitsExactly(like.magnitude, like.grain);
  if (type.size() > 400 || type.rank() > 5 || like.magnitude > 60)
    return unary();
  std::string text = "stablehlo.dot_general " + x.name + ", " + y.name;
  if (!batching.empty())
    text += ", batching_dims = [" + join(batching) + "] x [" +
            join(rhsBatching) + "]";
  text += ", contracting_dims = [" + join(contracting) + "] x [" +
          join(rhsContracting) + "] : (" + x.type.str() + ", " + y.type.str() +
          ") -> " + type.str();
  finish(assign(text, type, like));
}

/// What a reduction starts from so that it changes nothing.
static std::string neutral(StringRef op, const TensorType &type) {
  bool isUnsigned = type.element[0] == 'u';
  unsigned width = 0;
  StringRef digits = StringRef(type.element).ltrim("uif");
  (void)digits.getAsInteger(10, width);
  uint64_t top = isUnsigned ? (width == 64 ? ~0ull : (1ull << width) - 1)
                            : (1ull << (width - 1)) - 1;
  if (op == "add" || op == "or" || op == "xor")
    return type.isBool() ? "false" : type.isFloat() ? "0.0" : "0";
  if (op == "multiply")
    return type.isBool() ? "true" : type.isFloat() ? "1.0" : "1";
  if (op == "and")
    return type.isBool() ? "true" : isUnsigned ? std::to_string(top) : "-1";
  bool isMax = op == "maximum";
  if (type.isBool())
    return isMax ? "false" : "true";
  if (type.element == "f32")
    return isMax ? "0xFF800000" : "0x7F800000";
  if (type.isFloat())
    return isMax ? "0xFFF0000000000000" : "0x7FF0000000000000";
  if (isMax)
    return isUnsigned ? "0" : std::to_string(-int64_t(top) - 1);
  return std::to_string(top);
}

void RandomGenerator::reduce() {
  RandomValue x = pickAny(1);
  Shape dims, shape;
  int64_t terms = 1;
  for (auto [dim, size] : enumerate(x.type.shape)) {
    if (choices.chance(50)) {
      dims.push_back(dim);
      terms *= size;
    } else {
      shape.push_back(size);
    }
  }
  std::string op;
  if (x.type.isFloat())
    op = choices.oneOf({"add", "add", "maximum", "minimum", "multiply"});
  else if (x.type.isBool())
    op = choices.oneOf({"and", "or", "add", "multiply", "maximum", "minimum"});
  else
    op = choices.oneOf({"add", "maximum", "minimum", "multiply", "and", "or",
                        "xor"});
  RandomValue like = x;
  if (op == "add") {
    like.magnitude += std::log2(double(terms) + 1);
    like.exact &= fitsExactly(like.magnitude, like.grain);
  } else if (op == "multiply" && x.type.isFloat()) {
    like.magnitude = std::max(0.0, x.magnitude) * double(terms + 1);
    like.grain = std::min(0.0, x.grain) * double(terms + 1);
    like.exact &= fitsExactly(like.magnitude, like.grain);
    if (like.magnitude > 60)
      op = "maximum", like = x;
  }
  TensorType scalar = x.type.with({});
  bool isPlain = !choices.chance(25);
  RandomValue init =
      isPlain ? assign("stablehlo.constant dense<" + neutral(op, x.type) +
                           "> : " + scalar.str(),
                       scalar, RandomValue())
      : choices.chance(50) ? constant(scalar, 1)
                           : pickType(scalar);
  if (!isPlain && x.type.isFloat()) {
    if (op == "multiply") {
      like.magnitude += std::max(0.0, init.magnitude);
      like.grain += std::min(0.0, init.grain);
    } else {
      like.magnitude = std::max(like.magnitude, init.magnitude) + 1;
      like.grain = std::min(like.grain, init.grain);
    }
    like.exact &= init.exact && fitsExactly(like.magnitude, like.grain);
  } else if (x.type.isFloat() && (op == "maximum" || op == "minimum") &&
             terms == 0) {
    like.exact = false; // Infinite.
  }
  TensorType type = x.type.with(shape);
  finish(assign("stablehlo.reduce(" + x.name + " init: " + init.name +
                    ") applies stablehlo." + op + " across dimensions = [" +
                    join(dims) + "] : (" + x.type.str() + ", " + scalar.str() +
                    ") -> " + type.str(),
                type, like));
}

void RandomGenerator::argmax() {
  RandomValue x = pickExact(1);
  if (x.type.isBool())
    return reduce();
  unsigned dim = choices.below(x.type.rank());
  TensorType indices = x.type.as("i32"), value = x.type.with({});
  Shape shape = x.type.shape;
  shape.erase(shape.begin() + dim);
  bool isMax = !choices.chance(50);
  std::string i = newName(), low = newName(), zero = newName(), r = newName();
  line(i + " = stablehlo.iota dim = " + std::to_string(dim) + " : " +
       indices.str());
  line(low + " = stablehlo.constant dense<" +
       neutral(isMax ? "maximum" : "minimum", x.type) + "> : " + value.str());
  line(zero + " = stablehlo.constant dense<0> : tensor<i32>");
  TensorType values = x.type.with(shape), places = indices.with(shape);
  std::string s = value.str(), d = isMax ? "GT" : "LT";
  line(r + ":2 = stablehlo.reduce(" + x.name + " init: " + low + "), (" + i +
       " init: " + zero + ") across dimensions = [" + std::to_string(dim) +
       "] : (" + x.type.str() + ", " + indices.str() + ", " + s +
       ", tensor<i32>) -> (" + values.str() + ", " + places.str() + ")");
  line("  reducer(%a: " + s + ", %b: " + s + ") (%c: tensor<i32>, %d: tensor<i32>) {");
  line("    %g = stablehlo.compare " + d + ", %a, %b : (" + s + ", " + s + ") -> tensor<i1>");
  line("    %e = stablehlo.compare EQ, %a, %b : (" + s + ", " + s + ") -> tensor<i1>");
  line("    %l = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>");
  line("    %t = stablehlo.and %e, %l : tensor<i1>");
  line("    %p = stablehlo.or %g, %t : tensor<i1>");
  line("    %m = stablehlo.select %g, %a, %b : tensor<i1>, " + s);
  line("    %n = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>");
  line("    stablehlo.return %m, %n : " + s + ", tensor<i32>");
  line("  }");
  RandomValue first = x, second;
  first.exact = x.type.shape[dim] > 0; // Else infinite.
  first.name = r + "#0";
  first.type = values;
  second.name = r + "#1";
  second.type = places;
  finish(first);
  finish(second);
}

void RandomGenerator::sort() {
  RandomValue x = pickExact(1);
  unsigned dim = choices.below(x.type.rank());
  std::vector<RandomValue> list{x};
  if (choices.chance(50)) {
    std::string i = newName();
    RandomValue payload = choices.chance(50) ? pickType(x.type.as("f32"))
                                             : RandomValue();
    if (payload.name.empty()) {
      TensorType type = x.type.as("i32");
      payload = assign("stablehlo.iota dim = " + std::to_string(dim) + " : " +
                           type.str(),
                       type, RandomValue());
      payload.magnitude = 4;
    }
    list.push_back(payload);
  }
  std::string names, types, arguments;
  for (auto [index, value] : enumerate(list)) {
    names += (index ? ", " : "") + value.name;
    types += (index ? ", " : "") + value.type.str();
    std::string scalar = value.type.with({}).str();
    for (const char *side : {"a", "b"})
      arguments += (arguments.empty() ? "%" : ", %") + std::string(side) +
                   std::to_string(index) + ": " + scalar;
  }
  std::string s = x.type.with({}).str(), r = newName();
  std::string direction = choices.oneOf({"LT", "GT"});
  line(r + ":" + std::to_string(list.size()) + " = \"stablehlo.sort\"(" + names +
       ") <{dimension = " + std::to_string(dim) +
       " : i64, is_stable = true}> ({");
  line("^bb0(" + arguments + "):");
  line("  %c = stablehlo.compare " + direction + ", %a0, %b0 : (" + s + ", " +
       s + ") -> tensor<i1>");
  line("  stablehlo.return %c : tensor<i1>");
  line("}) : (" + types + ") -> (" + types + ")");
  for (auto [index, value] : enumerate(list)) {
    value.name = r + "#" + std::to_string(index);
    finish(value);
  }
}

void RandomGenerator::topK() {
  RandomValue x = pickExact(1);
  if (x.type.isBool() || x.type.shape.back() == 0)
    return reduce();
  int64_t k = choices.between(1, x.type.shape.back());
  Shape shape = x.type.shape;
  shape.back() = k;
  TensorType values = x.type.with(shape), indices = values.as("i32");
  // It tells -0 from 0, which a sum of parts makes of it.
  if (x.type.isFloat()) {
    RandomValue zero = constant(x.type, 0);
    std::string sum = newName();
    line(sum + " = stablehlo.add " + x.name + ", " + zero.name + " : " +
         x.type.str());
    x.name = sum;
  }
  std::string v = newName(), i = newName();
  line(v + ", " + i + " = chlo.top_k(" + x.name + ", k = " + std::to_string(k) +
       ") : " + x.type.str() + " -> (" + values.str() + ", " + indices.str() +
       ")");
  RandomValue first = x, second;
  first.name = v;
  first.type = values;
  second.name = i;
  second.type = indices;
  second.magnitude = 4;
  finish(first);
  finish(second);
}

void RandomGenerator::reduceWindow() {
  RandomValue x = pickAny(1, 3);
  if (x.type.isBool())
    return unary();
  Shape window, strides, low, high, shape;
  int64_t terms = 1;
  unsigned cumulative = choices.below(x.type.rank());
  bool isCumulative = !choices.chance(40);
  for (auto [dim, size] : enumerate(x.type.shape)) {
    int64_t w = 1, s = 1, l = 0, h = 0;
    if (isCumulative && dim == cumulative && size > 0) {
      w = size;
      l = size - 1;
      if (choices.chance(30))
        std::swap(l, h);
    } else if (!isCumulative && choices.chance(60)) {
      w = choices.between(1, 3);
      s = choices.between(1, 2);
      l = choices.between(0, w - 1);
      h = choices.between(0, w - 1);
    }
    if (size + l + h < w)
      w = 1;
    window.push_back(w);
    strides.push_back(s);
    low.push_back(l);
    high.push_back(h);
    terms *= w;
    shape.push_back(size + l + h < w ? 0 : (size + l + h - w) / s + 1);
  }
  std::string op = choices.oneOf({"add", "maximum", "minimum"});
  RandomValue like = x;
  if (op == "add") {
    like.magnitude += std::log2(double(terms) + 1);
    like.exact &= fitsExactly(like.magnitude, like.grain);
  } else if (!isCumulative) {
    like.exact = !x.type.isFloat(); // Infinite where a window is all padding.
  }
  TensorType scalar = x.type.with({}), type = x.type.with(shape);
  RandomValue init = assign("stablehlo.constant dense<" + neutral(op, x.type) +
                                "> : " + scalar.str(),
                            scalar, RandomValue());
  std::string padding;
  for (auto [l, h] : zip(low, high))
    padding += (padding.empty() ? "[" : ", [") + std::to_string(l) + ", " +
               std::to_string(h) + "]";
  RandomValue y = result(type, like);
  line(y.name + " = \"stablehlo.reduce_window\"(" + x.name + ", " + init.name +
       ") <{padding = dense<[" + padding + "]> : tensor<" +
       std::to_string(low.size()) + "x2xi64>, window_dimensions = array<i64: " +
       join(window) + ">, window_strides = array<i64: " + join(strides) +
       ">}> ({");
  std::string s = scalar.str();
  line("^bb0(%a: " + s + ", %b: " + s + "):");
  line("  %c = stablehlo." + op + " %a, %b : " + s);
  line("  stablehlo.return %c : " + s);
  line("}) : (" + x.type.str() + ", " + s + ") -> " + type.str());
  finish(y);
}

} // namespace pipemesh::check
