"""Programs of public frameworks that waited forever or met with other counts: what
pmc writes is proved not to, and a fault in the run ends it with its name."""

import os
import struct
import unittest

import harness
import tensor_file

SUM = """
pm.mesh @mesh = [<"x", spatial = 8>]
func.func @main(%t: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}
"""


class WaitCycles(harness.EndToEndTest):
    def test_interleaved_pipeline_needs_no_buffers(self):
        """Two ranks with four stages, round robin, of four micro-batches: no cycle of
        waits, even where a send keeps its slot until it is received."""
        bundle = harness.compile_bundle(
            os.path.join(harness.INPUTS, "models", "gpt2"), self.path("bundle"),
            "pp=2,chunks=2,mb=4,schedule=interleaved-1f1b")
        out = harness.succeed("pmcheck", "bundle", bundle)
        self.assertIn("no cycle of waits, none without buffers for sends either", out)


class CountMismatch(harness.EndToEndTest):
    """An all-reduce over eight ranks, of which one has another count."""

    def test_compiler_emits_one_count_and_a_run_names_another(self):
        module = self.path("sum.mlir")
        with open(module, "w") as file:
            file.write(SUM)
        bundle = self.path("bundle")
        harness.succeed("pmc", module, "-o", bundle)
        out = harness.succeed("pmcheck", "bundle", bundle)
        self.assertIn("proved for 8 ranks of 1 role", out)
        self.assertIn("communicators 1, collectives 8: the same on all members", out)
        inputs = self.path("in.safetensors")
        tensor_file.write(inputs, [("arg0", "F32", [8, 16],
                                    struct.pack("<128f", *range(128)))])
        result = harness.execute(
            "pmrun", bundle, f"--inputs={inputs}", "--deadline=5", "--quiet",
            f"--outputs={self.path('out.safetensors')}",
            "--inject=wrong-size:rank=0,op=1")
        self.assertEqual(result.returncode, 4, result.stderr)
        for text in ("rank 0 comes with all-reduce", "15", "16",
                     "ranks 1, 2, 3, 4, 5, 6 and 7"):
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
