"""Training steps of a few parameters, written by hand as modules: their numbers can
be worked out on paper. The ids of the data are the numbers that go in.

A step runs in two ways: on the reference interpreter, as its ranks and micro-batches,
and as a bundle that pmrun executes.
"""

import os
import re
import struct

import harness
import tensor_file

IGNORED = -100


class SmallStep:
    """`body` computes %loss (and maybe %logits) from %x, the ids as f32, from
    %labels where `with_labels`, and from the `parameters`, {name: (shape, values)},
    which are the arguments %name."""

    def __init__(self, batch, sequence, parameters, body, with_labels=False,
                 logits=None, task="train"):
        self.batch, self.sequence = batch, sequence
        self.parameters = parameters
        self.body = body
        self.with_labels = with_labels
        self.logits = logits
        self.task = task

    def text(self):
        ids = f"tensor<{self.batch}x{self.sequence}xi32>"
        arguments = [f'%ids: {ids} {{pm.input = "input_ids"}}']
        if self.with_labels:
            arguments.append(f'%labels: {ids} {{pm.input = "labels"}}')
        for name, (shape, _) in self.parameters.items():
            arguments.append(
                f"%{name}: {f32(*shape)} "
                f'{{pm.state = #pm.state<parameter, "{name}">}}')
        results, values, types = ['tensor<f32> {pm.output = "loss"}'], "%loss", "tensor<f32>"
        if self.logits:
            results.append(self.logits + ' {pm.output = "logits"}')
            values, types = "%loss, %logits", f"tensor<f32>, {self.logits}"
        newline = ",\n    "
        return f"""\
module attributes {{pm.task = "{self.task}", pm.config = "{{}}", pm.batch = {self.batch} : i64,
                   pm.sequence = {self.sequence} : i64, pm.vocabulary = 64 : i64}} {{
  func.func @main({newline.join(arguments)}) -> ({", ".join(results)}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.convert %ids : ({ids}) -> {f32(self.batch, self.sequence)}
{self.body}
  return {values} : {types}
  }}
}}
"""

    def write(self, folder):
        """The module, and the weights as pmrun finds them."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "step.mlir")
        with open(path, "w") as file:
            file.write(self.text())
        tensor_file.write(
            os.path.join(folder, "model.safetensors"),
            [(name, "F32", list(shape), struct.pack(f"<{len(values)}f", *values))
             for name, (shape, values) in self.parameters.items()],
            {"format": "pt"})
        return path


def f32(*shape):
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def parse_values(text):
    """{name: flat values} of what `pmcheck run --print` prints."""
    values = {}
    for line in text.splitlines():
        name, separator, rest = line.partition(" = ")
        if separator:
            values[name] = [float(number) for number in
                            re.findall(r"-?(?:\d[\d.eE+-]*|nan|inf)", rest)]
    return values


class SmallStepTest(harness.EndToEndTest):
    def compile(self, step, strategy, recipe=None):
        """Writes the bundle and the levels; returns their folder."""
        folder = self.path(strategy.replace(",", "_") or "alone")
        path = step.write(folder)
        arguments = [path, f"--strategy={strategy}", "-o", folder + "/bundle",
                     f"--print-after-each={folder}/levels"]
        if recipe:
            arguments.append("--recipe=" +
                             harness.write_json(folder + "/recipe.json", recipe))
        harness.succeed("pmc", *arguments)
        return folder

    def write_data(self, step, ids, labels=None):
        return harness.write_ids(self.path("data.safetensors"), ids,
                                 [1, step.batch, step.sequence], labels)

    def interpret(self, folder, data, level="scheduled"):
        """What the interpreter computes for a level: losses and gradients."""
        levels = os.path.join(folder, "levels")
        name, = [name for name in os.listdir(levels) if name.endswith(f"_{level}.mlir")]
        return parse_values(harness.succeed(
            "pmcheck", "run", os.path.join(levels, name), f"--weights={folder}",
            f"--data={data}", "--print"))

    def run_bundle(self, folder, data, *options):
        """Metrics and gradients of one step of pmrun."""
        gradients = os.path.join(folder, "gradients.safetensors")
        metrics, = harness.train(os.path.join(folder, "bundle"), folder, data, 1,
                                 f"--save-gradients={gradients}", *options)
        tensors = tensor_file.read(gradients)
        return metrics, {name: list(tensor.values())
                         for name, tensor in tensors.items()}

    def assert_values(self, ours, right, what, tolerance=1e-5):
        self.assertEqual(len(ours), len(right), what)
        for a, b in zip(ours, right):
            self.assert_close(a, b, tolerance, what)
