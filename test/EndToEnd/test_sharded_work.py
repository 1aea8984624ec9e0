"""How much of the arithmetic the axes of a mesh divide, as pmc --report counts it:
at least 95 % of every reference model and of every JAX export with shardings."""

import json
import os
import unittest

import harness

SHARED = os.environ.get("PIPEMESH_SHARED",
                        os.path.join(os.path.dirname(harness.ROOT), "shared"))
CASES = os.path.join(SHARED, "stablehlo")
LEAST = 0.95
STRATEGIES = ["dp=2,tp=2", "tp=2"]

# JAX exports with shardings; with an axis, the reason why its share is less.
EXPORTS = {
    # The update of parameters that every rank has whole, by the module.
    "bf16_mixed_train": {"dp": 0.93},
    # No tensor of the softmax has a dimension that the module cuts over tp.
    "captured_constants_dp2_tp2": {"tp": 0.93},
    "dropout_rng": {},
    "gpt_scan_train_fsdp4": {},
    "gpt_train_adamw_dp2_tp2": {},
    "llama_forward_dp2_sp_tp2": {},
    "mlp_train_dp2_tp4": {},
    "mlp_train_sgd_dp8": {},
    "moe_gshard_ep4": {},
    # A body over x alone, in which y divides nothing.
    "shard_map_collectives": {"y": 0.94},
    "uneven_dp": {},
}


class ShardedWork(harness.EndToEndTest):
    def check(self, what, least, *arguments):
        report = self.path("report.json")
        harness.succeed("pmc", *arguments, f"--report={report}",
                        "-o", self.path("bundle"))
        with open(report) as file:
            work = json.load(file)["sharded"]
        self.assertTrue(work, what)
        for entry in work:
            axis = entry["axis"]
            with self.subTest(what, axis=axis):
                self.assertGreaterEqual(entry["flops"], least.get(axis, LEAST),
                                        f"whole: {entry['whole']}")

    def test_reference_models(self):
        for name in harness.MODELS:
            for strategy in STRATEGIES:
                self.check(f"{name} {strategy}", {},
                           harness.Reference(name).directory, "--batch=8",
                           "--sequence=20", f"--strategy={strategy}")

    @unittest.skipUnless(os.path.isdir(CASES), f"{CASES} is not there")
    def test_exports(self):
        for name, least in EXPORTS.items():
            self.check(name, least, os.path.join(CASES, name, "module.mlir"))


if __name__ == "__main__":
    unittest.main()
