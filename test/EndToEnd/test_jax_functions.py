"""Modules as JAX prints them, compiled whole and run on the ranks of their mesh
(and on one), give the results that JAX computed, and move no more bytes than what
XLA made of them."""

import json
import os
import unittest

import harness
import jax_case

CASES = ["bf16_mixed_train", "captured_constants_dp2_tp2", "decode_step",
         "dropout_rng", "gpt_scan_train", "gpt_scan_train_fsdp4",
         "gpt_train_adamw", "gpt_train_adamw_dp2_tp2",
         "llama_forward_dp2_sp_tp2", "mlp_forward", "mlp_train_dp2_tp4",
         "mlp_train_sgd_dp8", "moe_gshard_ep4", "ops_zoo",
         "shard_map_collectives", "uneven_dp"]
# The specification leaves a division by zero to the implementation.
LEFT_OUT = {"ops_zoo": ["result['idiv_zero_int']"]}
ON_MPI = ["mlp_train_dp2_tp4", "uneven_dp", "gpt_scan_train_fsdp4",
          "shard_map_collectives"]
# Inside of a manual computation shapes are those of a rank: another mesh is
# another program.
MESH_IS_FIXED = ["shard_map_collectives"]
# Without shardings of their own: ours on a few meshes.
ANNOTATED = {
    "mlp_forward": [
        ("dp=2", ["arg4=dp,-"]),
        ("dp=4", ["arg4=dp,-"]),
        ("dp=3", ["arg4=dp,-"]),
        ("dp=2,tp=2", ["arg4=dp,-", "arg2=-,tp", "arg3=tp,-"])],
}


class JaxFunctions(harness.EndToEndTest):
    def check(self, name, case, results, what):
        wrong = case.differences(results, LEFT_OUT.get(name, ()))
        self.assertEqual(wrong, [], f"{name} {what}")

    def check_bytes(self, name, case, report):
        with open(report) as file:
            sent = jax_case.most_wire_bytes(json.load(file))
        self.assertLessEqual(sent, case.wire_bytes,
                             f"bytes that a rank of {name} sends")

    def run_case(self, name):
        case = jax_case.Case(name)
        bundle = case.compile(self.path("bundle"))
        report = self.path("report.json")
        results = case.run(bundle, f"--report={report}", "--poison")
        self.check(name, case, results, "on its mesh")
        if case.wire_bytes is not None:
            self.check_bytes(name, case, report)
        if name in ON_MPI and not harness.transport_missing("mpi"):
            self.assert_same_bits(results, case.run(bundle, "--transport=mpi"),
                                  f"{name}: MPI and threads")

    def run_on_one_rank(self, name):
        case = jax_case.Case(name)
        module = case.write_for_one_rank(self.path("one.mlir"))
        bundle = case.compile(self.path("bundle"), module=module)
        self.check(name, case, case.run(bundle), "on one rank")

    def run_annotated(self, name, strategy, shardings):
        case = jax_case.Case(name)
        bundle = case.compile(self.path("bundle"), f"--strategy={strategy}",
                              *(f"--sharding={text}" for text in shardings))
        self.check(name, case, case.run(bundle, "--poison"), f"on {strategy}")


def add_tests():
    def add(what, name, function):
        setattr(JaxFunctions, f"test_{what}_{name}", function)
    for name in CASES:
        add("mesh", name, lambda self, name=name: self.run_case(name))
        if name not in MESH_IS_FIXED:
            add("one", name, lambda self, name=name: self.run_on_one_rank(name))
    for name, meshes in ANNOTATED.items():
        for strategy, shardings in meshes:
            suffix = strategy.replace("=", "").replace(",", "_")
            add(f"annotated_{suffix}", name,
                lambda self, name=name, strategy=strategy, shardings=shardings:
                self.run_annotated(name, strategy, shardings))


add_tests()

if __name__ == "__main__":
    unittest.main()
