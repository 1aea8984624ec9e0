//===- Reduction.cpp - evaluation of reduce -------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <cmath>

using namespace mlir;

namespace pipemesh::interp {

struct Sum {
  static double apply(double a, double b) { return a + b; }
};
struct Product {
  static double apply(double a, double b) { return a * b; }
};
struct Maximum {
  static double apply(double a, double b) {
    return std::isnan(a) ? a : std::isnan(b) || a < b ? b : a;
  }
};
struct Minimum {
  static double apply(double a, double b) {
    return std::isnan(a) ? a : std::isnan(b) || b < a ? b : a;
  }
};

/// Joins each element of x, a box of `shape`, into the element of `out` that
/// `outStrides` gives; a stride of 0 reduces along its dimension.
template <typename Join>
static void reduceInto(ArrayRef<int64_t> shape, const double *&x, double *out,
                       ArrayRef<int64_t> outStrides) {
  if (shape.empty()) {
    *out = Join::apply(*out, *x++);
    return;
  }
  int64_t count = shape.front(), stride = outStrides.front();
  if (shape.size() > 1) {
    for (int64_t i = 0; i < count; ++i)
      reduceInto<Join>(shape.drop_front(), x, out + i * stride,
                       outStrides.drop_front());
    return;
  }
  if (stride == 0) {
    double joined = *out;
    for (int64_t i = 0; i < count; ++i)
      joined = Join::apply(joined, x[i]);
    *out = joined;
  } else {
    for (int64_t i = 0; i < count; ++i)
      out[i * stride] = Join::apply(out[i * stride], x[i]);
  }
  x += count;
}

using ReduceFunction = void (*)(ArrayRef<int64_t>, const double *&, double *,
                                ArrayRef<int64_t>);

static ReduceFunction getReduceFunction(StringRef name) {
  if (name == "stablehlo.add")
    return reduceInto<Sum>;
  if (name == "stablehlo.multiply")
    return reduceInto<Product>;
  if (name == "stablehlo.maximum")
    return reduceInto<Maximum>;
  if (name == "stablehlo.minimum")
    return reduceInto<Minimum>;
  return nullptr;
}

/// The rows first, first + step, ... of [rows, columns].
static Tensor takeRows(const Tensor &x, int64_t first, int64_t step,
                       int64_t count) {
  int64_t columns = x.getShape()[1];
  Tensor result(
      RankedTensorType::get({count, columns}, x.getElementType()));
  copyBox({count, columns}, x, {first * columns, {step * columns, 1}}, result,
          {0, {columns, 1}});
  return result;
}

static Tensor joinRows(const Tensor &a, const Tensor &b) {
  int64_t columns = a.getShape()[1];
  int64_t rows = a.getShape()[0], more = b.getShape()[0];
  Tensor result(
      RankedTensorType::get({rows + more, columns}, a.getElementType()));
  copyBox({rows, columns}, a, {0, {columns, 1}}, result, {0, {columns, 1}});
  copyBox({more, columns}, b, {0, {columns, 1}}, result,
          {rows * columns, {columns, 1}});
  return result;
}

static LogicalResult reduce(LocalCall &call) {
  auto op = cast<stablehlo::ReduceOp>(call.op);
  size_t count = op.getInputs().size();
  ArrayRef<Tensor> inputs = call.operands.take_front(count);
  ArrayRef<Tensor> inits = call.operands.drop_front(count);
  ArrayRef<int64_t> shape = inputs.front().getShape();
  ArrayRef<int64_t> reduced = op.getDimensions();
  ScalarRegion body(call, op.getBody());

  // One real input, joined by a known op.
  ReduceFunction fast = getReduceFunction(body.getAppliedName());
  if (count == 1 && fast && inputs[0].isFloat()) {
    Tensor result =
        Tensor::splat(call.getResultType(), inits[0].asDouble(0));
    SmallVector<int64_t> kept = getStrides(result.getShape()), strides;
    for (int64_t d = 0, next = 0; d < int64_t(shape.size()); ++d)
      strides.push_back(llvm::is_contained(reduced, d) ? 0 : kept[next++]);
    const double *x = inputs[0].floats();
    if (inputs[0].size())
      fast(shape, x, result.floats(), strides);
    call.results.push_back(result);
    return success();
  }

  // Otherwise as rows to be joined: [reduced, kept], halved until one is left.
  SmallVector<int64_t> order(reduced), rowsFirst;
  llvm::sort(order);
  int64_t rows = 1;
  for (int64_t dim : order)
    rows *= shape[dim];
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (!llvm::is_contained(reduced, d))
      order.push_back(d);
  for (int64_t dim : order)
    rowsFirst.push_back(shape[dim]);
  int64_t columns = call.getResultType().getNumElements();

  SmallVector<Tensor> values;
  for (const Tensor &input : inputs) {
    SmallVector<int64_t> strides = getStrides(shape), from;
    for (int64_t dim : order)
      from.push_back(strides[dim]);
    Tensor moved(RankedTensorType::get(rowsFirst, input.getElementType()));
    copyBox(rowsFirst, input, {0, from}, moved, {0, getStrides(rowsFirst)});
    values.push_back(moved.reshaped({rows, columns}));
  }
  SmallVector<Tensor> arguments, joined;
  while (rows > 1) {
    int64_t pairs = rows / 2;
    arguments.clear();
    for (int64_t side : {0, 1})
      for (const Tensor &value : values)
        arguments.push_back(takeRows(value, side, 2, pairs));
    if (failed(body.run(arguments, joined)))
      return failure();
    for (auto [value, half] : llvm::zip(values, joined))
      value = rows % 2 ? joinRows(half, takeRows(value, rows - 1, 1, 1)) : half;
    rows = pairs + rows % 2;
  }
  if (rows == 0) {
    for (auto [index, init] : llvm::enumerate(inits)) {
      Tensor result(call.getResultType(index));
      SmallVector<int64_t> zeros(result.getRank(), 0);
      copyBox(result.getShape(), init, {0, zeros}, result,
              {0, getStrides(result.getShape())});
      call.results.push_back(result);
    }
    return success();
  }
  arguments.assign(inits.begin(), inits.end());
  arguments.append(values.begin(), values.end());
  if (failed(body.run(arguments, joined)))
    return failure();
  for (auto [index, value] : llvm::enumerate(joined))
    call.results.push_back(value.withType(call.getResultType(index)));
  return success();
}

void registerReductionOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.reduce", reduce);
}

} // namespace pipemesh::interp
