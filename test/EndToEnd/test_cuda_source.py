"""The sources that pmc --emit=cpp writes: they compile without a warning, a step of each
rank makes the calls that the bundle's makes, and its losses are the same.

Some strategies by default; with PIPEMESH_LONG_TESTS (tools/check --all) every model with
each of STRATEGIES, by each compiler that is there. NVIDIA's headers are used where a
toolkit is, and the declarations of test/Cuda/Headers everywhere.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import tensor_file

LONG = bool(os.environ.get("PIPEMESH_LONG_TESTS"))
LIBRARIES = os.path.join(harness.BUILD, "lib", "cuda-standin")
HEADERS = os.path.join(harness.ROOT, "test", "Cuda", "Headers")
RUN_ROLES = os.path.join(harness.ROOT, "test", "EndToEnd", "run_roles.py")
WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
LINK = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lcuda", "-lcublasLt", "-lnccl"]
STRATEGIES = ["", "dp=2,pp=2,tp=2,mb=2"]
# Collectives that are packed and that are not, transfers in groups, and copies of sends;
# whether the stand-ins compute.
COVERING = [("llama", "tp=2,sp=1", True),
            ("llama", "dp=2,zero=1,pp=2,tp=2,mb=4,schedule=looped-bfs,chunks=2", LONG)]
# Products of bf16 to float32, behind the strategy.
BF16 = ("--matmul-precision=bf16", "--attention=own")
if LONG:
    COVERING += [("llama", "dp=2,pp=2,tp=2,mb=4", True), ("gpt2", "", True),
                 ("qwen3", "pp=2,mb=4,schedule=zb-v", True),
                 ("qwen2", "tp=2", True, *BF16)]


def compilers():
    found = [name for name in ("clang++-22", "g++") if shutil.which(name)]
    if not found:
        raise harness.ToolFailed("neither clang++-22 nor g++ is there")
    return found if LONG else found[:1]


def toolkit():
    """The folder of NVIDIA's toolkit, or None."""
    for folder in (os.environ.get("CUDA_HOME"), os.path.join(harness.ROOT, "build", "cuda"),
                   "/usr/local/cuda"):
        if folder and os.path.exists(os.path.join(folder, "bin", "nvcc")) and \
                os.path.exists(os.path.join(folder, "include", "nccl.h")):
            return folder
    return None


def build(compiler, *arguments):
    result = subprocess.run([compiler, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0 or result.stdout:
        raise harness.ToolFailed(f"{compiler} {' '.join(arguments)}\n"
                                 f"{result.stdout[:4000]}")


def sources_of(folder):
    names = [name for name in os.listdir(folder) if name.endswith(".cpp")]
    names.sort(key=lambda name: int(name[5:-4]))
    return [os.path.join(folder, name) for name in names]


class Calls:
    """What a rank called in each step, with addresses as offsets in the arena, and
    streams, events and communicators by how they were made."""

    # Runs of pmrun write where each stream is, and look at the communicators.
    LEFT_OUT = {"ncclCommGetAsyncError"}

    def __init__(self, folder, rank):
        self.base = self.end = self.words = None
        self.made = {"stream": {}, "event": {}, "comm": {}}
        self.steps, self.splits = [], 0
        step = None
        with open(os.path.join(folder, f"rank-{rank}.jsonl")) as file:
            for line in file:
                call = json.loads(line)
                name = call.get("call")
                if name == "cuMemAlloc_v2" and self.base is None:
                    self.base = call["address"]
                    self.end = self.base + call["bytes"]
                elif name == "cuMemHostAlloc" and self.words is None:
                    self.words = call["device"]
                elif name == "cuStreamCreate":
                    self.made["stream"][call["stream"]] = len(self.made["stream"])
                elif name == "cuEventCreate":
                    self.made["event"][call["event"]] = len(self.made["event"])
                elif name == "ncclCommSplit":
                    self.splits += 1
                    if call["comm"]:
                        self.made["comm"][call["comm"]] = (
                            f"split {self.splits}, colour {call['color']}, "
                            f"key {call['key']}")
                elif name == "cuStreamWriteValue32_v2":
                    word = (call["address"] - self.words) // 4
                    if word == 0:
                        step = []
                    if word <= 1:
                        step.append(f"word {word} = {call['value']} on "
                                    f"{self.made['stream'][call['stream']]}")
                    if word == 1:
                        self.steps.append(step)
                        step = None
                elif step is not None and name and name not in self.LEFT_OUT:
                    step.append(self.text(call))

    def text(self, call):
        return ", ".join(f"{key} {self.value(key, value)}" for key, value in call.items())

    def value(self, key, value):
        if key in self.made and value:
            return self.made[key][value]
        if key in ("reads", "writes"):
            return [[self.address(begin), size] for begin, size in value]
        if key == "parameters":
            return [self.address(each) for each in value]
        if key == "workspace":
            return [self.address(value[0]), value[1]]
        if key == "address":
            return self.address(value)
        return value

    def address(self, value):
        if not self.base <= value <= self.end:
            raise AssertionError(f"address {value} is outside of the arena")
        return value - self.base


class CudaSource(harness.EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.compiled = {}

    def compile(self, model, strategy, *more):
        """The sources of a model and its bundle, which all tests share."""
        self.reference = harness.Reference(model)
        self.data = self.reference.write_data(self.path("data.safetensors"))
        if (model, strategy, *more) not in self.compiled:
            both = []
            for out, options in (("sources", ["--emit=cpp"]), ("bundle", [])):
                path = os.path.join(self.kept.name,
                                    "".join([f"{out}-{model}-{strategy}", *more]))
                both.append(harness.compile_bundle(
                    self.reference.directory, path, strategy, harness.clipped_recipe(),
                    options=["--backend=cuda", *options, *more]))
            self.compiled[model, strategy, *more] = both
        return self.compiled[model, strategy, *more]

    def environment(self, calls, mode):
        shutil.rmtree(calls, ignore_errors=True)
        return {**os.environ, "PIPEMESH_CUDA_LIBRARIES": LIBRARIES,
                "PMRT_STANDIN": mode, "PMRT_STANDIN_TRACE": calls}

    def train(self, bundle, steps, calls, mode, *options):
        metrics = self.path("metrics.jsonl")
        result = subprocess.run(
            [harness.tool("pmrun"), bundle, f"--weights={self.reference.directory}",
             f"--data={self.data}", f"--steps={steps}", f"--metrics={metrics}",
             "--quiet", *options], env=self.environment(calls, mode),
            capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [step["loss"] for step in harness.read_metrics(metrics)]

    def build_objects(self, compiler, sources):
        objects = [source[:-4] + ".so" for source in sources]
        for source, made in zip(sources, objects):
            build(compiler, *WARNINGS, f"-I{HEADERS}", f"-I{harness.ROOT}/runtime",
                  "-shared", "-fPIC", "-Dmain=role_main", source, "-o", made, *LINK)
        return objects

    def run_roles(self, objects, calls, mode, *options):
        """Runs a rank of each object; returns what they print."""
        result = subprocess.run([sys.executable, RUN_ROLES, *objects, "--", *options],
                                env=self.environment(calls, mode), capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def ranks(self, sources, objects):
        """The shared object of each rank, by what the sources say of their ranks."""
        by_rank = {}
        for source, made in zip(sources, objects):
            with open(source) as file:
                rows = re.search(r"const RankInfo ranks\[\] = \{(.*?)\n\};", file.read(),
                                 re.DOTALL).group(1)
            for rank in re.findall(r"^    \{(\d+), ", rows, re.MULTILINE):
                by_rank[int(rank)] = made
        return [by_rank[rank] for rank in range(len(by_rank))]

    def assert_same_calls(self, ours, theirs, ranks, steps):
        for rank in range(ranks):
            mine, other = Calls(ours, rank), Calls(theirs, rank)
            self.assertEqual((len(mine.steps), len(other.steps)), (steps, steps))
            for number, (a, b) in enumerate(zip(mine.steps, other.steps)):
                for at, (x, y) in enumerate(zip(a, b)):
                    self.assertEqual(x, y, f"call {at} of step {number} of rank {rank}")
                self.assertEqual(len(a), len(b), f"step {number} of rank {rank}")

    def test_calls_and_losses_are_the_bundle_s(self):
        steps = 2
        for model, strategy, computes, *options in COVERING:
            mode = "compute" if computes else "record"
            with self.subTest(f"{model} {strategy} {mode}"):
                folder, bundle = self.compile(model, strategy, *options)
                theirs, ours = self.path("theirs"), self.path("ours")
                state = self.path("state")
                shutil.rmtree(state, ignore_errors=True)
                right = self.train(bundle, steps, theirs, mode,
                                   f"--save-state={state}")
                sources = sources_of(folder)
                for compiler in compilers():
                    objects = self.build_objects(compiler, sources)
                    ranks = self.ranks(sources, objects)
                    id_file = os.path.join(folder, f"{compiler}.id")
                    output = self.run_roles(ranks, ours, mode, f"--steps={steps}",
                                            f"--state={state}", f"--id-file={id_file}")
                    losses = re.findall(r"^step \d+: loss (\S+)$", output, re.MULTILINE)
                    self.assertEqual(losses, [f"{loss:.9g}" for loss in right])
                    self.assert_same_calls(ours, theirs, len(ranks), steps)
                    harness.succeed("pmcheck", "trace", ours, f"--bundle={bundle}")

    def test_members_of_an_exchange_have_calls_of_their_own(self):
        # Short last blocks that go from one dimension to another, and parts that move.
        for name, text in (("all-to-all", MOVE), ("permute", SHIFT)):
            with self.subTest(name):
                module, inputs = self.path(f"{name}.mlir"), self.path("in.safetensors")
                folder, bundle = self.path(f"{name}-sources"), self.path(name)
                with open(module, "w") as file:
                    file.write(text)
                tensor_file.write(inputs, [("arg0", "F32", [8, 12], bytes(4 * 96))])
                for out, options in ((folder, ["--emit=cpp"]), (bundle, [])):
                    harness.succeed("pmc", module, "--backend=cuda", "-o", out, *options)
                ours, theirs = self.path("ours"), self.path("theirs")
                result = subprocess.run(
                    [harness.tool("pmrun"), bundle, f"--inputs={inputs}",
                     f"--outputs={self.path('out.safetensors')}", "--quiet"],
                    env=self.environment(theirs, "record"), capture_output=True,
                    text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                source = os.path.join(folder, "role-0.cpp")
                with open(source) as file:
                    self.assertIn("switch (r.member(", file.read())
                self.build_objects(compilers()[0], [source])
                self.run_roles([source[:-4] + ".so"] * 4, ours, "record",
                               f"--id-file={folder}.id")
                self.assert_same_calls(ours, theirs, 4, 1)
                harness.succeed("pmcheck", "trace", ours, f"--bundle={bundle}")

    def test_processes_run_what_was_built(self):
        folder, bundle = self.compile("llama", "tp=2,sp=1")
        calls, id_file = self.path("calls"), self.path("id")
        source, = sources_of(folder)
        program = source[:-4]
        build(compilers()[0], *WARNINGS, f"-I{HEADERS}", f"-I{harness.ROOT}/runtime",
              source, "-o", program, *LINK)
        environment = self.environment(calls, "record")
        processes = [subprocess.Popen(
            [program, "--steps=3", f"--id-file={id_file}"],
            env={**environment, "RANK": str(rank), "WORLD_SIZE": "2",
                 "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for rank in range(2)]
        for process in processes:
            output, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, output)
        harness.succeed("pmcheck", "trace", calls, f"--bundle={bundle}")

        def refused(expected, *arguments, **variables):
            result = subprocess.run([program, *arguments],
                                    env={**environment, **variables},
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, r"^\S*role-0\.cpp:\d+: " + expected)
        refused("'--step=1' is no option", "--step=1")
        refused("there are 3 ranks, but the program is for 2", "--ranks=3")
        refused("give --id-file=PATH", "--ranks=2")
        refused("rank 2 is none of this role's, which are 0 and 1", "--ranks=2",
                "--rank=2", f"--id-file={id_file}")
        refused(f"'{id_file}' is there already; remove it", "--ranks=2",
                f"--id-file={id_file}")
        refused(r"cuMemAlloc\(&r.arena, arenaBytes\): out of memory "
                r"\(CUDA_ERROR_OUT_OF_MEMORY\)", "--ranks=2", f"--id-file={id_file}",
                PMRT_STANDIN_FAULT="cuMemAlloc_v2:1:error=2")
        refused(r"ncclAllReduce\(.*: invalid argument", "--ranks=2",
                f"--id-file={self.path('id-2')}",
                PMRT_STANDIN_FAULT="ncclAllReduce:1:error=4")
        refused(r".*cublasLtMatmul\(.*: cuBLASLt's status 15 \(not supported\)",
                "--ranks=2", f"--id-file={self.path('id-3')}",
                PMRT_STANDIN_FAULT="cublasLtMatmul:1:error=15")

    def test_what_has_no_source_is_refused(self):
        model = harness.Reference("gpt2").directory
        common = [model, "--batch=8", "--sequence=20", "--emit=cpp"]
        self.refused("--emit=cpp writes sources for GPUs; give --backend=cuda", "pmc",
                     *common, "-o", self.path("no"))
        self.refused("--emit=cpp writes a folder of sources; name it with -o", "pmc",
                     *common, "--backend=cuda")
        self.refused("is cuDNN's, which sources do not call; take --attention=own",
                     "pmc", *common, "--backend=cuda", "--matmul-precision=bf16", "-o",
                     self.path("no"))
        other = self.path("other")
        os.mkdir(other)
        with open(os.path.join(other, "notes.txt"), "w"):
            pass
        self.refused("has 'notes.txt', which is no source of a role", "pmc", *common,
                     "--backend=cuda", "-o", other)
        loop = self.path("loop.mlir")
        with open(loop, "w") as file:
            file.write(LOOP)
        self.refused("has a loop or a choice whose length the host reads", "pmc", loop,
                     "--backend=cuda", "--emit=cpp", "-o", self.path("no"))

    @unittest.skipUnless(toolkit(), "there is no toolkit with nvcc and NCCL")
    def test_nvcc_has_no_warning(self):
        cases = ([(model, strategy) for model in harness.MODELS
                  for strategy in STRATEGIES] if LONG else
                 [(model, strategy) for model, strategy, _ in COVERING[:1]])
        for model, strategy in cases:
            with self.subTest(f"{model} {strategy}"):
                folder, _ = self.compile(model, strategy)
                for source in sources_of(folder):
                    build(os.path.join(toolkit(), "bin", "nvcc"), "-std=c++17",
                          "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra",
                          "-c", source, "-o", source[:-4] + ".o")


MOVE = """
pm.mesh @mesh = [<"d", spatial = 4>]
func.func @main(%x: tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"d"}]>}) {
  %y = stablehlo.add %x, %x : tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}
"""
SHIFT = """
pm.mesh @mesh = [<"d", spatial = 4>]
func.func @main(%x: tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<2x4x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"d"}, {}]>}) {
  %r = stablehlo.reshape %x : (tensor<8x12xf32>) -> tensor<2x4x12xf32>
  %y = stablehlo.add %r, %r : tensor<2x4x12xf32>
  return %y : tensor<2x4x12xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
"""


if __name__ == "__main__":
    unittest.main()
