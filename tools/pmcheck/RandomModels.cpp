//===- RandomModels.cpp - random statements of fused ops ------------------===//

#include "RandomProgram.h"

using namespace llvm;

namespace pipemesh::check {

/// Normalised values are bounded, and rounded.
static RandomValue smoothed(RandomValue value, double magnitude) {
  value.exact = false;
  value.magnitude = magnitude;
  return value;
}

/// Norms of wide values would amplify differences: take small ones.
static bool isSmall(const RandomValue &value) {
  return value.type.isFloat() && value.magnitude <= 6;
}

void RandomGenerator::rmsNorm() {
  RandomValue x = pick(
      [](const RandomValue &v) {
        return isSmall(v) && v.type.rank() >= 1 && v.type.shape.back() > 0;
      },
      [&] { return makeArgument(1, 3, "f32"); });
  if (x.type.shape.back() == 0)
    return unary();
  RandomValue w = pickType(x.type.with({x.type.shape.back()}));
  TensorType rows = x.type.with(Shape(x.type.shape.begin(), x.type.shape.end() - 1));
  std::string y = newName(), rstd = newName();
  std::string all = x.type.str() + ", " + w.type.str();
  line(y + ", " + rstd + " = pm.rms_norm " + x.name + ", " + w.name +
       " epsilon 1.0e-1 : " + all + " -> " + rows.str());
  RandomValue out = smoothed(x, 4 + w.magnitude), scale = smoothed(x, 2);
  out.name = y;
  scale.name = rstd;
  scale.type = rows;
  if (choices.chance(40)) {
    RandomValue dy = pickType(x.type);
    if (!choices.chance(50)) {
      line(newName() + " = pm.rms_norm_input_grad " + x.name + ", " + w.name +
           ", " + rstd + ", " + dy.name + " : " + all + ", " + rows.str());
      out = smoothed(x, 8 + w.magnitude + dy.magnitude);
    } else {
      line(newName() + " = pm.rms_norm_weight_grad " + x.name + ", " + rstd +
           ", " + dy.name + " : " + x.type.str() + ", " + rows.str() + " -> " +
           w.type.str());
      out = smoothed(w, 8 + x.magnitude + dy.magnitude);
    }
    out.name = "%v" + std::to_string(numNames - 1);
  }
  if (out.magnitude > 40)
    return;
  finish(out);
  if (choices.chance(30))
    finish(scale);
}

void RandomGenerator::layerNorm() {
  RandomValue x = pick(
      [](const RandomValue &v) {
        return isSmall(v) && v.type.rank() >= 1 && v.type.shape.back() > 0;
      },
      [&] { return makeArgument(1, 3, "f32"); });
  if (x.type.shape.back() == 0)
    return unary();
  TensorType width = x.type.with({x.type.shape.back()});
  RandomValue w = pickType(width), b = pickType(width);
  TensorType rows = x.type.with(Shape(x.type.shape.begin(), x.type.shape.end() - 1));
  std::string y = newName(), mean = newName(), rstd = newName();
  line(y + ", " + mean + ", " + rstd + " = pm.layer_norm " + x.name + ", " +
       w.name + ", " + b.name + " epsilon 1.0e-1 : " + x.type.str() + ", " +
       width.str() + " -> " + rows.str());
  RandomValue out = smoothed(x, 5 + std::max(w.magnitude, b.magnitude));
  out.name = y;
  if (choices.chance(40)) {
    RandomValue dy = pickType(x.type);
    if (!choices.chance(50)) {
      line(newName() + " = pm.layer_norm_input_grad " + x.name + ", " + w.name +
           ", " + mean + ", " + rstd + ", " + dy.name + " : " + x.type.str() +
           ", " + width.str() + ", " + rows.str());
      out = smoothed(x, 8 + w.magnitude + dy.magnitude);
    } else {
      line(newName() + " = pm.layer_norm_weight_grad " + x.name + ", " + mean +
           ", " + rstd + ", " + dy.name + " : " + x.type.str() + ", " +
           rows.str() + " -> " + width.str());
      out = smoothed(w, 8 + x.magnitude + dy.magnitude);
    }
    out.name = "%v" + std::to_string(numNames - 1);
  }
  if (out.magnitude <= 40)
    finish(out);
}

void RandomGenerator::rope() {
  int64_t sequence = choices.between(1, 6), half = choices.oneOf({1, 2, 3});
  TensorType type{"f32", {choices.oneOf({2, 1, 3}), sequence,
                          choices.oneOf({2, 1, 3, 4}), 2 * half}};
  TensorType table{"f32", {sequence, half}};
  RandomValue x = pickType(type), cos = pickType(table), sin = pickType(table);
  RandomValue like = smoothed(x, x.magnitude + 1 +
                                     std::max(cos.magnitude, sin.magnitude));
  if (like.magnitude > 40)
    return;
  finish(assign("pm.rope " + x.name + ", " + cos.name + ", " + sin.name +
                    (choices.chance(30) ? " inverse" : "") + " : " +
                    type.str() + ", " + table.str(),
                type, like));
}

void RandomGenerator::attention() {
  int64_t batch = choices.oneOf({2, 1, 3, 4}), sequence = choices.between(1, 6);
  int64_t keyHeads = choices.oneOf({2, 1, 3, 4}), group = choices.oneOf({1, 2, 3});
  int64_t width = choices.oneOf({2, 4, 1});
  TensorType query{"f32", {batch, sequence, keyHeads * group, width}};
  TensorType key{"f32", {batch, sequence, keyHeads, width}};
  TensorType sums{"f32", {batch, keyHeads * group, sequence}};
  auto pickSmall = [&](const TensorType &type) {
    return pick(
        [&](const RandomValue &v) { return v.type == type && isSmall(v); },
        [&] { return makeArgument(type); });
  };
  RandomValue q = pickSmall(query), k = pickSmall(key), v = pickType(key);
  std::string o = newName(), lse = newName();
  std::string window =
      choices.chance(30) ? " window " + std::to_string(choices.between(1, 4)) : "";
  std::string tail = " scale 0.125 causal" + window;
  line(o + ", " + lse + " = pm.attention " + q.name + ", " + k.name + ", " +
       v.name + tail + " : " + query.str() + ", " + key.str() + " -> " +
       sums.str());
  RandomValue out = smoothed(v, v.magnitude);
  out.name = o;
  out.type = query;
  if (!choices.chance(35))
    return finish(out);
  RandomValue dy = pickType(query);
  std::string dq = newName(), dk = newName(), dv = newName();
  line(dq + ", " + dk + ", " + dv + " = pm.attention_grad " + q.name + ", " +
       k.name + ", " + v.name + ", " + o + ", " + lse + ", " + dy.name + tail +
       " : " + query.str() + ", " + key.str() + ", " + sums.str());
  double magnitude = 8 + dy.magnitude + v.magnitude +
                     std::max(q.magnitude, k.magnitude);
  if (magnitude > 40)
    return;
  for (auto &[name, type] : {std::pair{dq, query}, {dk, key}, {dv, key}}) {
    RandomValue gradient = smoothed(dy, magnitude);
    gradient.name = name;
    gradient.type = type;
    finish(gradient);
  }
}

void RandomGenerator::embedding() {
  // Inputs are 0, 1 and 2: rows of any table of three or more.
  RandomValue table = pick(
      [](const RandomValue &v) {
        return v.type.isFloat() && v.type.rank() == 2 && v.type.shape[0] >= 3;
      },
      [&] {
        return makeArgument({"f32", {choices.oneOf({4, 3, 5, 6, 8, 10}),
                                     drawSize()}});
      });
  RandomValue ids = makeArgument({"i32", drawShape(1, 2)});
  Shape shape = ids.type.shape;
  shape.push_back(table.type.shape[1]);
  TensorType type = table.type.with(shape);
  if (type.size() > 400)
    return;
  finish(assign("pm.embedding " + table.name + ", " + ids.name + " : (" +
                    table.type.str() + ", " + ids.type.str() + ") -> " +
                    type.str(),
                type, table));
}

void RandomGenerator::embeddingGradient() {
  RandomValue grad = pickFloat(2, 3);
  Shape shape(grad.type.shape.begin(), grad.type.shape.end() - 1);
  RandomValue ids = makeArgument({"i32", shape});
  TensorType table = grad.type.with(
      {choices.oneOf({4, 3, 5, 6, 8, 10}), grad.type.shape.back()});
  RandomValue like = grad;
  like.magnitude += 8;
  like.exact &= fitsExactly(like.magnitude, like.grain);
  if (like.magnitude > 60)
    return;
  finish(assign("pm.embedding_grad " + ids.name + ", " + grad.name + " : (" +
                    ids.type.str() + ", " + grad.type.str() + ") -> " +
                    table.str(),
                table, like));
}

void RandomGenerator::crossEntropy() {
  RandomValue logits = pick(
      [](const RandomValue &v) {
        return isSmall(v) && v.type.rank() >= 2 && v.type.rank() <= 3 &&
               v.type.shape.back() >= 3;
      },
      [&] {
        Shape shape = drawShape(1, 2);
        shape.push_back(choices.oneOf({4, 3, 5, 6, 8, 10}));
        return makeArgument({"f32", shape});
      });
  Shape rows(logits.type.shape.begin(), logits.type.shape.end() - 1);
  TensorType ids{"i32", rows}, sums = logits.type.with(rows);
  RandomValue targets = makeArgument(ids);
  if (choices.chance(40)) { // Some rows do not count.
    RandomValue two = constant(ids, 2), none = constant(ids, -100);
    TensorType flags = ids.as("i1");
    RandomValue isTwo =
        assign("stablehlo.compare EQ, " + targets.name + ", " + two.name +
                   " : (" + ids.str() + ", " + ids.str() + ") -> " + flags.str(),
               flags, RandomValue());
    targets = assign("stablehlo.select " + isTwo.name + ", " + none.name + ", " +
                         targets.name + " : " + flags.str() + ", " + ids.str(),
                     ids, RandomValue());
  }
  std::string nll = newName(), lse = newName();
  line(nll + ", " + lse + " = pm.cross_entropy " + logits.name + ", " +
       targets.name + " : " + logits.type.str() + ", " + ids.str() + " -> " +
       sums.str());
  RandomValue out = smoothed(logits, logits.magnitude + 3);
  out.name = nll;
  out.type = sums;
  finish(out);
  if (!choices.chance(40))
    return;
  RandomValue dy = pickType(sums);
  finish(assign("pm.cross_entropy_grad " + logits.name + ", " + targets.name +
                    ", " + lse + ", " + dy.name + " : " + logits.type.str() +
                    ", " + ids.str() + ", " + sums.str(),
                logits.type, smoothed(logits, dy.magnitude + 1)));
}

} // namespace pipemesh::check
