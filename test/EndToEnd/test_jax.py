"""JAX exports: imported, partitioned, run on all ranks of the reference
interpreter, and the bytes they move against XLA's."""

import json
import os
import unittest

import harness

SHARED = os.environ.get("PIPEMESH_SHARED",
                        os.path.join(os.path.dirname(harness.ROOT), "shared"))
CASES = os.path.join(SHARED, "stablehlo")

# Case -> the fewest bytes that a rank sends (docs/rationale/wire-bytes.md).
FEWEST = {"llama_forward_dp2_sp_tp2": 20480, "mlp_train_sgd_dp8": 7455}
SHARDED = ["llama_forward_dp2_sp_tp2", "mlp_train_sgd_dp8", "uneven_dp"]
WHOLE = ["decode_step", "gpt_scan_train", "gpt_train_adamw", "mlp_forward"]


@unittest.skipUnless(os.path.isdir(CASES), f"{CASES} is not there")
class JaxExports(harness.EndToEndTest):
    def run_case(self, name, passes):
        folder = os.path.join(CASES, name)
        with open(os.path.join(folder, "case.json")) as file:
            case = json.load(file)
        out = self.path(name + ".mlir")
        harness.succeed("pmopt", os.path.join(folder, "module.mlir"),
                        "--pm-import-stablehlo", *passes, "-o", out)
        tolerance = case["tolerance"]
        harness.succeed("pmcheck", "run", out,
                        "--io=" + os.path.join(folder, "io.safetensors"),
                        f"--rtol={tolerance['rtol']}",
                        f"--atol={tolerance['atol']}")
        return case, out

    def test_on_one_rank(self):
        for name in WHOLE:
            with self.subTest(name):
                self.run_case(name, [])

    def run_on_the_mesh(self, name):
        return self.run_case(name, ["--pm-propagate", "--pm-verify-sharded",
                                    "--pm-partition"])

    def check_bytes(self, name):
        case, out = self.run_on_the_mesh(name)
        text = harness.succeed("pmcheck", "bytes", out)
        sent = int(text.rsplit(":", 1)[1])
        self.assertLessEqual(sent, case["xla_wire_bytes_per_rank"])
        if name in FEWEST:
            self.assertEqual(sent, FEWEST[name])

    def test_on_the_mesh_of_the_case(self):
        for name in SHARDED:
            with self.subTest(name):
                self.check_bytes(name)


if __name__ == "__main__":
    unittest.main()
