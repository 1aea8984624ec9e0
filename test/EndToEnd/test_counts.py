"""What a mesh makes every rank do: flops, bytes of weights and communication, as
the manifest has them, against sizes computed here from the config alone, and
against what the runtime counts."""

import json
import math
import os
import unittest

import harness

F32 = 4
BATCH, SEQUENCE = 8, 64
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 250,
    "max_position_embeddings": SEQUENCE, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "dtype": "float32",
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}


class Mesh:
    """Sizes of the axes of a strategy; 1 where it has none."""

    def __init__(self, strategy):
        sizes = dict(item.split("=") for item in strategy.split(",") if item)
        self.dp, self.tp, self.pp, self.mb = (
            int(sizes.get(axis, 1)) for axis in ("dp", "tp", "pp", "mb"))

    @property
    def ranks(self):
        return self.dp * self.tp * self.pp


class Llama:
    """Sizes of a model of the llama architecture in Megatron's partition:
    columns of what reads the residual stream, rows of what writes it, and the
    vocabulary, whose blocks are rounded up."""

    def __init__(self, config, mesh):
        self.mesh, self.tied = mesh, config["tie_word_embeddings"]
        self.hidden = hidden = config["hidden_size"]
        self.layers = config["num_hidden_layers"]
        head = hidden // config["num_attention_heads"]
        # Rows of a tensor-parallel rank.
        self.queries = config["num_attention_heads"] * head // mesh.tp
        self.keys = config["num_key_value_heads"] * head // mesh.tp
        self.inner = config["intermediate_size"] // mesh.tp
        self.vocabulary = math.ceil(config["vocab_size"] / mesh.tp)

    def products_of_layer(self):
        """Elements of a layer's matrices on one rank."""
        return self.hidden * (2 * self.queries + 2 * self.keys + 3 * self.inner)

    def weight_bytes_of_layer(self):
        return F32 * (self.products_of_layer() + 2 * self.hidden)

    def table_bytes(self):
        return F32 * self.vocabulary * self.hidden

    def activation_bytes(self):
        """Of the residual stream of one micro-batch on one rank."""
        return F32 * BATCH // self.mesh.dp // self.mesh.mb * SEQUENCE * self.hidden

    def layers_of(self, stage):
        return self.layers // self.mesh.pp

    def weight_bytes(self, stage):
        first, last = stage == 0, stage == self.mesh.pp - 1
        tables = first + last if not self.tied or self.mesh.pp > 1 else 1
        return (self.layers_of(stage) * self.weight_bytes_of_layer() +
                tables * self.table_bytes() + (F32 * self.hidden if last else 0))

    def flops_of_products(self, stage):
        """Of one rank in a step: each matrix product once forward and twice
        backward, two operations for each multiply-add."""
        tokens = BATCH // self.mesh.dp * SEQUENCE
        elements = self.layers_of(stage) * self.products_of_layer()
        if stage == self.mesh.pp - 1:
            elements += self.vocabulary * self.hidden
        return 3 * 2 * tokens * elements


def runs_of(entries, **wanted):
    """Runs a step of the entries whose fields are `wanted`."""
    return sum(entry["runs"] for entry in entries
               if all(entry[key] == value for key, value in wanted.items()))


class Counts(harness.EndToEndTest):
    def roles(self, strategy, **config):
        """Sizes as they should be, and the manifest's roles."""
        config = dict(CONFIG, **config)
        path = harness.write_json(self.path("config.json"), config)
        module = self.path("model.mlir")
        harness.succeed("pmimport", path, "--no-weights", "--task=train",
                        f"--batch={BATCH}", f"--sequence={SEQUENCE}", "-o", module)
        bundle = harness.compile_bundle(module, self.path("bundle"), strategy,
                                        batch=BATCH, sequence=SEQUENCE)
        with open(os.path.join(bundle, "manifest.json")) as file:
            manifest = json.load(file)
        mesh = Mesh(strategy)
        self.assertEqual(len(manifest["roles"]), mesh.pp)
        return Llama(config, mesh), manifest["roles"]

    MESHES = ["dp=1", "dp=2,mb=2", "tp=2", "pp=2,mb=4", "pp=4,mb=2",
              "dp=2,pp=2,tp=2,mb=2", "dp=2,tp=2,mb=4"]

    def test_weight_bytes_of_each_rank_are_its_share(self):
        for tied in (False, True):
            for strategy in self.MESHES:
                with self.subTest(strategy, tied=tied):
                    model, roles = self.roles(strategy, tie_word_embeddings=tied)
                    for stage, role in enumerate(roles):
                        self.assertEqual(role["weight_bytes"],
                                         model.weight_bytes(stage),
                                         f"stage {stage}")

    def test_flops_of_each_rank_are_its_share(self):
        _, [whole] = self.roles("dp=1")
        for strategy in self.MESHES[1:]:
            with self.subTest(strategy):
                model, roles = self.roles(strategy)
                for stage, role in enumerate(roles):
                    products = model.flops_of_products(stage)
                    # The rest is attention, norms and the optimizer.
                    self.assertGreater(role["flops"], products)
                    self.assertLess(role["flops"], 1.3 * products)
                every = model.mesh.dp * model.mesh.tp * \
                    sum(role["flops"] for role in roles)
                # Norms are on each tensor-parallel rank, updates on each
                # data-parallel one.
                self.assertGreater(every, 0.999 * whole["flops"])
                self.assertLess(every, 1.15 * whole["flops"])

    def test_two_all_reduces_a_layer_and_direction(self):
        for strategy in ("tp=2", "dp=2,tp=2,mb=4", "pp=2,tp=2,mb=2",
                         "dp=2,pp=2,tp=2,mb=2"):
            with self.subTest(strategy):
                model, roles = self.roles(strategy)
                size, mb = model.activation_bytes(), model.mesh.mb
                layers = set()
                for stage, role in enumerate(roles):
                    over_tp = [entry for entry in role["communication"]
                               if entry["axes"] == ["tp"]]
                    for kind in ("forward", "backward"):
                        large = [entry for entry in over_tp
                                 if entry["fragment"] == kind and
                                 entry["operand_bytes"] >= size]
                        for entry in large:
                            self.assertEqual(entry["kind"], "all-reduce")
                            self.assertEqual(entry["operand_bytes"], size)
                            self.assertEqual(entry["group_size"], 2)
                            self.assertEqual(entry["runs"], mb)
                            # 2 (n - 1) / n of it, in every run.
                            self.assertEqual(entry["wire_bytes"], size)
                        of_layers = {}
                        for entry in large:
                            name = entry["module"].split("layers.")
                            if len(name) == 2:
                                layer = int(name[1].split(".")[0])
                                of_layers[layer] = of_layers.get(layer, 0) + 1
                        self.assertEqual(set(of_layers.values()), {2},
                                         f"{kind} of stage {stage}")
                        layers |= set(of_layers)
                        # The embedding, and the gradient of what the head reads.
                        ends = (stage == 0) if kind == "forward" else \
                            (stage == model.mesh.pp - 1)
                        self.assertEqual(len(large), 2 * len(of_layers) + ends)
                self.assertEqual(layers, set(range(model.layers)))

    def test_each_gradient_once_over_dp_whatever_the_number_of_micro_batches(self):
        for strategy in ("dp=2", "dp=2,mb=4", "dp=2,tp=2,mb=2",
                         "dp=2,pp=2,mb=4", "dp=2,pp=2,tp=2,mb=2"):
            with self.subTest(strategy):
                model, roles = self.roles(strategy)
                for stage, role in enumerate(roles):
                    over_dp = [entry for entry in role["communication"]
                               if "dp" in entry["axes"]]
                    large = [entry for entry in over_dp
                             if entry["operand_bytes"] > 64]
                    self.assertEqual({entry["runs"] for entry in large}, {1})
                    self.assertLessEqual({entry["kind"] for entry in large},
                                         {"all-reduce"})
                    self.assertLessEqual({entry["fragment"] for entry in large},
                                         {"reduce", "update"})
                    reduced = sum(entry["operand_bytes"] for entry in over_dp
                                  if entry["fragment"] in ("reduce", "update"))
                    # Scalars (losses, counts, norms) may ride along.
                    self.assertAlmostEqual(reduced, model.weight_bytes(stage),
                                           delta=256, msg=f"stage {stage}")

    def test_transfers_carry_activations_of_a_micro_batch_alone(self):
        for strategy in ("pp=2,mb=4", "pp=4,mb=2", "dp=2,pp=2,tp=2,mb=2"):
            with self.subTest(strategy):
                model, roles = self.roles(strategy)
                size, last = model.activation_bytes(), model.mesh.pp - 1
                for stage, role in enumerate(roles):
                    transfers = [entry for entry in role["communication"]
                                 if entry["kind"] == "transfer"]
                    self.assertEqual({tuple(entry["axes"]) for entry in transfers},
                                     {("pp",)})
                    large = [entry for entry in transfers
                             if entry["operand_bytes"] > 256]
                    for entry in large:
                        self.assertEqual(entry["operand_bytes"], size,
                                         entry["module"])
                    # Counted at the sender: the residual stream once forward,
                    # its gradient once backward, for each micro-batch.
                    for kind, sends in (("forward", stage < last),
                                        ("backward", stage > 0)):
                        self.assertEqual(runs_of(large, fragment=kind),
                                         model.mesh.mb * sends,
                                         f"{kind} of stage {stage}")
                    self.assertEqual(runs_of(large, fragment="reduce"), 0)

    def test_tied_gradient_is_moved_once_a_step(self):
        model, roles = self.roles("pp=2,mb=4", tie_word_embeddings=True)
        tables = [entry for role in roles for entry in role["communication"]
                  if entry["kind"] == "transfer" and
                  entry["operand_bytes"] == model.table_bytes()]
        self.assertTrue(tables)
        for entry in tables:
            self.assertEqual(entry["runs"], 1)
        self.assertLessEqual(len(tables), 2)  # there, and its sum back


class RunTime(harness.EndToEndTest):
    """What pmrun counts while it runs."""

    def check(self, strategy, transport, name="llama", padding=0):
        harness.needs(transport)
        reference = harness.Reference(name)
        bundle = harness.compile_bundle(reference.directory, self.path("bundle"),
                                        strategy, harness.clipped_recipe())
        data = reference.write_data(self.path("data.safetensors"))
        path = self.path("report.json")
        options = [] if transport == "threads" else [f"--transport={transport}"]
        harness.train(bundle, reference.directory, data, 3, f"--report={path}",
                      *options)
        with open(path) as file:
            report = json.load(file)
        with open(os.path.join(bundle, "manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual(report["steps"], 3)
        axes = [axis for axis in manifest["mesh"] if axis["kind"] != "temporal"]
        ranks = math.prod(axis["size"] for axis in axes)
        self.assertEqual([rank["rank"] for rank in report["ranks"]],
                         list(range(ranks)))
        for rank in report["ranks"]:
            # The last axis is the fastest.
            place = rank["rank"]
            for axis in reversed(axes):
                self.assertEqual(rank["coordinates"][axis["name"]],
                                 place % axis["size"])
                if axis["kind"] == "stage":
                    self.assertEqual(rank["role"], place % axis["size"])
                place //= axis["size"]
            role = manifest["roles"][rank["role"]]
            for key in ("flops", "weight_bytes", "arena_bytes"):
                self.assertEqual(rank[key], role[key], f"{rank['rank']}: {key}")
            # A rank reads its slices of the files and nothing else; what pads the
            # last slice is in no file.
            self.assertLessEqual(rank["weight_bytes_read"], role["weight_bytes"])
            self.assertGreaterEqual(rank["weight_bytes_read"],
                                    role["weight_bytes"] - padding)
            self.assertEqual(self.sorted(rank["communication"]),
                             self.sorted(role["communication"]))
            self.assertGreater(rank["busy_share"], 0)
            self.assertLessEqual(rank["busy_share"], 1)

    def sorted(self, communication):
        """Comparable; the runtime knows a transfer by its buffer's name."""
        keys = ("fragment", "kind", "axes", "group_size", "operand_bytes",
                "wire_bytes", "runs")
        return sorted([entry[key] for key in keys] +
                      [entry["module"] if entry["kind"] != "transfer" else ""]
                      for entry in communication)

    def test_counts_of_threads_are_the_manifest_s(self):
        for strategy in ("dp=2,mb=4", "tp=4", "pp=4,mb=2,schedule=gpipe",
                         "dp=2,pp=2,tp=2,mb=2"):
            with self.subTest(strategy):
                self.check(strategy, "threads")

    def test_counts_of_a_tied_model_with_an_uneven_vocabulary(self):
        # Three blocks of 85 rows for 253, of a table 48 wide.
        self.check("pp=2,tp=3,mb=2", "threads", "llama3-rope", 2 * 48 * F32)

    def test_counts_of_processes_are_the_manifest_s(self):
        self.check("dp=2,pp=2,tp=2,mb=2", "mpi")


if __name__ == "__main__":
    unittest.main()
