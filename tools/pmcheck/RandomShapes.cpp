//===- RandomShapes.cpp - random statements that move elements ------------===//

#include "RandomProgram.h"

using namespace llvm;

namespace pipemesh::check {

void RandomGenerator::reshape() {
  RandomValue x = pickAny(0);
  Shape shape = x.type.shape;
  auto divisorsOf = [](int64_t size) {
    Shape divisors;
    for (int64_t d = 1; d <= size; ++d)
      if (size % d == 0)
        divisors.push_back(d);
    return divisors;
  };
  switch (choices.below(5)) {
  default: // Merge two.
    if (shape.size() >= 2) {
      unsigned dim = choices.below(shape.size() - 1);
      shape[dim] *= shape[dim + 1];
      shape.erase(shape.begin() + dim + 1);
      break;
    }
    [[fallthrough]];
  case 1: // Split one.
    if (!shape.empty()) {
      unsigned dim = choices.below(shape.size());
      Shape divisors = divisorsOf(shape[dim]);
      if (divisors.empty())
        break;
      int64_t d = divisors[choices.below(divisors.size())];
      int64_t size = shape[dim];
      shape[dim] = d;
      shape.insert(shape.begin() + dim + 1, size / d);
    }
    break;
  case 2: { // Sizes of one more or less.
    Shape squeezed;
    for (int64_t size : shape)
      if (size != 1 || choices.chance(50))
        squeezed.push_back(size);
    shape = squeezed;
    if (choices.chance(50))
      shape.insert(shape.begin() + choices.below(shape.size() + 1), 1);
    break;
  }
  case 3: { // Anything with as many elements.
    int64_t left = x.type.size();
    if (left == 0)
      break;
    shape.clear();
    while (left > 1 && shape.size() < 3) {
      Shape divisors = divisorsOf(left);
      int64_t d = divisors[choices.below(divisors.size())];
      shape.push_back(d);
      left /= d;
    }
    if (left > 1)
      shape.push_back(left);
    break;
  }
  case 4: // Merge all.
    shape = {x.type.size()};
    break;
  }
  TensorType type = x.type.with(shape);
  finish(assign("stablehlo.reshape " + x.name + " : (" + x.type.str() +
                    ") -> " + type.str(),
                type, x));
}

void RandomGenerator::transpose() {
  RandomValue x = pickAny(1);
  Shape order = choices.permutation(x.type.rank()), shape;
  // The first choices give no permutation at all.
  std::reverse(order.begin(), order.end());
  for (int64_t dim : order)
    shape.push_back(x.type.shape[dim]);
  TensorType type = x.type.with(shape);
  finish(assign("stablehlo.transpose " + x.name + ", dims = [" + join(order) +
                    "] : (" + x.type.str() + ") -> " + type.str(),
                type, x));
}

void RandomGenerator::broadcast() {
  RandomValue x = pickAny(0, 3);
  Shape shape, dims;
  for (int64_t size : x.type.shape) {
    if (shape.size() < 3 && choices.chance(30))
      shape.push_back(drawSize());
    dims.push_back(shape.size());
    shape.push_back(size == 1 && choices.chance(70) ? drawSize() : size);
  }
  if (shape.size() < 4 && (shape.empty() || choices.chance(40)))
    shape.push_back(drawSize());
  TensorType type = x.type.with(shape);
  if (type.size() > 400)
    return transpose();
  finish(assign("stablehlo.broadcast_in_dim " + x.name + ", dims = [" +
                    join(dims) + "] : (" + x.type.str() + ") -> " + type.str(),
                type, x));
}

void RandomGenerator::concatenate() {
  RandomValue x = pickAny(1);
  unsigned dim = choices.below(x.type.rank());
  std::vector<RandomValue> list{x};
  for (uint32_t i = 0, count = choices.below(3); i < count; ++i) {
    Shape shape = x.type.shape;
    if (choices.chance(60))
      shape[dim] = drawSize();
    list.push_back(pick(
        [&](const RandomValue &v) {
          Shape other = v.type.shape;
          if (v.type.element != x.type.element ||
              v.type.rank() != x.type.rank())
            return false;
          other[dim] = shape[dim];
          return other == shape;
        },
        [&] { return makeArgument(x.type.with(shape)); }));
  }
  if (choices.chance(30))
    std::swap(list.front(), list.back());
  std::string names, types;
  RandomValue like = x;
  Shape shape = x.type.shape;
  shape[dim] = 0;
  for (const RandomValue &value : list) {
    names += value.name + ", ";
    types += (types.empty() ? "" : ", ") + value.type.str();
    shape[dim] += value.type.shape[dim];
    like.exact &= value.exact;
    like.magnitude = std::max(like.magnitude, value.magnitude);
    like.grain = std::min(like.grain, value.grain);
  }
  like.exact &= fitsExactly(like.magnitude, like.grain);
  TensorType type = x.type.with(shape);
  finish(assign("stablehlo.concatenate " + names + "dim = " +
                    std::to_string(dim) + " : (" + types + ") -> " + type.str(),
                type, like));
}

void RandomGenerator::slice() {
  RandomValue x = pickAny(1);
  std::string ranges;
  Shape shape;
  for (int64_t size : x.type.shape) {
    int64_t start = 0, limit = size, stride = 1;
    if (choices.chance(60)) {
      start = choices.between(0, size);
      limit = choices.between(start, size);
      stride = choices.oneOf({1, 1, 2, 3});
      if (limit == start && (limit < size || !isOn("empty"))) { // Rarely empty.
        start = 0;
        limit = size;
      }
    }
    ranges += (ranges.empty() ? "" : ", ") + std::to_string(start) + ":" +
              std::to_string(limit);
    if (stride != 1)
      ranges += ":" + std::to_string(stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  TensorType type = x.type.with(shape);
  finish(assign("stablehlo.slice " + x.name + " [" + ranges + "] : (" +
                    x.type.str() + ") -> " + type.str(),
                type, x));
}

void RandomGenerator::pad() {
  RandomValue x = pickAny(1);
  Shape low, high, interior, shape;
  for (int64_t size : x.type.shape) {
    int64_t l = 0, h = 0, i = 0;
    if (choices.chance(60)) {
      l = choices.oneOf({0, 1, 2, 3, -1, -2});
      h = choices.oneOf({0, 1, 2, 5, -1, -2});
      i = choices.oneOf({0, 0, 0, 1, 2});
    }
    int64_t padded = size + l + h + (size > 1 ? (size - 1) * i : 0);
    if (padded < (isOn("empty") ? 0 : 1)) {
      l = h = i = 0;
      padded = size;
    }
    low.push_back(l);
    high.push_back(h);
    interior.push_back(i);
    shape.push_back(padded);
  }
  TensorType type = x.type.with(shape);
  RandomValue value = choices.chance(40)
                          ? pickType(x.type.with({}))
                          : constant(x.type.with({}), choices.below(3));
  RandomValue like = x;
  like.exact &= value.exact;
  like.magnitude = std::max(x.magnitude, value.magnitude);
  like.grain = std::min(x.grain, value.grain);
  like.exact &= fitsExactly(like.magnitude, like.grain);
  finish(assign("stablehlo.pad " + x.name + ", " + value.name + ", low = [" +
                    join(low) + "], high = [" + join(high) +
                    "], interior = [" + join(interior) + "] : (" +
                    x.type.str() + ", " + value.type.str() + ") -> " +
                    type.str(),
                type, like));
}

void RandomGenerator::reverse() {
  RandomValue x = pickAny(1);
  Shape dims;
  for (int64_t dim = 0; dim < x.type.rank(); ++dim)
    if (choices.chance(50))
      dims.push_back(dim);
  if (dims.empty())
    dims.push_back(0);
  finish(assign("stablehlo.reverse " + x.name + ", dims = [" + join(dims) +
                    "] : " + x.type.str(),
                x.type, x));
}

void RandomGenerator::iota() {
  TensorType type{choices.oneOf({"i32", "f32", "i64", "ui8", "i8", "ui32"}),
                  drawShape(1, 3)};
  RandomValue like;
  like.magnitude = 4;
  finish(assign("stablehlo.iota dim = " +
                    std::to_string(choices.below(type.rank())) + " : " +
                    type.str(),
                type, like));
}

/// A dense list in nested brackets.
static std::string denseList(Choices &choices, const TensorType &type,
                             size_t dim = 0) {
  if (dim == type.shape.size()) {
    if (type.isBool())
      return choices.below(2) ? "true" : "false";
    int64_t number = choices.between(0, 4);
    return type.isFloat() ? std::to_string(number / 4.0)
                          : std::to_string(number);
  }
  std::string text = "[";
  for (int64_t i = 0; i < type.shape[dim]; ++i)
    text += (i ? ", " : "") + denseList(choices, type, dim + 1);
  return text + "]";
}

void RandomGenerator::constants() {
  TensorType type{drawElement(), drawShape(0, 2)};
  RandomValue like;
  like.magnitude = 2;
  like.grain = -2;
  if (type.size() == 0 || type.size() > 40)
    return finish(constant(type, 1));
  std::string list = denseList(choices, type);
  finish(assign("stablehlo.constant dense<" + list + "> : " + type.str(), type,
                like));
}

void RandomGenerator::barrier() {
  RandomValue x = pickAny(0), y = pickAny(0);
  std::string name = newName();
  line(name + ":2 = stablehlo.optimization_barrier " + x.name + ", " + y.name +
       " : " + x.type.str() + ", " + y.type.str());
  x.name = name + "#0";
  y.name = name + "#1";
  finish(x);
  finish(y);
}

void RandomGenerator::constrainMore() {
  RandomValue x = pickAny(0);
  if (depth > 0 && !isOn("inner-constraints"))
    return unary();
  if (depth > 0)
    note("inner-constraints");
  finish(assign("pm.constrain " + x.name + " to " +
                    drawSharding(x.type, /*allowPartial=*/true) + " : " +
                    x.type.str(),
                x.type, x));
}

void RandomGenerator::shardingGroup() {
  note("groups");
  RandomValue x = pickAny(1);
  RandomValue y = pickType(x.type);
  std::string id = std::to_string(numGroups++);
  for (const RandomValue &value : {x, y})
    line("pm.sharding_group " + value.name + " id " + id + " : " +
         value.type.str());
}

} // namespace pipemesh::check
