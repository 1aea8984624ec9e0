"""Small training set-ups in which public frameworks computed wrong numbers, with the
right ones. Each test would fail with the fault that it describes."""

import json
import os
import re
import unittest

import harness
import small_step
import tensor_file
from small_step import IGNORED, SmallStep, f32


class UnequalTokens(small_step.SmallStepTest):
    """The loss is a mean over the counted tokens of all ranks and micro-batches, not
    the mean of their means, in which a token weighs more where few are counted."""

    def step(self, batch, sequence, task="train"):
        """Each counted token has the loss id * w."""
        shape = f"{batch}x{sequence}"
        return SmallStep(batch, sequence, {"w": ((1,), [1.0])}, f"""\
  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<1xf32>) -> tensor<{shape}xf32>
  %token = stablehlo.multiply %x, %wb : tensor<{shape}xf32>
  %ignored = stablehlo.constant dense<{IGNORED}> : tensor<{shape}xi32>
  %mask = stablehlo.compare NE, %labels, %ignored, SIGNED : (tensor<{shape}xi32>, tensor<{shape}xi32>) -> tensor<{shape}xi1>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<{shape}xf32>
  %nll = stablehlo.select %mask, %token, %none : tensor<{shape}xi1>, tensor<{shape}xf32>
  %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<{shape}xf32>, tensor<f32>) -> tensor<f32>
  %ones = stablehlo.convert %mask : (tensor<{shape}xi1>) -> tensor<{shape}xf32>
  %all = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<{shape}xf32>, tensor<f32>) -> tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %count = stablehlo.maximum %all, %one : tensor<f32>
  %loss = stablehlo.divide %sum, %count : tensor<f32>""", with_labels=True, task=task)

    def check(self, strategy, ids, labels, right, batch=2):
        step = self.step(batch, 6)
        folder = self.compile(step, strategy)
        data = self.write_data(step, ids, labels)
        values = self.interpret(folder, data)
        self.assert_values(values["loss"], [right], f"{strategy}: loss")
        self.assert_values(values["gradient w"], [right], f"{strategy}: gradient")
        metrics, gradients = self.run_bundle(folder, data)
        self.assert_close(metrics["loss"], right, 1e-6, f"{strategy}: loss")
        self.assert_values(gradients["w"], [right], f"{strategy}: gradient")

    def test_five_tokens_and_one(self):
        """5 tokens of loss 1 and one of loss 7: 12/6, where means would say 4."""
        ids = [1, 1, 1, 1, 1, 9] + [7, 9, 9, 9, 9, 9]
        labels = [0, 0, 0, 0, 0, IGNORED] + [0] + [IGNORED] * 5
        for strategy in ("", "dp=2", "mb=2"):
            with self.subTest(strategy):
                self.check(strategy, ids, labels, 2.0)

    def test_rows_that_do_not_divide(self):
        """Five rows, with 1 to 5 counted tokens of losses 1 to 5: 55/15, however
        many of them a rank or a micro-batch has."""
        ids = [row if s <= row else 9 for row in range(1, 6) for s in range(1, 7)]
        labels = [0 if s <= row else IGNORED
                  for row in range(1, 6) for s in range(1, 7)]
        for strategy in ("dp=2", "dp=3", "dp=4", "mb=2", "mb=4", "dp=2,mb=2"):
            with self.subTest(strategy):
                self.check(strategy, ids, labels, 55 / 15, batch=5)

    def test_rank_without_a_token(self):
        ids = [3] * 12
        labels = [0] * 6 + [IGNORED] * 6
        for strategy in ("dp=2", "mb=2"):
            with self.subTest(strategy):
                self.check(strategy, ids, labels, 3.0)

    def test_no_token_at_all(self):
        for strategy in ("dp=2", "mb=2"):
            with self.subTest(strategy):
                self.check(strategy, [3] * 12, [IGNORED] * 12, 0.0)

    def test_validation(self):
        """One token of loss 2 and nine of 10: 92/10, where means would say 6."""
        step = self.step(2, 9, task="eval")
        data = self.write_data(step, [2] + [9] * 8 + [10] * 9,
                               [0] + [IGNORED] * 8 + [0] * 9)
        for strategy in ("dp=2", "mb=2"):
            with self.subTest(strategy):
                folder = self.compile(step, strategy)
                metrics, = harness.train(os.path.join(folder, "bundle"), folder,
                                         data, 1)
                self.assert_close(metrics["loss"], 9.2, 1e-6, strategy)


class SharedKeyValueHeads(small_step.SmallStepTest):
    """Where ranks share a key-value head, its gradient is the sum over all of them."""

    def step(self, heads, keys, scores):
        """Attention whose head h counts h + 1 times in the loss; all ids are 1.
        Each query head adds h + 1 to the gradient of its value head."""
        width, batch, sequence = 2, 2, 3
        tokens = f"{batch}x{sequence}"
        q, k = heads * width, keys * width
        weigh = [float(h + 1) if j == 0 else 0.0
                 for h in range(heads) for j in range(width)]
        def wave(count):
            return [scores * ((7 * i) % 5 - 2) / 4 for i in range(count)]
        return SmallStep(batch, sequence, {
            "wq": ((1, q), wave(q)), "wk": ((1, k), wave(k)),
            "wv": ((1, k), [1.0] * k), "wo": ((q, 1), weigh)}, f"""\
  %xd = stablehlo.reshape %x : (tensor<{tokens}xf32>) -> tensor<{tokens}x1xf32>
  %q0 = stablehlo.dot_general %xd, %wq, contracting_dims = [2] x [0] : (tensor<{tokens}x1xf32>, tensor<1x{q}xf32>) -> tensor<{tokens}x{q}xf32>
  %q = stablehlo.reshape %q0 : (tensor<{tokens}x{q}xf32>) -> tensor<{tokens}x{heads}x{width}xf32>
  %k0 = stablehlo.dot_general %xd, %wk, contracting_dims = [2] x [0] : (tensor<{tokens}x1xf32>, tensor<1x{k}xf32>) -> tensor<{tokens}x{k}xf32>
  %k = stablehlo.reshape %k0 : (tensor<{tokens}x{k}xf32>) -> tensor<{tokens}x{keys}x{width}xf32>
  %v0 = stablehlo.dot_general %xd, %wv, contracting_dims = [2] x [0] : (tensor<{tokens}x1xf32>, tensor<1x{k}xf32>) -> tensor<{tokens}x{k}xf32>
  %v = stablehlo.reshape %v0 : (tensor<{tokens}x{k}xf32>) -> tensor<{tokens}x{keys}x{width}xf32>
  %a, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<{tokens}x{heads}x{width}xf32>, tensor<{tokens}x{keys}x{width}xf32> -> tensor<{batch}x{heads}x{sequence}xf32>
  %a1 = stablehlo.reshape %a : (tensor<{tokens}x{heads}x{width}xf32>) -> tensor<{tokens}x{q}xf32>
  %y = stablehlo.dot_general %a1, %wo, contracting_dims = [2] x [0] : (tensor<{tokens}x{q}xf32>, tensor<{q}x1xf32>) -> tensor<{tokens}x1xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<{tokens}x1xf32>, tensor<f32>) -> tensor<f32>
  %count = stablehlo.constant dense<{batch * sequence}.0> : tensor<f32>
  %loss = stablehlo.divide %sum, %count : tensor<f32>""")

    def check(self, heads, keys, tp):
        group = heads // keys
        right = [float(sum(range(1 + key * group, 1 + (key + 1) * group)))
                 if j == 0 else 0.0 for key in range(keys) for j in range(2)]
        step = self.step(heads, keys, scores=0)
        data = self.write_data(step, [1] * 6)
        folder = self.compile(step, f"tp={tp}")
        self.assert_values(self.interpret(folder, data)["gradient wv"], right,
                           f"{heads} and {keys} heads, tp={tp}")
        _, gradients = self.run_bundle(folder, data)
        self.assert_values(gradients["wv"], right,
                           f"{heads} and {keys} heads, tp={tp}")

    def test_one_head_for_two_ranks(self):
        """1 + 2 + 3 + 4, on both ranks, and not 3 or 7."""
        self.check(heads=4, keys=1, tp=2)

    def test_one_head_for_four_ranks(self):
        self.check(heads=4, keys=1, tp=4)

    def test_two_heads_for_four_ranks(self):
        self.check(heads=8, keys=2, tp=4)

    def test_a_head_for_each_rank(self):
        self.check(heads=4, keys=2, tp=2)

    def test_gradient_of_the_keys(self):
        """With scores that differ, all gradients are those of one rank."""
        step = self.step(4, 1, scores=1)
        data = self.write_data(step, [1, 3, 2, 2, 1, 3])
        alone = self.interpret(self.compile(step, ""), data)
        self.assertGreater(max(map(abs, alone["gradient wk"])), 0.01)
        shared = self.interpret(self.compile(step, "tp=2"), data)
        for name in ("loss", "gradient wq", "gradient wk", "gradient wv",
                     "gradient wo"):
            self.assert_values(shared[name], alone[name], name)

    def test_groups_that_do_not_divide(self):
        """9 heads in three groups as 6 + 3 and as 3 + 3 + 3 + 0, 8 in two over
        three ranks, 7 that share one as 4 + 3."""
        for heads, keys, tp in ((9, 3, 2), (9, 3, 4), (8, 2, 3), (7, 1, 2)):
            with self.subTest(heads=heads, keys=keys, tp=tp):
                self.check(heads, keys, tp)

    def test_sizes_of_real_models(self):
        """With the query heads of each rank."""
        for heads, keys, tp, most in ((28, 4, 2, 14), (28, 4, 4, 7), (28, 4, 8, 7),
                                      (40, 10, 2, 20), (40, 10, 4, 12),
                                      (40, 10, 8, 8), (71, 1, 2, 36),
                                      (71, 1, 71, 1), (40, 10, 20, 2)):
            with self.subTest(heads=heads, keys=keys, tp=tp):
                path = self.step(heads, keys, 0).write(self.path("model"))
                text = harness.succeed("pmc", path, f"--strategy=tp={tp}",
                                       "--emit=partitioned")
                own, = re.findall(r"pm.attention .*: tensor<2x3x(\d+)x2xf32>", text)
                self.assertEqual(int(own), most)
        path = self.step(71, 1, 0).write(self.path("model"))
        self.refused(["tp=72", "tp can be 1 to 71"], "pmc", path,
                     "--strategy=tp=72", "--emit=sharded")


class BiasOfRows(small_step.SmallStepTest):
    """The bias behind a product by rows counts once, and so does its gradient."""

    def test_bias_is_added_once(self):
        pair = f32(2, 2)
        step = SmallStep(2, 2, {
            "w1": ((2, 2), [1.0, 0.0, 0.0, 1.0]),
            "w2": ((2, 2), [1.0, 0.0, 0.0, 1.0]),
            "b": ((2,), [10.0, 20.0])}, f"""\
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : ({pair}, {pair}) -> {pair}
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : ({pair}, {pair}) -> {pair}
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xf32>) -> {pair}
  %logits = stablehlo.add %y, %bb : {pair}
  %loss = stablehlo.reduce(%logits init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({pair}, tensor<f32>) -> tensor<f32>""",
                         logits=pair)
        data = self.write_data(step, [1, 2, 3, 4])
        for strategy in ("", "tp=2"):
            with self.subTest(strategy):
                folder = self.compile(step, strategy)
                values = self.interpret(folder, data)
                self.assert_values(values["logits"], [11, 22, 13, 24], "result")
                self.assert_values(values["gradient b"], [2, 2], "gradient")
                metrics, gradients = self.run_bundle(folder, data)
                self.assert_close(metrics["loss"], 70, 1e-5, "loss")
                self.assert_values(gradients["b"], [2, 2], "gradient")


def at(layer, line):
    """The op of a line as one of a layer, which tells its stage."""
    return f'{line} loc("model.layers.{layer}.op")\n'


def recipe(**changes):
    return dict(harness.plain_recipe(), learning_rate=0.0, weight_decay=0.0,
                **changes)


class NormOverStages(small_step.SmallStepTest):
    """One norm over all stages, which counts a parameter once, and one coefficient."""

    def test_tied_weight_counts_once(self):
        """Both stages use the weight; its gradient of squared norm 800 is on both
        of them: sqrt(800), and not sqrt(1600)."""
        pair = f32(2, 2)
        step = SmallStep(2, 2, {"e": ((2,), [1.0, 1.0])}, (
            at(0, f"  %e0 = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<2xf32>) -> {pair}") +
            at(0, f"  %a = stablehlo.multiply %x, %e0 : {pair}") +
            at(1, f"  %e1 = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<2xf32>) -> {pair}") +
            at(1, f"  %b = stablehlo.multiply %x, %e1 : {pair}") +
            at(1, f"  %y = stablehlo.add %a, %b : {pair}") + f"""\
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({pair}, tensor<f32>) -> tensor<f32>"""))
        data = self.write_data(step, [4, 6, 6, 4])
        for strategy in ("", "pp=2", "pp=2,mb=2", "dp=2,pp=2",
                         "pp=2,mb=2,schedule=gpipe"):
            with self.subTest(strategy):
                folder = self.compile(step, strategy, recipe())
                metrics, gradients = self.run_bundle(folder, data)
                self.assert_close(metrics["loss"], 40, 1e-5, "loss")
                self.assert_values(gradients["e"], [20, 20], "gradient")
                self.assert_close(metrics["grad_norm"], 28.284271, 1e-5, "norm")

    def test_stages_clip_together(self):
        """Stages of norms 3 and 4, clipped at 1: both by 1/5, not by 1/3 and 1/4."""
        pair = f32(2, 2)
        lines = ""
        for layer, factor in ((0, 3.0), (1, 4.0)):
            lines += at(layer, f"  %c{layer} = stablehlo.constant dense<{factor}> : {pair}")
            lines += at(layer, f"  %w{layer}b = stablehlo.broadcast_in_dim %w{layer}, dims = [1] : (tensor<1xf32>) -> {pair}")
            lines += at(layer, f"  %s{layer} = stablehlo.multiply %w{layer}b, %c{layer} : {pair}")
            lines += at(layer, f"  %y{layer} = stablehlo.multiply %x, %s{layer} : {pair}")
        lines += at(1, f"  %y = stablehlo.add %y0, %y1 : {pair}")
        step = SmallStep(2, 2, {"w0": ((1,), [1.0]), "w1": ((1,), [1.0])},
                         lines + f"""\
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({pair}, tensor<f32>) -> tensor<f32>
  %four = stablehlo.constant dense<4.0> : tensor<f32>
  %loss = stablehlo.divide %sum, %four : tensor<f32>""")
        data = self.write_data(step, [1, 1, 1, 1])
        for strategy in ("", "pp=2", "pp=2,mb=2", "pp=2,mb=2,schedule=gpipe"):
            with self.subTest(strategy):
                folder = self.compile(step, strategy,
                                      recipe(clip_norm=1.0, betas=[0.0, 0.0]))
                saved = folder + "/saved"
                metrics, gradients = self.run_bundle(folder, data,
                                                     f"--save={saved}")
                self.assert_close(metrics["grad_norm"], 5, 1e-5, "norm")
                self.assert_values(gradients["w0"] + gradients["w1"], [3, 4],
                                   "gradients before clipping")
                moments = tensor_file.read(saved + "/optimizer.safetensors")
                clipped = [list(moments[f"moment1.w{i}"].values())[0]
                           for i in range(2)]
                self.assert_values(clipped, [3 * 0.2, 4 * 0.2],
                                   "gradients after clipping")


def layered_step(batch, layers, width=None):
    """A chain of layers with a weight each: y * w of two numbers, or products by
    matrices of that width."""
    if width is None:
        pair = f32(batch, 2)
        lines, y = "", "%x"
        for layer in range(layers):
            lines += at(layer, f"  %b{layer} = stablehlo.broadcast_in_dim %w{layer}, dims = [1] : (tensor<2xf32>) -> {pair}")
            lines += at(layer, f"  %y{layer} = stablehlo.multiply {y}, %b{layer} : {pair}")
            y = f"%y{layer}"
        shape, rank = (2,), [0, 1]
        values = [1.0, 0.5]
    else:
        pair = f32(batch, 2, width)
        lines = at(0, f"  %x0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : ({f32(batch, 2)}) -> {pair}")
        y = "%x0"
        for layer in range(layers):
            lines += at(layer, f"  %h{layer} = stablehlo.dot_general {y}, %w{layer}, contracting_dims = [2] x [0] : ({pair}, {f32(width, width)}) -> {pair}")
            lines += at(layer, f"  %y{layer} = stablehlo.tanh %h{layer} : {pair}")
            y = f"%y{layer}"
        shape, rank = (width, width), [0, 1, 2]
        values = [((5 * i) % 11 - 5) / 500 for i in range(width * width)]
    return SmallStep(batch, 2, {f"w{i}": (shape, values) for i in range(layers)},
                     lines + f"""\
  %loss = stablehlo.reduce({y} init: %zero) applies stablehlo.add across dimensions = {rank} : ({pair}, tensor<f32>) -> tensor<f32>""")


class FewerMicroBatchesThanStages(small_step.SmallStepTest):
    """The warm-up of 1f1b does not wait for micro-batches that never come."""

    def test_ends_with_the_right_numbers(self):
        for layers, batch, strategies in (
                (8, 2, ["pp=8,mb=1", "pp=8,mb=2"]),
                (4, 6, ["pp=4,mb=2", "pp=4,mb=3", "pp=4,mb=1"])):
            step = layered_step(batch, layers)
            ids = list(range(1, 2 * batch + 1))
            data = self.write_data(step, ids)
            right = sum(ids[0::2]) + sum(ids[1::2]) * 0.5 ** layers
            for strategy in strategies:
                for schedule in ("1f1b", "gpipe"):
                    with self.subTest(f"{strategy},{schedule}"):
                        folder = self.compile(
                            step, f"{strategy},schedule={schedule}", recipe())
                        metrics, gradients = self.run_bundle(folder, data)
                        self.assert_close(metrics["loss"], right, 1e-5, "loss")
                        for i in range(layers):
                            self.assert_values(
                                gradients[f"w{i}"],
                                [sum(ids[0::2]),
                                 sum(ids[1::2]) * 0.5 ** (layers - 1)],
                                f"gradient of layer {i}")


class MemoryOfGradients(small_step.SmallStepTest):
    """One accumulator for each weight, whatever the number of micro-batches."""

    def test_memory_does_not_grow_with_micro_batches(self):
        width = 512
        weight_bytes = 4 * width * width
        step = layered_step(16, 2, width)
        arenas = []
        for micro_batches in (2, 4, 8, 16):
            folder = self.compile(step, f"pp=2,mb={micro_batches}", recipe())
            with open(os.path.join(folder, "bundle", "manifest.json")) as file:
                roles = json.load(file)["roles"]
            arenas.append([role["arena_bytes"] for role in roles])
            for stage, role in enumerate(roles):
                what = f"mb={micro_batches}, stage {stage}"
                large = [buffer for buffer in role["buffers"]
                         if buffer["bytes"] >= weight_bytes]
                states = [b for b in large if b["kind"] == "state"]
                others = [b for b in large if b["kind"] != "state"]
                self.assertEqual(len(states), 3, what)  # a weight and its moments
                self.assertLessEqual(sum(b["slots"] * b["bytes"] for b in others),
                                     weight_bytes, f"{what}: {others}")
                for buffer in role["buffers"]:
                    if buffer["kind"] == "activation":
                        self.assertLessEqual(buffer["slots"],
                                             min(micro_batches, 2 - stage),
                                             f"{what}: {buffer['name']}")
        for fewer, more in zip(arenas, arenas[1:]):
            for before, after in zip(fewer, more):
                self.assertLessEqual(after, before)


if __name__ == "__main__":
    unittest.main()
