"""Whole functions with our own annotations: a loop with an exchange, a choice,
rows that the ranks do not divide, and what pmc and pmrun refuse."""

import json
import os
import struct
import unittest

import harness
import tensor_file

# y = x; repeat n times: y = y / 2 + sum(y); the choice negates y where i is 1.
MODULE = """
pm.mesh @mesh = [<"dp", spatial = %(ranks)d>]
func.func @main(%%x: tensor<10x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>},
                %%n: tensor<i32> {pm.sharding = #pm.sharding<@mesh, []>},
                %%i: tensor<i32> {pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<10x3xf32> {jax.result_info = "y"}, tensor<i32> {jax.result_info = "trips"}) {
  %%zero = stablehlo.constant dense<0> : tensor<i32>
  %%one = stablehlo.constant dense<1> : tensor<i32>
  %%f = stablehlo.constant dense<0.0> : tensor<f32>
  %%half = stablehlo.constant dense<0.5> : tensor<10x3xf32>
  %%r:2 = stablehlo.while(%%k = %%zero, %%y = %%x) : tensor<i32>, tensor<10x3xf32>
  cond {
    %%more = stablehlo.compare LT, %%k, %%n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %%more : tensor<i1>
  } do {
    %%s = stablehlo.reduce(%%y init: %%f) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x3xf32>, tensor<f32>) -> tensor<f32>
    %%b = stablehlo.broadcast_in_dim %%s, dims = [] : (tensor<f32>) -> tensor<10x3xf32>
    %%h = stablehlo.multiply %%y, %%half : tensor<10x3xf32>
    %%z = stablehlo.add %%h, %%b : tensor<10x3xf32>
    %%next = stablehlo.add %%k, %%one : tensor<i32>
    stablehlo.return %%next, %%z : tensor<i32>, tensor<10x3xf32>
  }
  %%c = "stablehlo.case"(%%i) ({
    stablehlo.return %%r#1 : tensor<10x3xf32>
  }, {
    %%m = stablehlo.negate %%r#1 : tensor<10x3xf32>
    stablehlo.return %%m : tensor<10x3xf32>
  }) : (tensor<i32>) -> tensor<10x3xf32>
  return %%c, %%r#0 : tensor<10x3xf32>, tensor<i32>
}
"""


class Functions(harness.EndToEndTest):
    def compile(self, ranks, *options):
        module = self.path("module.mlir")
        with open(module, "w") as file:
            file.write(MODULE % {"ranks": ranks})
        bundle = self.path(f"bundle{ranks}")
        harness.succeed("pmc", module, "-o", bundle, *options)
        return bundle

    def inputs(self, trips, index):
        path = self.path("in.safetensors")
        x = [float(i % 7 - 3) / 4 for i in range(30)]
        tensor_file.write(path, [
            ("arg0", "F32", [10, 3], struct.pack("<30f", *x)),
            ("arg1", "I32", [], struct.pack("<i", trips)),
            ("arg2", "I32", [], struct.pack("<i", index))])
        for _ in range(trips):
            total = sum(x)
            x = [value / 2 + total for value in x]
        return path, [-value for value in x] if index else x

    def run_bundle(self, bundle, path, *options):
        out = self.path("out.safetensors")
        harness.succeed("pmrun", bundle, f"--inputs={path}",
                        f"--outputs={out}", "--quiet", *options)
        return tensor_file.read(out)

    def check(self, results, expected, trips, what):
        # Sums of few small fractions are exact in any order.
        self.assertEqual(list(results["out0"].values()), expected, what)
        self.assertEqual(list(results["out1"].values()), [trips], what)

    def test_loops_and_choices_on_ranks(self):
        for ranks in (1, 2, 3, 4, 12):
            bundle = self.compile(ranks)
            for trips, index in ((0, 0), (2, 1), (2, 7)):
                path, expected = self.inputs(trips, index)
                self.check(self.run_bundle(bundle, path, "--poison"), expected,
                           trips, f"{ranks} ranks, {trips} trips, branch {index}")

    def test_processes_give_the_same(self):
        harness.needs("mpi")
        bundle = self.compile(4)
        path, expected = self.inputs(2, 0)
        self.check(self.run_bundle(bundle, path, "--transport=mpi"), expected, 2,
                   "MPI")

    def test_exchanges_count_once_for_each_trip(self):
        bundle = self.compile(2)
        path, _ = self.inputs(3, 0)
        report = self.path("report.json")
        self.run_bundle(bundle, path, f"--report={report}")
        with open(report) as file:
            entries = json.load(file)["ranks"][0]["communication"]
        self.assertEqual([(entry["kind"], entry["runs"]) for entry in entries],
                         [("all-reduce", 3)])
        with open(os.path.join(bundle, "manifest.json")) as file:
            manifest = json.load(file)
        entry = manifest["roles"][0]["communication"][0]
        self.assertEqual((entry["runs"], entry["runs_known"]), (1, False))
        self.assertEqual([result["info"] for result in manifest["results"]],
                         ["y", "trips"])

    def test_a_report_says_what_the_axes_divide(self):
        text = harness.succeed("pmc", self.write(2), "--report")
        self.assertIn("work that the axes divide", text)

    def write(self, ranks):
        module = self.path("module.mlir")
        with open(module, "w") as file:
            file.write(MODULE % {"ranks": ranks})
        return module

    def test_what_is_refused(self):
        module = self.write(2)
        self.refused("the module already has the mesh", "pmc", module,
                     "--strategy=dp=2", "--emit=model")
        self.refused("'arg9' is no argument or result; they are arg0 to arg2 and "
                     "out0 to out1", "pmc", module, "--sharding=arg9=dp",
                     "--emit=model")
        self.refused("has 1 dimensions, but arg0 is a", "pmc", module,
                     "--sharding=arg0=dp", "--emit=model")
        self.refused("names the axis 'tp', which the mesh does not have", "pmc",
                     module, "--sharding=arg0=tp,-", "--emit=model")
        self.refused("it is compiled as the whole function that it is", "pmc",
                     module, "--task=eval", "--emit=model")


if __name__ == "__main__":
    unittest.main()
