"""The kernels of whole models for NVIDIA's processors: assembled, read back, counted.

Every model with one of the strategies by default; with PIPEMESH_LONG_TESTS
(tools/check --all) every model with each of them.
"""

import json
import os
import subprocess
import tempfile
import unittest

import harness

LONG = bool(os.environ.get("PIPEMESH_LONG_TESTS"))
STRATEGIES = ["", "tp=2", "pp=2,mb=2"]
ALL = [(model, strategy) for model in harness.MODELS for strategy in STRATEGIES]
COVERING = [("llama", ""), ("gpt2", "tp=2")]
CASES = ALL if LONG else COVERING
LEFT_TO_ALL = len(ALL) - len(CASES)
PROCESSORS = ["sm_80", "sm_90"]
# Launches of a layer's forward pass, beside matrix products and attention.
LAYER_BOUND = 12


def find_toolkit():
    """The toolkit that the build found, or ""."""
    names = {}
    with open(os.path.join(harness.BUILD, "test", "lit.site.cfg.py")) as file:
        for line in file:
            name, _, value = line.partition("=")
            names[name.strip()] = value.strip().strip('"')
    return names.get("config.cuda_root", "")


TOOLKIT = find_toolkit()


@unittest.skipUnless(TOOLKIT, "this build has no CUDA toolkit")
class CudaKernels(unittest.TestCase):
    def compile(self, model, strategy, folder):
        result = subprocess.run(
            [os.path.join(harness.BUILD, "bin", "pmc"),
             os.path.join(harness.INPUTS, "models", model), "--batch=8",
             "--sequence=20", f"--strategy={strategy}", f"--cuda-kernels={folder}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stdout)
        with open(os.path.join(folder, "kernels.json")) as file:
            return json.load(file)

    def read_back(self, folder, processor):
        """The names of the functions that cuobjdump finds in a cubin."""
        result = subprocess.run(
            [os.path.join(TOOLKIT, "bin", "cuobjdump"), "--dump-resource-usage",
             os.path.join(folder, f"kernels.{processor}.cubin")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout)
        return {line.strip()[len("Function "):-1]
                for line in result.stdout.splitlines()
                if line.strip().startswith("Function ")}

    def test_every_kernel_is_assembled_without_spills(self):
        for model, strategy in CASES:
            with self.subTest(model=model, strategy=strategy), \
                    tempfile.TemporaryDirectory() as folder:
                report = self.compile(model, strategy, folder)
                names = {kernel["name"] for kernel in report["kernels"]}
                self.assertGreaterEqual(len(names), 30)
                called = {launch["run"] for body in report["bodies"]
                          for launch in body["launches"]} - {"matrix product"}
                self.assertEqual(called, names)
                for processor in PROCESSORS:
                    self.assertEqual(self.read_back(folder, processor), names)
                    for kernel in report["kernels"]:
                        used = kernel[processor]
                        self.assertGreater(used["registers"], 0)
                        for place in ("stack", "spill_store", "spill_load"):
                            self.assertEqual(used[place + "_bytes"], 0,
                                             kernel["name"])
                        self.assertLessEqual(used["shared_bytes"], 48 << 10)
                if model == "llama":
                    self.check_launches(report)

    def check_launches(self, report):
        for body in report["bodies"]:
            if "forward" not in body["body"]:
                continue
            for layer in range(4):
                launches = [launch for launch in body["launches"]
                            if f"layers.{layer}." in launch["module"]]
                products = [launch for launch in launches
                            if launch["run"] == "matrix product"]
                own = [launch for launch in launches
                       if launch["run"] != "matrix product"
                       and not launch["run"].startswith("attention")]
                self.assertEqual(len(products), 7)
                self.assertLessEqual(len(own), LAYER_BOUND)


if __name__ == "__main__":
    unittest.main()
