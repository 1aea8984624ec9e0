//===- RandomProgram.cpp - meshes, values and shardings -------------------===//

#include "RandomProgram.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace pipemesh::check {

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// SplitMix64 (Steele et al. 2014).
uint64_t Choices::next() {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Choices::beginList() {
  taken.emplace_back();
  at = 0;
}

uint32_t Choices::below(uint32_t bound) {
  if (bound <= 1)
    return 0;
  uint32_t value = 0;
  if (!replays)
    value = next() % bound;
  else if (taken.size() <= given.size() && at < given[taken.size() - 1].size())
    value = std::min(given[taken.size() - 1][at], bound - 1);
  ++at;
  taken.back().push_back(value);
  return value;
}

Shape Choices::permutation(int64_t count) {
  Shape left, order;
  for (int64_t i = 0; i < count; ++i)
    left.push_back(i);
  while (!left.empty()) {
    unsigned place = below(left.size());
    order.push_back(left[place]);
    left.erase(left.begin() + place);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string join(ArrayRef<int64_t> list) {
  std::string text;
  for (int64_t number : list)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string TensorType::str() const {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

int64_t TensorType::size() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

RandomValue RandomGenerator::result(const TensorType &type,
                                    const RandomValue &like) {
  RandomValue value = like;
  value.name = newName();
  value.type = type;
  return value;
}

RandomValue RandomGenerator::assign(const std::string &expression,
                                    const TensorType &type,
                                    const RandomValue &like) {
  RandomValue value = result(type, like);
  line(value.name + " = " + expression);
  return value;
}

void RandomGenerator::finish(RandomValue value) {
  bool allowed = depth == 0 || isOn("inner-constraints");
  if (allowed && choices.chance(25)) {
    std::string sharding = drawSharding(value.type, /*allowPartial=*/true);
    if (depth > 0)
      note("inner-constraints");
    value = assign("pm.constrain " + value.name + " to " + sharding + " : " +
                       value.type.str(),
                   value.type, value);
  }
  visible.push_back(value);
}

//===----------------------------------------------------------------------===//
// Meshes and shardings
//===----------------------------------------------------------------------===//

ArrayRef<const char *> RandomGenerator::getMeshes() {
  static const char *const meshes[] = {"2",   "3",   "2x2",   "4", "1",
                                       "2x3", "3x2", "2x2x2", "8", "4x2",
                                       "2x1", "2x4", "5",     "2x3x2"};
  return meshes;
}

void RandomGenerator::drawMesh() {
  meshText = options.mesh.empty()
                 ? std::string(getMeshes()[choices.below(getMeshes().size())])
                 : options.mesh;
  SmallVector<StringRef> parts;
  StringRef(meshText).split(parts, 'x');
  Shape names = choices.permutation(parts.size());
  for (auto [index, part] : enumerate(parts)) {
    Axis axis{std::string(1, "xyzuvw"[names[index] % 6]), 1};
    (void)part.getAsInteger(10, axis.size);
    mesh.push_back(axis);
  }
}

std::string RandomGenerator::drawSharding(const TensorType &type,
                                          bool allowPartial) {
  const Shape &shape = type.shape;
  // What may stand in it: axes, or both parts of one.
  std::vector<Axis> left;
  for (const Axis &axis : mesh) {
    SmallVector<int64_t> divisors;
    for (int64_t d = 2; d < axis.size; ++d)
      if (axis.size % d == 0)
        divisors.push_back(d);
    if (!isOn("parts") || divisors.empty() || !choices.chance(30)) {
      left.push_back(axis);
      continue;
    }
    int64_t d = divisors[choices.below(divisors.size())];
    left.push_back({axis.name + ":(1)" + std::to_string(d), d});
    left.push_back({axis.name + ":(" + std::to_string(d) + ")" +
                        std::to_string(axis.size / d),
                    axis.size / d});
  }
  auto take = [&](uint32_t place) {
    std::string name = left[place].name;
    left.erase(left.begin() + place);
    if (name.size() > 1)
      note("parts");
    return "\"" + name + "\"";
  };
  bool hasPriorities = isOn("priorities") && choices.chance(20);
  std::string text = "<@mesh, [";
  for (auto [dim, size] : enumerate(shape)) {
    std::string axes;
    int64_t pieces = 1;
    uint32_t count = std::min<uint32_t>(choices.oneOf({0, 1, 1, 2}), left.size());
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t place = choices.below(left.size());
      // Mostly pieces that have elements, and mostly of one size.
      int64_t next = pieces * left[place].size;
      if (!isOn("uneven") && size % next)
        break;
      if (size % next && !choices.chance(next > size ? 15 : 60))
        break;
      if (size % next)
        note("uneven");
      axes += (axes.empty() ? "" : ", ") + take(place);
      pieces = next;
    }
    bool open = isOn("open") && choices.chance(25);
    text += (dim ? ", {" : "{") + axes;
    if (open) {
      note("open");
      text += axes.empty() ? "?" : ", ?";
    }
    text += "}";
    if (hasPriorities && (open || !axes.empty())) {
      note("priorities");
      text += "p" + std::to_string(choices.below(3));
    }
    if (isOn("blocks") && !axes.empty() && pieces > 1 && size > 1 &&
        choices.chance(12)) {
      int64_t least = (size + pieces - 1) / pieces;
      int64_t block = choices.between(least, std::min(size, least + 2));
      if (block != least) {
        note("blocks");
        text += "b" + std::to_string(block);
      }
    }
  }
  text += "]";
  if (!left.empty() && allowPartial && isOn("partial") && choices.chance(15)) {
    note("partial");
    std::string kind = type.isBool()
                           ? "max"
                           : choices.oneOf({"sum", "sum", "sum", "max", "min"});
    text += ", partial = " + kind + "{" + take(choices.below(left.size()));
    if (!left.empty() && choices.chance(20))
      text += ", " + take(choices.below(left.size()));
    text += "}";
  }
  if (!left.empty() && isOn("replicated") && choices.chance(10)) {
    note("replicated");
    text += ", replicated = {" + take(choices.below(left.size())) + "}";
  }
  return text + ">";
}

std::string RandomGenerator::drawAttribute(const TensorType &type,
                                           uint32_t percent,
                                           bool allowPartial) {
  if (!choices.chance(percent))
    return "";
  return " {pm.sharding = #pm.sharding" + drawSharding(type, allowPartial) + "}";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string RandomGenerator::drawElement() {
  if (!choices.chance(30))
    return "f32";
  return choices.oneOf({"i32", "i1", "f64", "i64", "ui8", "i8", "ui32"});
}

int64_t RandomGenerator::drawSize() {
  // Small ones are often, none and a single one are rare.
  static const int64_t sizes[] = {2, 4, 3, 6, 8, 5, 2, 3, 4, 7, 9, 10, 12, 1, 1};
  if (isOn("empty") && choices.chance(1)) {
    note("empty");
    return 0;
  }
  return sizes[choices.below(std::size(sizes))];
}

Shape RandomGenerator::drawShape(int64_t minRank, int64_t maxRank) {
  static const int64_t ranks[] = {1, 2, 2, 2, 3, 3, 0};
  int64_t rank =
      std::clamp(ranks[choices.below(std::size(ranks))], minRank, maxRank);
  Shape shape;
  int64_t total = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = drawSize();
    if (total * size > 200)
      size = 2;
    total *= size;
    shape.push_back(size);
  }
  return shape;
}

RandomValue RandomGenerator::makeArgument(TensorType type) {
  RandomValue value;
  value.name = "%arg" + std::to_string(arguments.size());
  value.type = std::move(type);
  // Multiples of 1/32 up to 2; 0, 1 and 2.
  value.magnitude = 1;
  value.grain = value.type.isFloat() ? -5 : 0;
  arguments.push_back({value, drawAttribute(value.type, 65)});
  visible.push_back(value);
  return value;
}

RandomValue RandomGenerator::makeArgument(int64_t minRank, int64_t maxRank,
                                          StringRef element) {
  return makeArgument({element.str(), drawShape(minRank, maxRank)});
}

RandomValue
RandomGenerator::pick(function_ref<bool(const RandomValue &)> fits,
                      function_ref<RandomValue()> otherwise) {
  SmallVector<const RandomValue *> candidates;
  for (const RandomValue &value : llvm::reverse(visible))
    if (fits(value))
      candidates.push_back(&value);
  if (candidates.empty() || !choices.chance(75))
    return otherwise();
  // The last ones more often.
  uint32_t limit = choices.chance(50) ? candidates.size()
                                      : std::min<size_t>(candidates.size(), 2);
  return *candidates[choices.below(limit)];
}

RandomValue RandomGenerator::pickFloat(int64_t minRank, int64_t maxRank) {
  return pick(
      [&](const RandomValue &v) {
        return v.type.isFloat() && v.type.rank() >= minRank &&
               v.type.rank() <= maxRank;
      },
      [&] { return makeArgument(minRank, maxRank, "f32"); });
}

RandomValue RandomGenerator::pickAny(int64_t minRank, int64_t maxRank) {
  return pick(
      [&](const RandomValue &v) {
        return v.type.rank() >= minRank && v.type.rank() <= maxRank;
      },
      [&] {
        std::string element = drawElement();
        return makeArgument(minRank, maxRank, element);
      });
}

RandomValue RandomGenerator::pickExact(int64_t minRank, int64_t maxRank) {
  return pick(
      [&](const RandomValue &v) {
        return v.exact && v.type.rank() >= minRank && v.type.rank() <= maxRank;
      },
      [&] {
        std::string element = drawElement();
        return makeArgument(minRank, maxRank, element);
      });
}

RandomValue RandomGenerator::pickInt(int64_t minRank, int64_t maxRank) {
  return pick(
      [&](const RandomValue &v) {
        return v.type.isInt() && v.type.rank() >= minRank &&
               v.type.rank() <= maxRank;
      },
      [&] {
        std::string element =
            choices.oneOf({"i32", "i64", "ui8", "i8", "ui32"});
        return makeArgument(minRank, maxRank, element);
      });
}

RandomValue RandomGenerator::pickType(const TensorType &type) {
  return pick([&](const RandomValue &v) { return v.type == type; },
              [&] { return makeArgument(type); });
}

RandomValue RandomGenerator::constant(const TensorType &type, double number) {
  std::string text = type.isBool()    ? (number ? "true" : "false")
                     : type.isFloat() ? std::to_string(number)
                                      : std::to_string(int64_t(number));
  RandomValue like;
  double size = std::fabs(number);
  like.magnitude = size ? std::log2(size) : -1;
  like.grain = -5;
  return assign("stablehlo.constant dense<" + text + "> : " + type.str(), type,
                like);
}

RandomValue RandomGenerator::pickLike(const RandomValue &other) {
  const TensorType &type = other.type;
  switch (choices.below(6)) {
  default:
    return pickType(type);
  case 3:
    return constant(type, type.isFloat() ? choices.between(-8, 8) / 4.0
                                         : choices.between(0, 3));
  case 4:
  case 5: { // A broadcast of some of its dimensions.
    Shape dims, shape;
    for (int64_t dim = 0; dim < type.rank(); ++dim)
      if (choices.chance(50)) {
        dims.push_back(dim);
        shape.push_back(choices.chance(15) ? 1 : type.shape[dim]);
      }
    RandomValue small = pickType(type.with(shape));
    return assign("stablehlo.broadcast_in_dim " + small.name + ", dims = [" +
                      join(dims) + "] : (" + small.type.str() + ") -> " +
                      type.str(),
                  type, small);
  }
  }
}

RandomValue RandomGenerator::pickIndexScalar(StringRef element, int64_t limit) {
  TensorType type{element.str(), {}};
  switch (choices.below(4)) {
  default:
    return constant(type, choices.below(std::max<int64_t>(limit, 1)));
  case 1:
    return constant(type, choices.between(element[0] == 'u' ? 0 : -2, limit + 2));
  case 2:
    return pickType(type);
  case 3:
    return pickIndices(type, limit);
  }
}

RandomValue RandomGenerator::pickIndices(const TensorType &type,
                                         int64_t limit) {
  RandomValue indices = pickType(type);
  if (choices.chance(70)) { // Farther apart, and outside.
    RandomValue scale = constant(type, choices.between(1, 1 + limit / 2));
    indices = assign("stablehlo.multiply " + indices.name + ", " + scale.name +
                         " : " + type.str(),
                     type, indices);
    RandomValue shift =
        constant(type, choices.between(0, type.element[0] == 'u' ? 0 : 3));
    indices = assign("stablehlo.subtract " + indices.name + ", " + shift.name +
                         " : " + type.str(),
                     type, indices);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

ArrayRef<RandomGenerator::Kind> RandomGenerator::allKinds() {
  using G = RandomGenerator;
  static const Kind kinds[] = {
      {"unary", 6, &G::unary},
      {"binary", 12, &G::binary},
      {"smooth", 3, &G::smooth},
      {"divide", 2, &G::divide},
      {"logic", 3, &G::logic},
      {"select", 5, &G::compareAndSelect},
      {"clamp", 2, &G::clamp},
      {"convert", 3, &G::convertElements},
      {"reshape", 8, &G::reshape},
      {"transpose", 5, &G::transpose},
      {"broadcast", 5, &G::broadcast},
      {"concatenate", 5, &G::concatenate},
      {"slice", 5, &G::slice},
      {"pad", 5, &G::pad},
      {"reverse", 3, &G::reverse},
      {"iota", 3, &G::iota},
      {"constant", 2, &G::constants},
      {"barrier", 1, &G::barrier},
      {"constrain", 3, &G::constrainMore},
      {"group", 2, &G::shardingGroup},
      {"dot", 14, &G::dot},
      {"reduce", 10, &G::reduce},
      {"argmax", 3, &G::argmax},
      {"sort", 4, &G::sort},
      {"top_k", 3, &G::topK, "chlo.top_k"},
      {"reduce_window", 5, &G::reduceWindow, "stablehlo.reduce_window"},
      {"dynamic_slice", 5, &G::dynamicSlice},
      {"dynamic_update_slice", 5, &G::dynamicUpdateSlice},
      {"gather", 8, &G::gather},
      {"scatter", 8, &G::scatter},
      {"while", 4, &G::loop},
      {"if", 3, &G::branch},
      {"rms_norm", 2, &G::rmsNorm},
      {"layer_norm", 2, &G::layerNorm},
      {"rope", 1, &G::rope},
      {"attention", 3, &G::attention},
      {"embedding", 3, &G::embedding},
      {"embedding_grad", 2, &G::embeddingGradient},
      {"cross_entropy", 3, &G::crossEntropy},
  };
  return kinds;
}

std::vector<std::string> RandomGenerator::getKinds() {
  std::vector<std::string> names;
  for (const Kind &kind : allKinds())
    names.push_back(kind.name);
  return names;
}

void RandomGenerator::statement() {
  SmallVector<const Kind *> kinds;
  uint32_t total = 0;
  for (const Kind &kind : allKinds()) {
    if (!options.ops.empty() && !options.ops.count(kind.name))
      continue;
    if (kind.needs &&
        !mlir::RegisteredOperationName::lookup(kind.needs, &context))
      continue;
    bool hasRegion = kind.draw == &RandomGenerator::loop ||
                     kind.draw == &RandomGenerator::branch;
    if (hasRegion && (depth >= 2 || !isOn("regions")))
      continue;
    if (kind.draw == &RandomGenerator::shardingGroup &&
        (depth > 0 || !isOn("groups")))
      continue;
    kinds.push_back(&kind);
    total += kind.weight;
  }
  uint32_t place = choices.below(total);
  for (const Kind *kind : kinds) {
    if (place < kind->weight) {
      used.push_back(kind->name);
      if (depth > 0)
        note("regions");
      (this->*kind->draw)();
      return;
    }
    place -= kind->weight;
  }
}

std::string RandomGenerator::make() {
  choices.beginList();
  drawMesh();
  size_t count;
  if (choices.isReplay()) {
    count = choices.getNumGiven() - 2;
  } else {
    // Mostly few.
    uint32_t most = options.maxOps;
    count = 1 + choices.below(choices.below(3) ? (most + 1) / 2 : most);
  }
  for (size_t i = 0; i < count; ++i) {
    choices.beginList();
    statement();
    // Large values are slow, and long ones show no more.
    llvm::erase_if(visible, [](const RandomValue &v) {
      return v.type.size() > 600 || v.type.rank() > 5;
    });
  }
  choices.beginList();
  std::string body = text_;
  // All values that nothing uses, and some others.
  auto countUses = [&](StringRef name) {
    size_t count = 0;
    for (size_t at = 0; (at = body.find(name, at)) != std::string::npos;) {
      at += name.size();
      count += at == body.size() || !isAlnum(body[at]);
    }
    return count;
  };
  std::vector<RandomValue> results;
  for (const RandomValue &value : visible) {
    bool isArgument = StringRef(value.name).starts_with("%arg");
    // The one that defines it, or, of several results, none.
    size_t defined = isArgument || StringRef(value.name).contains('#') ? 0 : 1;
    bool isUnused = !isArgument && countUses(value.name) <= defined;
    if (isUnused || choices.chance(isArgument ? 2 : 10))
      results.push_back(value);
  }
  if (results.empty()) {
    if (!visible.empty())
      results.push_back(visible.back());
    else
      results.push_back(arguments.empty() ? makeArgument({"f32", {2}})
                                          : arguments.back().first);
  }
  std::string text = "pm.mesh @mesh = [";
  for (auto [index, axis] : enumerate(mesh))
    text += (index ? ", <\"" : "<\"") + axis.name +
            "\", spatial = " + std::to_string(axis.size) + ">";
  text += "]\nfunc.func @main(";
  std::string resultTypes, names, types;
  for (auto [index, value] : enumerate(results)) {
    std::string comma = index ? ", " : "";
    resultTypes += comma + value.type.str() +
                   drawAttribute(value.type, 40, /*allowPartial=*/true);
    names += comma + value.name;
    types += comma + value.type.str();
  }
  for (auto [index, argument] : enumerate(arguments))
    text += (index ? ", " : "") + argument.first.name + ": " +
            argument.first.type.str() + argument.second;
  return text + ") -> (" + resultTypes + ") {\n" + body + "  return " + names +
         " : " + types + "\n}\n";
}

} // namespace pipemesh::check
