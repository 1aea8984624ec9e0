//===- GraphBuilder.cpp - The pieces of which model graphs are made -------===//

#include "GraphBuilder.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <cmath>

using namespace mlir;

namespace pipemesh {

static constexpr int32_t kIgnoredLabel = -100;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Value GraphBuilder::parameter(const Twine &name) const {
  Value value = parameters.lookup(name.str());
  assert(value && "every parameter that a graph uses is listed");
  return value;
}

Location GraphBuilder::at(const Twine &module) const {
  return NameLoc::get(builder.getStringAttr(module));
}

RankedTensorType GraphBuilder::f32(ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, builder.getF32Type());
}

Value GraphBuilder::scalar(const Twine &module, double value) {
  return stablehlo::ConstantOp::create(
      builder, at(module),
      DenseElementsAttr::get(f32({}), static_cast<float>(value)));
}

Value GraphBuilder::broadcast(const Twine &module, Value value,
                              ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return stablehlo::BroadcastInDimOp::create(builder, at(module), type, value,
                                             dims);
}

Value GraphBuilder::splat(const Twine &module, double value,
                          ArrayRef<int64_t> shape) {
  return broadcast(module, scalar(module, value), {}, shape);
}

Value GraphBuilder::reshape(const Twine &module, Value value,
                            ArrayRef<int64_t> shape) {
  return stablehlo::ReshapeOp::create(builder, at(module), value, shape);
}

Value GraphBuilder::slice(const Twine &module, Value value, int64_t dimension,
                          int64_t begin, int64_t end) {
  SmallVector<int64_t> starts(shapeOf(value).size(), 0);
  SmallVector<int64_t> limits(shapeOf(value));
  SmallVector<int64_t> strides(shapeOf(value).size(), 1);
  starts[dimension] = begin;
  limits[dimension] = end;
  return stablehlo::SliceOp::create(builder, at(module), value, starts, limits,
                                    strides);
}

Value GraphBuilder::add(const Twine &module, Value a, Value b) {
  return stablehlo::AddOp::create(builder, at(module), a, b);
}

Value GraphBuilder::multiply(const Twine &module, Value a, Value b) {
  return stablehlo::MulOp::create(builder, at(module), a, b);
}

Value GraphBuilder::contract(const Twine &module, Value x, Value weight,
                             int64_t dimension) {
  int64_t last = shapeOf(x).size() - 1;
  return stablehlo::DotGeneralOp::create(
      builder, at(module), x, weight, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
      ArrayRef<int64_t>{last}, ArrayRef<int64_t>{dimension});
}

Value GraphBuilder::linear(const Twine &module, Value x, bool hasBias,
                           bool transposed) {
  Value y =
      contract(module, x, parameter(module + ".weight"), transposed ? 0 : 1);
  if (!hasBias)
    return y;
  // The outputs are the last dimensions.
  Value bias = parameter(module + ".bias");
  SmallVector<int64_t> outputs;
  for (size_t rank = shapeOf(y).size(), dim = rank - shapeOf(bias).size();
       dim < rank; ++dim)
    outputs.push_back(dim);
  return add(module, y, broadcast(module, bias, outputs, shapeOf(y)));
}

Value GraphBuilder::rmsNorm(const Twine &module, Value x) {
  return pm::RMSNormOp::create(builder, at(module), x,
                               parameter(module + ".weight"),
                               config.normEpsilon)
      .getResult();
}

Value GraphBuilder::layerNorm(const Twine &module, Value x) {
  return pm::LayerNormOp::create(
             builder, at(module), x, parameter(module + ".weight"),
             parameter(module + ".bias"), config.normEpsilon)
      .getResult();
}

Value GraphBuilder::embedding(const Twine &module, Value ids) {
  Value table = parameter(module + ".weight");
  auto type = f32({batch, sequence, shapeOf(table)[1]});
  IntegerAttr padding;
  if (config.paddingIndex)
    padding = builder.getI64IntegerAttr(*config.paddingIndex);
  return pm::EmbeddingOp::create(builder, at(module), type, table, ids,
                                 padding);
}

Value GraphBuilder::activation(const Twine &module, Value x) {
  Location loc = at(module);
  auto shape = shapeOf(x);
  auto logistic = [&](Value y) -> Value {
    return stablehlo::LogisticOp::create(builder, loc, y);
  };
  auto tanh = [&](Value y) -> Value {
    return stablehlo::TanhOp::create(builder, loc, y);
  };
  auto scale = [&](Value y, double factor) {
    return multiply(module, y, splat(module, factor, shape));
  };
  switch (config.activation) {
  case Activation::SiLU:
    return multiply(module, x, logistic(x));
  case Activation::QuickGELU:
    return multiply(module, x, logistic(scale(x, 1.702)));
  case Activation::GELU: {
    Value erf = chlo::ErfOp::create(builder, loc, scale(x, std::sqrt(0.5)));
    Value sum = add(module, erf, splat(module, 1.0, shape));
    return multiply(module, scale(x, 0.5), sum);
  }
  case Activation::GELUTanh: {
    // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), Hendrycks and Gimpel
    // 2016, section 2.
    Value cube = multiply(module, multiply(module, x, x), x);
    Value inner = add(module, x, scale(cube, 0.044715));
    Value value = tanh(scale(inner, std::sqrt(2.0 / 3.14159265358979323846)));
    Value sum = add(module, value, splat(module, 1.0, shape));
    return multiply(module, scale(x, 0.5), sum);
  }
  case Activation::ReLU: {
    // A choice, so that the gradient at 0 is 0.
    Value zero = splat(module, 0.0, shape);
    Value positive = stablehlo::CompareOp::create(
        builder, loc, x, zero, stablehlo::ComparisonDirection::GT);
    return stablehlo::SelectOp::create(builder, loc, positive, x, zero);
  }
  case Activation::Sigmoid:
    return logistic(x);
  case Activation::Tanh:
    return tanh(x);
  }
  llvm_unreachable("all activations are handled");
}

Value GraphBuilder::attention(const Twine &module, Value q, Value k, Value v,
                              int64_t layer) {
  double scale =
      config.scaleAttention
          ? 1.0 / std::sqrt(static_cast<double>(config.headDimension))
          : 1.0;
  if (config.scaleByInverseLayer)
    scale /= static_cast<double>(layer + 1);
  Value result = pm::AttentionOp::create(builder, at(module), q, k, v, scale,
                                         /*causal=*/true, config.windows[layer])
                     .getResult();
  return reshape(module, result,
                 {batch, sequence, config.heads * config.headDimension});
}

Value GraphBuilder::head(Value x, const Twine &embedding) {
  Value weight = parameter(config.tiedEmbeddings ? embedding + ".weight"
                                                 : Twine("lm_head.weight"));
  return contract("lm_head", x, weight, 1);
}

Value GraphBuilder::loss(Value logits, Value labels) {
  auto i32 = builder.getI32Type();
  Value ignored = stablehlo::ConstantOp::create(
      builder, at("loss.ignored"),
      DenseElementsAttr::get(RankedTensorType::get({}, i32), kIgnoredLabel));
  // Position s predicts the label at s + 1.
  Value targets = slice("loss.targets", labels, 1, 1, sequence + 1);
  auto tokens = f32({batch, sequence});
  Value nll = pm::CrossEntropyOp::create(builder, at("loss.nll"), tokens,
                                         tokens, logits, targets)
                  .getNll();

  Value isCounted = stablehlo::CompareOp::create(
      builder, at("loss.count"), targets,
      broadcast("loss.count", ignored, {}, {batch, sequence}),
      stablehlo::ComparisonDirection::NE);
  Value counted = stablehlo::ConvertOp::create(builder, at("loss.count"),
                                               isCounted, builder.getF32Type());
  Value zero = scalar("loss.zero", 0.0);
  auto sum = [&](const Twine &module, Value value) {
    return stablehlo::ReduceOp::create(builder, at(module), value, zero,
                                       ArrayRef<int64_t>{0, 1}, "stablehlo.add")
        .getResult(0);
  };
  // A batch without a counted token has the loss 0.
  Value count = stablehlo::MaxOp::create(builder, at("loss.count"),
                                         sum("loss.count", counted),
                                         scalar("loss.count", 1.0));
  return stablehlo::DivOp::create(builder, at("loss"), sum("loss.nll", nll),
                                  count);
}

} // namespace pipemesh
