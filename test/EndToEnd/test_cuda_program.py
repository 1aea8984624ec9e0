"""The program for GPUs, run by the real runtime on stand-ins for NVIDIA's libraries:
losses, gradients and updates are those of the models' own library, and the calls that
the ranks made are proved. With PIPEMESH_GPU (test/Gpu/run) it is run by NVIDIA's
libraries on the GPUs that are there.

Some strategies by default; with PIPEMESH_LONG_TESTS (tools/check --all) every model
with each of them.
"""

import contextlib
import json
import math
import os
import struct
import subprocess
import unittest
from random import Random
from unittest import mock

import harness
import tensor_file

LONG = bool(os.environ.get("PIPEMESH_LONG_TESTS"))
GPU = bool(os.environ.get("PIPEMESH_GPU"))
LIBRARIES = os.path.join(harness.BUILD, "lib", "cuda-standin")
STRATEGIES = ["", "tp=2", "dp=2,pp=2,tp=2,mb=2", "dp=2,zero=1,mb=2",
              "dp=2,zero=3,mb=2",
              "tp=2,sp=1", "pp=2,mb=4,schedule=zb-v",
              "pp=2,mb=4,schedule=interleaved-1f1b,chunks=2",
              "pp=2,mb=8,schedule=looped-bfs,chunks=2",
              "dp=2,pp=2,mb=4,schedule=zb-h1"]
COVERING = [("llama", "dp=2,pp=2,tp=2,mb=2"), ("gpt2", "pp=2,mb=4,schedule=zb-v"),
            ("qwen3", "dp=2,zero=1,mb=2")]
# Three layers do not make four stages.
CASES = ([(model, strategy) for model in harness.MODELS for strategy in STRATEGIES
          if model != "llama3-rope" or not ("chunks" in strategy or "zb-v" in strategy)]
         if LONG else COVERING)


# Values that move: two halves of each block, in two parts of a permute; from a cut of
# one dimension to a cut of another one, with sizes that divide and that do not, with
# dimensions in front, between and behind, in both orders.
MOVES = [("8x16", '{"d"}, {}', "2x4x16", '{}, {"d"}, {}'),
         ("8x12", '{"d"}, {}', "8x12", '{}, {"d"}'),
         ("10x6", '{"d"}, {}', "10x6", '{}, {"d"}'),
         ("6x10", '{}, {"d"}', "6x10", '{"d"}, {}'),
         ("2x8x3x12x2", '{}, {"d"}, {}, {}, {}', "2x8x3x12x2",
          '{}, {}, {}, {"d"}, {}'),
         ("3x7x2x5", '{}, {}, {}, {"d"}', "3x7x2x5", '{}, {"d"}, {}, {}'),
         # Rows of several dimensions, whole again, and short last blocks.
         ("3x7x2", '{}, {"d"}, {}', "3x7x2", "{}, {}, {}")]
MOVE = """
pm.mesh @mesh = [<"d", spatial = 4>]
func.func @main(%x: tensor<FROMxf32> {pm.sharding = #pm.sharding<@mesh, [CUT]>})
    -> (tensor<TOxf32> {pm.sharding = #pm.sharding<@mesh, [OTHER]>}) {
  %r = stablehlo.reshape %x : (tensor<FROMxf32>) -> tensor<TOxf32>
  %y = stablehlo.add %r, %r : tensor<TOxf32>
  return %y : tensor<TOxf32>
}
"""

# Grouped heads: type, queries, keys, mask, and how far results may be from those of
# float32. Weights and slopes are rounded to the type before they are multiplied, and
# results are: some places of 2^-9 (bf16) and 2^-12 (f16), of values of about 1.
ATTENTIONS = [("bf16", 20, 20, "causal", 0.02), ("bf16", 5, 40, "", 0.02),
              ("f16", 9, 9, "causal", 0.003)]
ATTENTION = """
func.func @main(%q: QT, %k: KT, %v: KT, %g: QT) -> (QT, LT, QT, KT, KT) {
  %o, %lse = pm.attention %q, %k, %v scale 0.35355339 MASK : QT, KT -> LT
  %dq, %dk, %dv = pm.attention_grad %q, %k, %v, %o, %lse, %g scale 0.35355339 MASK : QT, KT, LT
  return %o, %lse, %dq, %dk, %dv : QT, LT, QT, KT, KT
}
"""


class CudaProgram(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.reference = None

    def compile(self, model, strategy, *options):
        self.reference = harness.Reference(model)
        self.data = self.reference.write_data(self.path("data.safetensors"))
        return harness.compile_bundle(
            self.reference.directory, self.path("bundle"), strategy,
            harness.clipped_recipe(), options=["--backend=cuda", *options])

    def standins(self, mode="compute", **more):
        """The environment of a run on stand-ins, which write what is called."""
        if GPU:
            return contextlib.nullcontext()
        self.calls = self.path(f"calls-{len(os.listdir(self.path('')))}")
        return mock.patch.dict(os.environ, {
            "PIPEMESH_CUDA_LIBRARIES": LIBRARIES, "PMRT_STANDIN": mode,
            "PMRT_STANDIN_TRACE": self.calls, **more})

    def steps(self, bundle, count, *options):
        return harness.train(bundle, self.reference.directory, self.data, count,
                             "--quiet", *options)

    def prove(self, bundle):
        if GPU:
            return
        harness.succeed("pmcheck", "trace", self.calls, f"--bundle={bundle}")

    def assert_gradients(self, path, what):
        ours = tensor_file.read(path)
        for name, theirs in self.reference.gradients.items():
            self.assertLess(harness.largest_difference(ours[name], theirs), 1e-4,
                            f"{what}: the gradient of {name}")

    def test_losses_gradients_and_updates_are_the_library_s(self):
        for seed, (model, strategy) in enumerate(CASES):
            with self.subTest(f"{model} {strategy}"):
                bundle = self.compile(model, strategy)
                right = self.reference.numbers["adamw_clip_schedule"]["losses"]
                gradients = self.path("gradients.safetensors")
                with self.standins(PMRT_STANDIN_ORDER=str(seed + 1)):
                    metrics = self.steps(bundle, len(right),
                                         f"--save-gradients={gradients}")
                self.assert_losses(metrics, right, f"{model} {strategy}")
                self.assert_gradients(gradients, f"{model} {strategy}")
                self.prove(bundle)

    def test_a_captured_step_and_one_through_the_host_are_the_same(self):
        bundle = self.compile("llama", "dp=2,pp=2,tp=2,mb=2")
        right = self.reference.numbers["adamw_clip_schedule"]["losses"][:2]
        with self.standins():
            metrics = self.steps(bundle, 2, "--capture")
        self.assert_losses(metrics, right, "captured")
        self.prove(bundle)
        # One GPU for eight ranks.
        with self.standins(PMRT_STANDIN_DEVICES="1"):
            metrics = self.steps(bundle, 2, "--meet=staged")
        self.assert_losses(metrics, right, "through the host")

    @unittest.skipIf(GPU, "faults are those of stand-ins")
    def test_processes_meet_over_tcp(self):
        bundle = self.compile("llama", "dp=2,pp=2,tp=2,mb=2")
        command = [harness.tool("pmrun"), bundle,
                   f"--weights={self.reference.directory}", f"--data={self.data}",
                   "--steps=2", "--deadline=20", "--quiet"]
        with self.standins("record"):
            ranks = [subprocess.Popen(
                [*command, f"--rendezvous=127.0.0.1:{20000 + os.getpid() % 9000}"],
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "8",
                     "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": "29500"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for rank in range(8)]
            for process in ranks:
                output, _ = process.communicate(timeout=60)
                self.assertEqual((process.returncode, output), (0, ""))
        self.prove(bundle)

    @unittest.skipIf(GPU, "faults are those of stand-ins")
    def test_what_fails_is_named(self):
        bundle = self.compile("llama", "pp=2,tp=2,mb=2")
        arguments = ["pmrun", bundle, f"--weights={self.reference.directory}",
                     f"--data={self.data}", "--steps=1", "--deadline=2", "--quiet"]
        for mode in ("record", "compute") if LONG else ("record",):
            for fault, status, expected in [
                    ("cuMemAlloc_v2:1:rank=1:error=2", 1,
                     r"rank 1 .*the program's arena takes \d+"),
                    ("cuLaunchKernel:3:rank=2:error=700", 1,
                     r"rank 2 .*the launch of .*CUDA_ERROR_ILLEGAL_ADDRESS"),
                    ("ncclAllReduce:2:rank=3:async=6", 1,
                     r"rank 3 .*all-reduce at model.layers.3.*: remote process"),
                    ("ncclAllReduce:2:rank=1:stuck", 3,
                     # Whichever rank has waited for long enough first, it leads to
                     # one of the two that are in it.
                     r"(?=.*longer than --deadline)(?=.*rank [01] \(dp=0, pp=0, "
                     r"tp=[01]\),? (which )?waits for \d+\.\d s in all-reduce #2 "
                     r"over tp at model\.layers\.0\.)")]:
                with self.subTest(f"{mode} {fault}"), \
                        self.standins(mode, PMRT_STANDIN_FAULT=fault):
                    result = harness.execute(*arguments)
                    self.assertEqual(result.returncode, status, result.stderr)
                    self.assertRegex(result.stderr, expected)
                    self.assertEqual(result.stderr.count("pmrun: error"), 1,
                                     result.stderr)
                    # Of four ranks, each with those of tp, of transfers and of all.
                    if "nccl" in fault:
                        self.assertGreaterEqual(len(self.called("ncclCommAbort")), 4)

    @unittest.skipIf(GPU, "there are GPUs")
    def test_options_of_the_other_backend_are_refused(self):
        bundle = self.compile("gpt2", "")
        common = [bundle, f"--weights={self.reference.directory}",
                  f"--data={self.data}"]
        with self.standins("record"):
            self.refused("--poison is for bundles that run on the host", "pmrun",
                         *common, "--poison")
            self.refused("--backend is host, but", "pmrun", *common, "--backend=host")
        with mock.patch.dict(os.environ, {"PIPEMESH_CUDA_LIBRARIES": self.path("no")}):
            self.refused("NVIDIA's driver cannot be loaded", "pmrun", *common)
        with self.standins("record", PMRT_STANDIN_FAULT="cuInit:1:error=100"):
            self.refused("NVIDIA's driver does not start", "pmrun", *common)

    @unittest.skipIf(GPU, "links are those of stand-ins")
    def test_links_are_compared_with_the_cluster(self):
        cluster = harness.write_json(self.path("cluster.json"), {
            "name": "nodes", "levels": [
                {"name": "nvlink", "size": 2, "bandwidth": 450, "latency": 10},
                {"name": "network", "bandwidth": 50, "latency": 30}]})
        bundle = self.compile("llama", "dp=2,tp=2", f"--cluster={cluster}")
        arguments = ["pmrun", bundle, f"--weights={self.reference.directory}",
                     f"--data={self.data}", "--steps=1", "--quiet"]
        for variables, expected in [
                ({}, ""),
                ({"PMRT_STANDIN_LINKS": "pci"},
                 "ranks 0 and 1 are on GPUs 0 and 1, which PCI connects, but level "
                 "'nvlink'"),
                ({"PMRT_STANDIN_DEVICES": "1", "NCCL_MULTI_RANK_GPU_ENABLE": "1"},
                 "ranks 0 and 1 share GPU 0, but level 'nvlink'")]:
            with self.subTest(expected), self.standins("record", **variables):
                result = harness.execute(*arguments)
                self.assertEqual(result.returncode, 0, result.stderr)
                if expected:
                    self.assertIn(expected, result.stderr)
                    self.assertIn("where tp lies", result.stderr)
                else:
                    self.assertEqual(result.stderr, "")

    def counted(self, name):
        """How many calls of that name each rank made."""
        counts = []
        for rank in sorted(os.listdir(self.calls)):
            if rank.startswith("rank-"):
                with open(os.path.join(self.calls, rank)) as file:
                    counts.append(sum(json.loads(line).get("call") == name
                                      for line in file))
        return counts

    def called(self, name):
        """The calls of that name that the ranks made."""
        made = []
        for rank in sorted(os.listdir(self.calls)):
            with open(os.path.join(self.calls, rank)) as file:
                made += [call for call in map(json.loads, file)
                         if call.get("call") == name]
        return made

    def test_products_and_attention_of_bf16(self):
        bundle = self.compile("llama", "dp=2,pp=2,tp=2,mb=2",
                              "--matmul-precision=bf16")
        right = self.reference.numbers["adamw_clip_schedule"]["losses"][:2]
        gradients = self.path("gradients.safetensors")
        with self.standins():
            metrics = self.steps(bundle, 2, f"--save-gradients={gradients}")
        self.prove(bundle)
        # Eight bits of each factor: some thousandths of the loss, and not none.
        for step, loss in zip(metrics, right):
            self.assertLess(abs(step["loss"] - loss), 5e-3 * loss)
        self.assertGreater(abs(metrics[0]["loss"] - right[0]), 1e-6)
        ours = tensor_file.read(gradients)
        for name, theirs in self.reference.gradients.items():
            largest = max(abs(value) for value in theirs.values())
            self.assertLess(harness.largest_difference(ours[name], theirs),
                            0.05 * largest, name)
        if not GPU:
            self.assertTrue(self.called("cudnnBackendExecute"))
            products = self.called("cublasLtMatmul")
            self.assertEqual({call["type"] for call in products}, {14})  # CUDA_R_16BF
            # Two layers on each of two stages: none computes for the other.
            counts = self.counted("cublasLtMatmul")
            self.assertEqual(len(counts), 8)
            self.assertGreater(min(counts), max(counts) / 2)

    @unittest.skipIf(GPU, "what is called is written by stand-ins")
    def test_products_add_the_bias_and_take_gelu(self):
        bundle = self.compile("gpt2", "")
        with self.standins("record"):
            self.steps(bundle, 1)
        self.prove(bundle)
        # The gradient needs the argument of GELU: one for each layer.
        with open(os.path.join(self.reference.directory, "config.json")) as file:
            layers = json.load(file)["n_layer"]
        kinds = [call["epilogue"] for call in self.called("cublasLtMatmul")]
        self.assertEqual(kinds.count(164), layers)  # CUBLASLT_EPILOGUE_GELU_AUX_BIAS
        # A kernel on other blocks than the bundle's is refused.
        path = os.path.join(self.calls, "rank-0.jsonl")
        with open(path) as file:
            lines = [json.loads(line) for line in file]
        launch = next(line for line in lines if line.get("call") == "cuLaunchKernel")
        launch["blocks"] += 1
        with open(path, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        result = harness.execute("pmcheck", "trace", self.calls, f"--bundle={bundle}")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"is launched on {launch['blocks']} blocks", result.stderr +
                      result.stdout)

    @unittest.skipIf(GPU, "algorithms are those of the stand-in")
    def test_algorithms_are_kept(self):
        bundle = self.compile("llama", "pp=2")
        kept = self.path("algorithms")
        with self.standins("record"):
            self.steps(bundle, 1, f"--algorithms={kept}")
        self.assertTrue(self.called("cublasLtMatmulAlgoGetHeuristic"))
        self.assertEqual(sorted(os.listdir(kept)), ["role-0.json", "role-1.json"])
        with self.standins("record"):
            self.steps(bundle, 1, f"--algorithms={kept}")
        self.assertFalse(self.called("cublasLtMatmulAlgoGetHeuristic"))
        self.assertTrue(self.called("cublasLtMatmulAlgoCheck"))
        path = os.path.join(kept, "role-1.json")
        with open(path) as file:
            content = json.load(file)
        arguments = ["pmrun", bundle, f"--weights={self.reference.directory}",
                     f"--data={self.data}", "--steps=1", "--quiet",
                     f"--algorithms={kept}"]
        products = dict.fromkeys(content["products"],
                                 {"algorithm": "0" * 128, "workspace": 0})
        for changed, expected in [
                ({**content, "gpu": "another"}, "were chosen for gpu 'another'"),
                ({**content, "products": products}, "cannot be used"),
                ({**content, "products": {"a": {"algorithm": "x"}}},
                 "'a' has no algorithm and workspace"),
                ([], "is no JSON object with 'products'")]:
            harness.write_json(path, changed)
            with self.standins("record"):
                self.refused(expected, *arguments)
        with self.standins("record"):
            self.refused("cannot be made", *arguments[:-1],
                         f"--algorithms={path}/below")

    def test_values_move_to_other_ranks(self):
        module, inputs = self.path("move.mlir"), self.path("in.safetensors")
        bundle, outputs = self.path("move"), self.path("out.safetensors")
        for source, cut, target, other in MOVES:
            with self.subTest(f"{source} [{cut}] -> {target} [{other}]"):
                text = MOVE.replace("FROM", source).replace("TO", target)
                with open(module, "w") as file:
                    file.write(text.replace("CUT", cut).replace("OTHER", other))
                shape = [int(size) for size in source.split("x")]
                values = range(math.prod(shape))
                tensor_file.write(inputs, [("arg0", "F32", shape, struct.pack(
                    f"<{len(values)}f", *values))])
                harness.succeed("pmc", module, "--backend=cuda", "-o", bundle)
                with self.standins():
                    harness.succeed("pmrun", bundle, f"--inputs={inputs}",
                                    f"--outputs={outputs}", "--quiet")
                self.assertEqual(list(tensor_file.read(outputs)["out0"].values()),
                                 [2.0 * value for value in values])
                self.prove(bundle)

    def attention(self, element, queries, keys, mask):
        """A function's module and its inputs: [2, positions, 4 or 2 heads, 8]."""
        module, inputs = self.path("attention.mlir"), self.path("in.safetensors")
        text = ATTENTION.replace("MASK", mask)
        for name, shape in [("QT", f"2x{queries}x4x8x{element}"),
                            ("KT", f"2x{keys}x2x8x{element}"),
                            ("LT", f"2x4x{queries}xf32")]:
            text = text.replace(name, f"tensor<{shape}>")
        with open(module, "w") as file:
            file.write(text)
        random, tensors = Random(1), []
        for i, (positions, heads) in enumerate(
                [(queries, 4), (keys, 2), (keys, 2), (queries, 4)]):
            shape = [2, positions, heads, 8]
            values = [random.gauss(0, 1) for _ in range(math.prod(shape))]
            data = (struct.pack(f"<{len(values)}e", *values) if element == "f16" else
                    b"".join(struct.pack("<f", value)[2:] for value in values))
            tensors.append((f"arg{i}", element.upper(), shape, data))
        tensor_file.write(inputs, tensors)
        return module, inputs, tensors

    def test_attention_in_half_precision(self):
        bundle, outputs = self.path("attention"), self.path("out.safetensors")
        both = self.path("io.safetensors")
        for element, queries, keys, mask, noise in ATTENTIONS:
            module, inputs, tensors = self.attention(element, queries, keys, mask)
            for maker in ("cudnn", "own"):
                with self.subTest(f"{element} {queries}x{keys} {mask} {maker}"):
                    harness.succeed("pmc", module, "--backend=cuda",
                                    f"--attention={maker}", "-o", bundle)
                    capture = ["--capture"] if not mask else []
                    with self.standins():
                        harness.succeed("pmrun", bundle, f"--inputs={inputs}",
                                        f"--outputs={outputs}", "--quiet", *capture)
                    made = [(name, tensor.dtype, tensor.shape, tensor.data)
                            for name, tensor in tensor_file.read(outputs).items()]
                    tensor_file.write(both, tensors + made)
                    harness.succeed("pmcheck", "run", module, f"--io={both}",
                                    f"--rtol={noise}", f"--atol={noise}")
                    self.prove(bundle)
                    if not GPU:
                        self.assertEqual(len(self.lines("cudnnBackendExecute")),
                                         2 if maker == "cudnn" else 0)

    def lines(self, call):
        """The numbers of a call's lines of rank 0."""
        with open(os.path.join(self.calls, "rank-0.jsonl")) as file:
            return [i for i, line in enumerate(file) if f'"call":"{call}"' in line]

    @unittest.skipIf(GPU, "there are no stand-ins")
    def test_calls_of_attention_are_compared_with_the_bundle(self):
        module, inputs, _ = self.attention("bf16", 20, 20, "causal")
        bundle = self.path("attention")
        harness.succeed("pmc", module, "--backend=cuda", "-o", bundle)
        with self.standins():
            harness.succeed("pmrun", bundle, f"--inputs={inputs}",
                            f"--outputs={self.path('out.safetensors')}", "--quiet")
        path = os.path.join(self.calls, "rank-0.jsonl")
        with open(path) as file:
            right = file.read().splitlines()
        forward, gradient = self.lines("cudnnBackendExecute")

        def broken(number, change, expected):
            wrong = [json.loads(line) for line in right]
            change(wrong, number)
            with open(path, "w") as file:
                file.write("".join(json.dumps(line, separators=(",", ":")) + "\n"
                                   for line in wrong if line))
            with self.subTest(expected):
                result = harness.execute("pmcheck", "trace", self.calls,
                                         f"--bundle={bundle}")
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(expected, result.stdout + result.stderr)

        def left_out(lines, number):
            lines[number] = None

        def other_operand(lines, number):
            lines[number]["reads"][1] = lines[number]["reads"][2]

        def unread(lines, number):
            del lines[number]["reads"][0]

        def outside(lines, number):
            lines[number]["workspace"][0] = lines[number]["reads"][0][0]

        def other_stream(lines, number):
            lines[number]["stream"] = 0

        broken(gradient, left_out, "without the attention")
        broken(forward, other_operand, "does not read operand 1")
        broken(gradient, unread, "does not read operand 0")
        broken(gradient, outside, "has its workspace of")
        broken(forward, other_stream, "but the step began on")

    @unittest.skipIf(GPU, "faults are those of stand-ins")
    def test_attention_that_cudnn_refuses_is_named(self):
        module, inputs, _ = self.attention("bf16", 20, 20, "causal")
        bundle = self.path("attention")
        self.refused("--attention is 'both', but must be own, cudnn or auto", "pmc",
                     module, "--backend=cuda", "--attention=both", "-o", bundle)
        self.refused("--attention=cudnn is for --backend=cuda", "pmc", module,
                     "--attention=cudnn", "-o", bundle)
        harness.succeed("pmc", module, "--backend=cuda", "-o", bundle)
        arguments = ["pmrun", bundle, f"--inputs={inputs}",
                     f"--outputs={self.path('out.safetensors')}", "--quiet"]
        for fault, expected in [
                ("cudnnCreate:1:error=1001", "CUDNN_STATUS_NOT_INITIALIZED"),
                ("cudnnBackendExecute:2:error=5000",
                 "the gradient of causal attention in bf16 of 2 x 4 heads")]:
            with self.standins("record", PMRT_STANDIN_FAULT=fault):
                self.refused(expected, *arguments)
        libraries = self.path("libraries")
        os.mkdir(libraries)
        for name in os.listdir(LIBRARIES):
            if "cudnn" not in name:
                os.symlink(os.path.join(LIBRARIES, name), os.path.join(libraries, name))
        with self.standins("record", PIPEMESH_CUDA_LIBRARIES=libraries):
            self.refused("compile with --attention=own", *arguments)

    def test_a_bundle_for_gpus_says_so(self):
        bundle = self.compile("gpt2", "")
        with open(os.path.join(bundle, "manifest.json")) as file:
            self.assertEqual(json.load(file)["target"]["backend"], "cuda")


if __name__ == "__main__":
    unittest.main()
