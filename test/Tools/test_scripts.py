"""The scripts of tools/: what they write, and how they refuse bad arguments."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, "tools")
INPUTS = os.path.join(ROOT, "test", "Inputs")
sys.path.insert(0, os.path.join(TOOLS, "python"))

import curves  # noqa: E402
import tensor_file  # noqa: E402


def run(name, *arguments):
    return subprocess.run([os.path.join(TOOLS, name), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60)


class ScriptTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name, text=None):
        path = os.path.join(self.scratch, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def refused(self, expected, name, *arguments):
        """One line on stderr that holds `expected`, and no success."""
        result = run(name, *arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1,
                         result.stderr)
        self.assertIn(expected, result.stderr)


class Scripts(ScriptTest):
    def test_every_script_has_help_with_an_example(self):
        for name in ("setup", "build", "check", "quickstart", "make-model",
                     "plot-loss", "plot-timeline", "fetch-model"):
            with self.subTest(name):
                result = run(name, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("example", result.stdout)

    def test_scripts_in_python_have_help_with_an_example(self):
        for path in ("tools/python/run_tests.py", "test/EndToEnd/smollm2.py",
                     "test/Benchmark/benchmark.py"):
            with self.subTest(path):
                result = subprocess.run(
                    [sys.executable, os.path.join(ROOT, path), "--help"],
                    stdout=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(result.returncode, 0)
                self.assertIn("example", result.stdout)

    def test_unknown_options_are_refused(self):
        for name in ("setup", "build", "check", "quickstart"):
            with self.subTest(name):
                self.refused("--nonsense", name, "--nonsense")

    def test_wheels_of_cuda_are_pinned_with_checksums(self):
        with open(os.path.join(ROOT, "tools/cuda-wheels.txt")) as file:
            lines = [line for line in file if not line.startswith("#")]
        self.assertGreaterEqual(len(lines), 9)
        for line in lines:
            self.assertRegex(line, r"^nvidia-[a-z0-9-]+==[0-9.]+ "
                                   r"--hash=sha256:[0-9a-f]{64}$")

    def test_setup_lists_packages(self):
        result = run("setup", "--list")
        self.assertIn("libmlir-22-dev", result.stdout.split())
        self.assertIn("bible-kjv", result.stdout.split())

    def test_fetch_model_refuses_an_unknown_model(self):
        self.refused("no model 'gpt5'; there is smollm2-135m", "fetch-model",
                     "gpt5")


class MakeModel(ScriptTest):
    def make(self, out, *arguments):
        result = run("make-model", "-o", self.path(out), *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["parameters"]

    def test_names_and_shapes_are_the_library_s(self):
        sizes = {"llama": (), "qwen2": (), "qwen3": (), "mistral": (),
                 "gpt2": ("--vocabulary", "257", "--positions", "32")}
        for name, extra in sizes.items():
            with self.subTest(name):
                reference = os.path.join(INPUTS, "models", name)
                with open(os.path.join(reference, "config.json")) as file:
                    config = json.load(file)
                arguments = ["--architecture", name, "--layers", "4", "--hidden",
                             "32", "--heads", "4", *extra]
                if name != "gpt2":
                    arguments += ["--kv-heads", "2", "--intermediate", "64"]
                if name == "qwen3":
                    arguments += ["--head-dim", "16"]
                if name != "gpt2" and config["tie_word_embeddings"]:
                    arguments += ["--tied"]
                self.make(name, *arguments)
                ours, _, _ = tensor_file.read_header(
                    os.path.join(self.scratch, name, "model.safetensors"))
                theirs, _, _ = tensor_file.read_header(
                    os.path.join(reference, "model.safetensors"))
                self.assertEqual(
                    {key: (v["dtype"], v["shape"]) for key, v in ours.items()},
                    {key: (v["dtype"], v["shape"]) for key, v in theirs.items()})

    def test_weights_are_seeded_and_normal(self):
        self.make("a", "--seed", "1")
        self.make("b", "--seed", "1")
        self.make("c", "--seed", "2")
        names = ["a", "b", "c"]
        weights = [tensor_file.read_model(self.path(name))
                   ["model.embed_tokens.weight"].values() for name in names]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(weights[0], weights[2])
        count = len(weights[0])
        mean = sum(weights[0]) / count
        deviation = math.sqrt(sum((x - mean) ** 2 for x in weights[0]) / count)
        self.assertLess(abs(mean), 5 * 0.02 / math.sqrt(count))
        self.assertAlmostEqual(deviation, 0.02, delta=0.001)

    def test_layers_do_not_depend_on_their_number(self):
        self.make("two", "--layers", "2")
        self.make("three", "--layers", "3")
        name = "model.layers.1.mlp.up_proj.weight"
        self.assertEqual(
            tensor_file.read_model(self.path("two"))[name].values(),
            tensor_file.read_model(self.path("three"))[name].values())

    def test_count_of_parameters_is_printed(self):
        count = self.make("m", "--tied")
        model = tensor_file.read_model(self.path("m"))
        self.assertEqual(count, sum(tensor_file.element_count(tensor.shape)
                                    for tensor in model.values()))

    def test_sizes_that_do_not_fit_are_refused(self):
        out = self.path("m")
        self.refused("--hidden 30 is not a multiple of --heads 4", "make-model",
                     "-o", out, "--hidden", "30")
        self.refused("--layers is 0", "make-model", "-o", out, "--layers", "0")
        self.refused("gpt2 has neither", "make-model", "-o", out,
                     "--architecture", "gpt2", "--kv-heads", "2")
        self.assertFalse(os.path.exists(out))


class PlotLoss(ScriptTest):
    def metrics(self, name, losses):
        return self.path(name, "".join(
            json.dumps({"step": i, "loss": loss}) + "\n"
            for i, loss in enumerate(losses)))

    def test_picture_has_a_curve_and_a_label_for_each_file(self):
        a = self.metrics("a.jsonl", [3.0, 2.0, 1.5])
        b = self.metrics("b.jsonl", [3.0, 2.1, 1.4])
        out = self.path("loss.svg")
        result = run("plot-loss", a, b, "--label", "dp=2 & <mb>", "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = xml.dom.minidom.parse(out)
        self.assertEqual(len(document.getElementsByTagName("polyline")), 2)
        texts = [node.firstChild.data
                 for node in document.getElementsByTagName("text")]
        self.assertIn("dp=2 & <mb>", texts)
        self.assertIn(b, texts)
        self.assertIn("step", texts)

    def test_one_step_and_equal_losses_can_be_drawn(self):
        for losses in ([2.0], [2.0, 2.0, 2.0]):
            path = self.metrics("m.jsonl", losses)
            out = self.path("loss.svg")
            self.assertEqual(run("plot-loss", path, "-o", out,
                                 "--terminal").returncode, 0)
            self.assertNotIn("nan", open(out).read())

    def test_bad_files_are_refused_by_name(self):
        self.refused("no-file", "plot-loss", self.path("no-file"))
        self.refused("line 1", "plot-loss", self.path("bad.jsonl", "hello\n"))
        self.refused("no 'loss'", "plot-loss",
                     self.path("other.jsonl", '{"step": 0}\n'))
        self.refused("no step", "plot-loss", self.path("empty.jsonl", ""))

    def test_ticks_are_round_and_cover_the_range(self):
        self.assertEqual(curves.ticks(0, 10, 5), [0, 2, 4, 6, 8, 10])
        self.assertEqual(curves.tick_texts(curves.ticks(0.0, 0.2, 4)),
                         ["0.00", "0.05", "0.10", "0.15", "0.20"])
        self.assertEqual(curves.ticks(3, 3, 5), [3])


class TensorFiles(ScriptTest):
    def test_written_tensors_are_read_back(self):
        path = self.path("t.safetensors")
        data = tensor_file.Tensor("I32", [2, 2], b"\1\0\0\0" * 4).data
        tensor_file.write(path, [("x", "I32", [2, 2], data),
                                 ("y", "F32", [], lambda: b"\0\0\x80\x3f")])
        tensors = tensor_file.read(path)
        self.assertEqual(list(tensors["x"].values()), [1, 1, 1, 1])
        self.assertEqual(list(tensors["y"].values()), [1.0])
        self.assertEqual(os.listdir(self.scratch), ["t.safetensors"])

    def test_damaged_files_are_named(self):
        path = self.path("t.safetensors")
        tensor_file.write(path, [("x", "I32", [2], b"\0" * 8)])
        whole = open(path, "rb").read()
        for length in (0, 7, 20, len(whole) - 1):
            with open(path, "wb") as file:
                file.write(whole[:length])
            with self.assertRaisesRegex(tensor_file.TensorFileError, path):
                tensor_file.read(path)


if __name__ == "__main__":
    unittest.main()
