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
LEFT_OUT = {}
# What a rank must send at least, as docs/rationale/wire-bytes.md derives it.
FEWEST = {
    "bf16_mixed_train": 15462,
    "captured_constants_dp2_tp2": 1576,
    "dropout_rng": 4614,
    "gpt_scan_train_fsdp4": 82758,
    "gpt_train_adamw_dp2_tp2": 59816,
    "llama_forward_dp2_sp_tp2": 20480,
    "mlp_train_dp2_tp4": 12236,
    "mlp_train_sgd_dp8": 7455,
    "moe_gshard_ep4": 8082,
    "shard_map_collectives": 792,
    "uneven_dp": 708,
}
# Those of which ours sends more, and how much; the same page says where.
MORE_THAN_FEWEST = {"gpt_scan_train_fsdp4": 89286,
                    "gpt_train_adamw_dp2_tp2": 59880}
ON_MPI = ["mlp_train_dp2_tp4", "uneven_dp", "gpt_scan_train_fsdp4",
          "shard_map_collectives"]
# Inside of a manual computation shapes are those of a rank: another mesh is
# another program.
MESH_IS_FIXED = ["shard_map_collectives"]
# Without shardings of their own: ours, of the batch, and of weights where the mesh has
# tp. (In decode_step the batch has two sequences; what is cut of ops_zoo is a dimension
# of everything.)
BATCH = {
    "mlp_forward": ["arg4=dp,-"],
    "decode_step": ["arg5=dp", "arg7=-,dp,-,-,-", "arg8=-,dp,-,-,-"],
    "gpt_scan_train": ["arg24=dp,-", "arg25=dp,-"],
    "gpt_train_adamw": ["arg61=dp,-", "arg62=dp,-"],
    "ops_zoo": ["arg1=dp", "arg9=-,dp,-,-", "arg11=-,-,dp,-", "arg12=dp,-",
                "arg14=dp", "arg16=dp,-", "arg17=dp,-"],
}
WEIGHTS = {
    "mlp_forward": ["arg2=-,tp", "arg3=tp,-"],
    "decode_step": ["arg0=tp,-", "arg1=-,-,tp", "arg2=-,tp,-"],
    "gpt_scan_train": ["arg4=-,-,tp", "arg5=-,tp,-", "arg6=-,tp,-,-",
                       "arg7=-,-,-,tp,-", "arg11=tp,-"],
    "gpt_train_adamw": ["arg4=-,tp", "arg5=tp,-", "arg6=tp,-,-", "arg7=-,-,tp,-",
                        "arg19=tp,-"],
    "ops_zoo": ["arg10=-", "arg15=tp"],
}
MESHES = ["dp=2", "dp=4", "dp=3", "dp=2,tp=2"]
# The larger ones run on all meshes where PIPEMESH_ALL_MESHES is set.
FEW_MESHES = {"gpt_scan_train": ["dp=3"], "gpt_train_adamw": ["dp=2,tp=2"],
              "ops_zoo": ["dp=3", "dp=2,tp=2"], "decode_step": ["dp=3", "dp=2,tp=2"]}


class JaxFunctions(harness.EndToEndTest):
    def check(self, name, case, results, what):
        wrong = case.differences(results, LEFT_OUT.get(name, ()))
        self.assertEqual(wrong, [], f"{name} {what}")

    def check_bytes(self, name, case, report):
        with open(report) as file:
            sent = jax_case.most_wire_bytes(json.load(file))
        self.assertLessEqual(sent, case.wire_bytes,
                             f"bytes that a rank of {name} sends")
        self.assertEqual(sent, MORE_THAN_FEWEST.get(name, FEWEST[name]),
                         f"bytes that a rank of {name} sends")

    def run_fewest(self, name):
        """Of a case that has its values and XLA's bytes checked elsewhere."""
        case = jax_case.Case(name)
        report = self.path("report.json")
        case.run(case.compile(self.path("bundle")), f"--report={report}")
        with open(report) as file:
            sent = jax_case.most_wire_bytes(json.load(file))
        self.assertEqual(sent, FEWEST[name])

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
    for name in MORE_THAN_FEWEST:
        add("fewest", name, unittest.expectedFailure(
            lambda self, name=name: self.run_fewest(name)))
    for name in BATCH:
        meshes = MESHES if os.environ.get("PIPEMESH_ALL_MESHES") \
            else FEW_MESHES.get(name, MESHES)
        for strategy in meshes:
            shardings = BATCH[name] + (WEIGHTS[name] if "tp" in strategy else [])
            suffix = strategy.replace("=", "").replace(",", "_")
            add(f"annotated_{suffix}", name,
                lambda self, name=name, strategy=strategy, shardings=shardings:
                self.run_annotated(name, strategy, shardings))


add_tests()

if __name__ == "__main__":
    unittest.main()
