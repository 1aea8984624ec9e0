"""What the end-to-end tests share: the tools, the reference models, and the
comparison of what a run saved with what the models' own library computed."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = os.path.join(ROOT, "test", "Inputs")
BUILD = os.environ.get("PIPEMESH_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import tensor_file  # noqa: E402

MODELS = ["llama", "llama3-rope", "qwen2", "qwen3", "mistral", "gpt2"]
BATCH, SEQUENCE = 8, 20  # of the reference's batches
LIMIT_S = float(os.environ.get("PIPEMESH_TEST_LIMIT_S", 300))


class ToolFailed(AssertionError):
    """A tool that should have succeeded did not."""


def tool(name):
    path = os.path.join(BUILD, "bin", name)
    if not os.path.exists(path):
        raise ToolFailed(f"{path} is missing; run tools/build")
    return path


def execute(name, *arguments, limit_s=LIMIT_S):
    """Runs a tool to its end, whatever its status."""
    command = [tool(name), *map(str, arguments)]
    try:
        return subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"not finished within {limit_s} s: {' '.join(command)}")


def succeed(name, *arguments, limit_s=LIMIT_S):
    """Runs a tool that must succeed; returns what it printed."""
    result = execute(name, *arguments, limit_s=limit_s)
    if result.returncode != 0:
        raise ToolFailed(f"status {result.returncode}: {' '.join(result.args)}\n"
                         f"{result.stdout}{result.stderr}")
    return result.stdout


def compile_bundle(model, out, strategy="", recipe=None, task="train",
                   batch=BATCH, sequence=SEQUENCE, options=()):
    """pmc of a model directory (or module) to the bundle directory `out`."""
    arguments = [model, f"--task={task}", f"--batch={batch}",
                 f"--sequence={sequence}", "-o", out, *options]
    if strategy:
        arguments.append(f"--strategy={strategy}")
    if recipe is not None:
        arguments.append(f"--recipe={write_json(out + '.recipe.json', recipe)}")
    succeed("pmc", *arguments)
    return out


TRANSPORTS = ["threads", "mpi"]


@functools.lru_cache(maxsize=None)
def transport_missing(transport):
    """Why `transport` cannot be tested here, or None where it can."""
    if transport == "threads":
        return None
    if shutil.which("mpirun") is None:
        return "Open MPI is not installed; run tools/setup"
    help_text = succeed("pmrun", "--help")
    if "--transport" not in help_text:
        return "this pmrun has no --transport"
    # A bundle that is missing is found by every build; one without MPI says
    # that first.
    result = execute("pmrun", "no-such-bundle", "--transport=mpi",
                     "--weights=no-such-model", "--data=none.txt")
    if "built without" in result.stderr:
        return "this pmrun is built without MPI"
    return None


def needs(transport):
    """Skips the test in progress where a transport is not built."""
    reason = transport_missing(transport)
    if reason:
        raise unittest.SkipTest(reason)


def train(bundle, weights, data, steps, *options, limit_s=LIMIT_S):
    """pmrun with metrics; returns one dictionary a step."""
    metrics = bundle + ".metrics.jsonl"
    if os.path.exists(metrics):
        os.remove(metrics)
    succeed("pmrun", bundle, f"--weights={weights}", f"--data={data}",
            f"--steps={steps}", f"--metrics={metrics}", *options,
            limit_s=limit_s)
    return read_metrics(metrics)


def read_metrics(path):
    """What pmrun --metrics wrote: a dictionary a step."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def mpirun_command(ranks, *arguments):
    """mpirun of pmrun with more processes than cores, as root if need be."""
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
            tool("pmrun"), *map(str, arguments)]


def mpirun_environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def mpirun(ranks, *arguments, limit_s=LIMIT_S):
    """Runs pmrun on `ranks` processes to the end, whatever its status."""
    command = mpirun_command(ranks, *arguments)
    try:
        return subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              env=mpirun_environment(), timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"not finished within {limit_s} s: {' '.join(command)}")


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
    return path


def write_ids(path, input_ids, shape, labels=None):
    """A --data file: int32 `input_ids`, and `labels` where given."""
    def raw(values):
        return b"".join(value.to_bytes(4, "little", signed=True)
                        for value in values)
    tensors = [("input_ids", "I32", shape, raw(input_ids))]
    if labels is not None:
        tensors.append(("labels", "I32", shape, raw(labels)))
    tensor_file.write(path, tensors)
    return path


class Reference:
    """One of test/Inputs/models with what its own library computed for it."""

    def __init__(self, name):
        self.directory = os.path.join(INPUTS, "models", name)
        with open(os.path.join(self.directory, "reference.json")) as file:
            self.numbers = json.load(file)
        tensors = tensor_file.read(
            os.path.join(self.directory, "reference.safetensors"))
        self.input_ids = tensors["input_ids"]
        self.labels = tensors["labels"]
        self.logits = tensors["logits"]
        self.gradients = {key[len("grad."):]: tensor
                          for key, tensor in tensors.items()
                          if key.startswith("grad.")}

    def write_data(self, path):
        """The four batches and then the first one again, whose loss shows what
        the fourth update did."""
        steps, batch, sequence = self.input_ids.shape
        one = batch * sequence
        ids, labels = self.input_ids.values(), self.labels.values()
        return write_ids(path, list(ids) + list(ids[:one]),
                         [steps + 1, batch, sequence],
                         list(labels) + list(labels[:one]))


# The two optimizer settings of reference.json as recipes.
def plain_recipe():
    return {"optimizer": "adamw", "betas": [0.9, 0.95], "epsilon": 1e-8,
            "weight_decay": 0.1, "decay": "all", "clip_norm": None,
            "learning_rate": 0.01}


def clipped_recipe():
    return {"optimizer": "adamw", "betas": [0.9, 0.95], "epsilon": 1e-8,
            "weight_decay": 0.1, "decay": "matrices", "clip_norm": 0.5,
            "learning_rate": {"schedule": "cosine", "peak": 0.01,
                              "minimum": 0.001, "warmup": 2, "steps": 4}}


def largest_difference(ours, theirs):
    """Largest absolute difference of two tensors' elements; NaN counts as
    infinite."""
    if list(ours.shape) != list(theirs.shape):
        raise AssertionError(f"shape {ours.shape} against {theirs.shape}")
    worst = 0.0
    for a, b in zip(ours.values(), theirs.values()):
        difference = abs(a - b)
        if not difference <= worst:
            worst = difference if difference == difference else float("inf")
    return worst


class EndToEndTest(unittest.TestCase):
    """A scratch folder for each test, and comparisons that name their case."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name):
        return os.path.join(self.scratch, name)

    def assert_close(self, ours, theirs, tolerance, what):
        self.assertTrue(abs(ours - theirs) <= tolerance,
                        f"{what}: {ours!r}, but the reference is {theirs!r} "
                        f"(off by {abs(ours - theirs):.3g}, at most "
                        f"{tolerance:g} is right)")

    def assert_same_bits(self, first, second, what):
        """Two dictionaries of tensors hold the same bytes."""
        self.assertEqual(sorted(first), sorted(second), what)
        for name, tensor in first.items():
            self.assertEqual(tensor.shape, second[name].shape, f"{what}, {name}")
            self.assertTrue(tensor.data == second[name].data,
                            f"{what}: the bits of {name} differ, by up to "
                            f"{largest_difference(tensor, second[name]):.3g}")

    def assert_same_metrics(self, first, second, what):
        """Losses and norms of two runs have the same bits."""
        for key in ("loss", "grad_norm", "counted_tokens"):
            self.assertEqual([step[key] for step in first],
                             [step[key] for step in second], f"{what}: {key}")

    def assert_losses(self, metrics, reference, what):
        self.assertEqual(len(metrics), len(reference), what)
        for step, (ours, theirs) in enumerate(zip(metrics, reference)):
            self.assert_close(ours["loss"], theirs, 1e-4, f"{what}, loss of "
                              f"step {step}")

    def refused(self, expected, name, *arguments):
        """The tool ends with a status other than zero and says why in one line
        that holds each of the texts `expected`. Returns that line."""
        result = execute(name, *arguments)
        self.assertNotEqual(result.returncode, 0, f"{name} accepted it")
        self.assertGreaterEqual(result.returncode, 0,
                                f"{name} was killed by a signal: {result.stderr}")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, f"not one line: {result.stderr}")
        for text in [expected] if isinstance(expected, str) else expected:
            self.assertIn(text, lines[0])
        return lines[0]
