//===- RandomIndexing.cpp - random statements with indices ----------------===//

#include "RandomProgram.h"
#include <cmath>

using namespace llvm;

namespace pipemesh::check {

void RandomGenerator::dynamicSlice() {
  RandomValue x = pickAny(1);
  std::string element = choices.oneOf({"i32", "i64", "ui8", "i8", "ui32"});
  std::string names, types;
  Shape sizes;
  for (int64_t size : x.type.shape) {
    int64_t taken = choices.chance(50) ? size : choices.between(std::min<int64_t>(size, 1), size);
    sizes.push_back(taken);
    names += pickIndexScalar(element, size - taken + 1).name + ", ";
    types += ", " + TensorType{element, {}}.str();
  }
  TensorType type = x.type.with(sizes);
  finish(assign("stablehlo.dynamic_slice " + x.name + ", " + names +
                    "sizes = [" + join(sizes) + "] : (" + x.type.str() + types +
                    ") -> " + type.str(),
                type, x));
}

void RandomGenerator::dynamicUpdateSlice() {
  RandomValue x = pickAny(1);
  std::string element = choices.oneOf({"i32", "i64", "ui8", "i8", "ui32"});
  std::string names, types;
  Shape sizes;
  for (int64_t size : x.type.shape) {
    int64_t taken = choices.chance(50) ? size : choices.between(std::min<int64_t>(size, 1), size);
    sizes.push_back(taken);
    names += ", " + pickIndexScalar(element, size - taken + 1).name;
    types += ", " + TensorType{element, {}}.str();
  }
  RandomValue update = pickType(x.type.with(sizes));
  RandomValue like = x;
  like.exact &= update.exact;
  like.magnitude = std::max(x.magnitude, update.magnitude);
  like.grain = std::min(x.grain, update.grain);
  like.exact &= fitsExactly(like.magnitude, like.grain);
  finish(assign("stablehlo.dynamic_update_slice " + x.name + ", " +
                    update.name + names + " : (" + x.type.str() + ", " +
                    update.type.str() + types + ") -> " + x.type.str(),
                x.type, like));
}

namespace {
/// How a gather or a scatter addresses a tensor.
struct Addressing {
  /// Dimensions of the tensor that the indices name, in their order.
  Shape indexed;
  /// Collapsed ones, and those that go with a dimension of the indices.
  Shape collapsed, batching, indexBatching;
  Shape sliceSizes;
  /// The batch dimensions of the indices, without that of the index vectors.
  Shape batch;
  int64_t vectorDim = 0;
  bool hasVectorDim = true;
  Shape indicesShape;
  /// The result of a gather, or the updates of a scatter.
  Shape windowShape;
  Shape windowDims;
};
} // namespace

static Addressing drawAddressing(Choices &choices, const Shape &shape,
                                 bool isPlain) {
  Addressing a;
  int64_t rank = shape.size();
  Shape windowSizes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shape[dim], taken = size;
    // The first dimension is indexed as long as nothing is chosen.
    uint32_t role = choices.below(10);
    if (size == 0)
      role = 9;
    if ((dim == 0 && role < 5) || (dim > 0 && (role == 1 || role == 2))) {
      a.indexed.push_back(dim);
      a.collapsed.push_back(dim);
      taken = 1;
    } else if (role == 5 && !isPlain) { // A window.
      a.indexed.push_back(dim);
      taken = choices.between(1, size);
      windowSizes.push_back(taken);
    } else if (role == 6 && a.batching.size() < 2) {
      a.batching.push_back(dim);
      taken = 1;
    } else {
      if (role == 7 && !isPlain)
        taken = choices.between(1, size);
      windowSizes.push_back(taken);
    }
    a.sliceSizes.push_back(taken);
  }
  if (choices.chance(30))
    std::reverse(a.indexed.begin(), a.indexed.end());
  // Batch dimensions of the indices.
  for (uint32_t i = 0, count = choices.oneOf({1, 1, 0, 2}); i < count; ++i)
    a.batch.push_back(choices.oneOf({2, 3, 4, 5, 6, 1}));
  SmallVector<int64_t> own(a.batch.size(), -1);
  for (int64_t dim : a.batching) {
    uint32_t place = choices.below(a.batch.size() + 1);
    a.batch.insert(a.batch.begin() + place, shape[dim]);
    own.insert(own.begin() + place, dim);
  }
  a.hasVectorDim = a.indexed.size() != 1 || !choices.chance(30);
  a.vectorDim = a.batch.size();
  if (a.hasVectorDim && choices.chance(20))
    a.vectorDim = choices.below(a.batch.size() + 1);
  a.indicesShape = a.batch;
  if (a.hasVectorDim)
    a.indicesShape.insert(a.indicesShape.begin() + a.vectorDim,
                          a.indexed.size());
  a.indexBatching.assign(a.batching.size(), 0);
  for (auto [place, dim] : enumerate(own))
    for (auto [which, batching] : enumerate(a.batching))
      if (batching == dim)
        a.indexBatching[which] =
            place + (a.hasVectorDim && int64_t(place) >= a.vectorDim ? 1 : 0);
  // Windows and batches, interleaved.
  size_t window = 0, batch = 0;
  while (window < windowSizes.size() || batch < a.batch.size()) {
    bool isWindow = batch == a.batch.size() ||
                    (window < windowSizes.size() && choices.chance(25));
    if (isWindow)
      a.windowDims.push_back(a.windowShape.size());
    a.windowShape.push_back(isWindow ? windowSizes[window++]
                                     : a.batch[batch++]);
  }
  return a;
}

static int64_t sizeOf(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t s : shape)
    size *= s;
  return size;
}

static void addDims(std::string &text, StringRef name, ArrayRef<int64_t> dims) {
  if (!dims.empty())
    text += name.str() + " = [" + join(dims) + "], ";
}

void RandomGenerator::gather() {
  RandomValue x = pickAny(1);
  Addressing a = drawAddressing(choices, x.type.shape, /*isPlain=*/false);
  if (sizeOf(a.windowShape) > 400)
    return transpose();
  TensorType indices{choices.oneOf({"i32", "i64", "ui8", "i8", "ui32"}),
                     a.indicesShape};
  int64_t limit = 1;
  for (int64_t dim : a.indexed)
    limit = std::max(limit, x.type.shape[dim]);
  RandomValue i = pickIndices(indices, limit);
  std::string numbers;
  addDims(numbers, "offset_dims", a.windowDims);
  addDims(numbers, "collapsed_slice_dims", a.collapsed);
  addDims(numbers, "operand_batching_dims", a.batching);
  addDims(numbers, "start_indices_batching_dims", a.indexBatching);
  addDims(numbers, "start_index_map", a.indexed);
  numbers += "index_vector_dim = " + std::to_string(a.vectorDim);
  TensorType type = x.type.with(a.windowShape);
  finish(assign("\"stablehlo.gather\"(" + x.name + ", " + i.name +
                    ") <{dimension_numbers = #stablehlo.gather<" + numbers +
                    ">, slice_sizes = array<i64: " + join(a.sliceSizes) +
                    ">}> : (" + x.type.str() + ", " + indices.str() + ") -> " +
                    type.str(),
                type, x));
}

void RandomGenerator::scatter() {
  RandomValue x = choices.chance(40) ? pickAny(1) : pickFloat(1);
  if (choices.chance(35))
    x = constant(x.type, 0);
  std::string op = choices.oneOf({"add", "add", "maximum", "minimum", "multiply",
                                  "none"});
  // What replaces elements must name each once.
  Addressing a = drawAddressing(choices, x.type.shape, op == "none");
  if (sizeOf(a.windowShape) > 400)
    return transpose();
  TensorType indices{choices.oneOf({"i32", "i64", "i8", "ui32"}),
                     a.indicesShape};
  int64_t limit = 1;
  for (int64_t dim : a.indexed)
    limit = std::max(limit, x.type.shape[dim]);
  RandomValue i;
  int64_t rows = sizeOf(a.batch);
  for (auto [place, dim] : enumerate(a.batching))
    rows /= std::max<int64_t>(x.type.shape[dim], 1);
  if (op != "none") {
    i = pickIndices(indices, limit);
  } else if (a.indexed.empty() || rows == 1) {
    i = pickIndices(indices, limit);
  } else {
    // A different number for each row of the batch, rotated and outside for some.
    Shape flat{sizeOf(a.batch)};
    TensorType line{indices.element, flat};
    i = assign("stablehlo.iota dim = 0 : " + line.str(), line, RandomValue());
    RandomValue shift = constant(line, choices.between(0, 3));
    i = assign("stablehlo.add " + i.name + ", " + shift.name + " : " +
                   line.str(),
               line, i);
    if (choices.chance(50))
      i = assign("stablehlo.reverse " + i.name + ", dims = [0] : " + line.str(),
                 line, i);
    TensorType spread{indices.element, a.batch};
    i = assign("stablehlo.reshape " + i.name + " : (" + line.str() + ") -> " +
                   spread.str(),
               spread, i);
    Shape dims;
    for (int64_t dim = 0; dim < indices.rank(); ++dim)
      if (!a.hasVectorDim || dim != a.vectorDim)
        dims.push_back(dim);
    i = assign("stablehlo.broadcast_in_dim " + i.name + ", dims = [" +
                   join(dims) + "] : (" + spread.str() + ") -> " +
                   indices.str(),
               indices, i);
  }
  TensorType type = x.type.with(a.windowShape);
  RandomValue updates = pickType(type);
  RandomValue like = x;
  double terms = double(sizeOf(a.batch)) + 1;
  like.magnitude = std::max(x.magnitude, updates.magnitude);
  like.grain = std::min(x.grain, updates.grain);
  if (x.type.isFloat() && op == "add") {
    like.magnitude += std::log2(terms);
  } else if (x.type.isFloat() && op == "multiply") {
    like.magnitude = std::max(0.0, like.magnitude) * (terms + 1);
    like.grain = std::min(0.0, like.grain) * (terms + 1);
    if (like.magnitude > 60) {
      op = "maximum";
      like.magnitude = std::max(x.magnitude, updates.magnitude);
      like.grain = std::min(x.grain, updates.grain);
    }
  }
  like.exact = x.exact && updates.exact &&
               fitsExactly(like.magnitude, like.grain);
  std::string numbers, s = x.type.with({}).str();
  addDims(numbers, "update_window_dims", a.windowDims);
  addDims(numbers, "inserted_window_dims", a.collapsed);
  addDims(numbers, "input_batching_dims", a.batching);
  addDims(numbers, "scatter_indices_batching_dims", a.indexBatching);
  addDims(numbers, "scatter_dims_to_operand_dims", a.indexed);
  numbers += "index_vector_dim = " + std::to_string(a.vectorDim);
  RandomValue y = result(x.type, like);
  line(y.name + " = \"stablehlo.scatter\"(" + x.name + ", " + i.name + ", " +
       updates.name + ") <{scatter_dimension_numbers = #stablehlo.scatter<" +
       numbers + ">}> ({");
  line("^bb0(%a: " + s + ", %b: " + s + "):");
  if (op == "none") {
    line("  stablehlo.return %b : " + s);
  } else {
    line("  %c = stablehlo." + op + " %a, %b : " + s);
    line("  stablehlo.return %c : " + s);
  }
  line("}) : (" + x.type.str() + ", " + indices.str() + ", " + type.str() +
       ") -> " + x.type.str());
  finish(y);
}

} // namespace pipemesh::check
