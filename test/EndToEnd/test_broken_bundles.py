"""Bundles that are broken in every kind are refused for their own reason, with the
op named, even when they are signed again as a whole; those that pmc writes are
proved, and pmrun runs no other."""

import json
import os
import platform
import re
import shutil
import subprocess
import unittest

import broken_kinds
import broken_starts  # noqa: F401
import bundle_tables
import harness
import test_functions

GATHERED = """
pm.mesh @mesh = [<"x", spatial = 2>]
func.func @main(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  %y = stablehlo.negate %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
"""


def make_meeting(folder):
    """Two roles written by hand that meet on communicators; those that pmc writes
    hand values on by transfers alone."""
    os.makedirs(folder)
    buffers = [{"name": name, "kind": "output", "role": "", "dtype": "f32",
                "global_shape": [size], "local_shape": [size], "sharding": [[]],
                "init": "none", "slots": 1, "bytes": 4 * size}
               for name, size in (("first", 8), ("second", 4))]
    with open(os.path.join(harness.ROOT, "runtime", "include", "pmrt",
                           "pmrt.h")) as file:
        abi = int(re.search(r"PMRT_ABI_VERSION (\d+)u", file.read())[1])
    manifest = {"format": "pipemesh-bundle", "version": 1, "abi": abi, "hash": "0" * 64,
                "target": {"triple": f"{platform.machine()}-linux-gnu"},
                "task": "function", "batch": 0, "sequence": 0, "vocabulary": 0,
                "mesh": [{"name": "dp", "kind": "spatial", "size": 2},
                         {"name": "pp", "kind": "stage", "size": 2}],
                "parameters": [], "outputs": {}, "arguments": [], "results": [],
                "roles": [{"file": f"role_{role}.so", "arena_bytes": 192,
                           "scratch_bytes": 64, "buffers": buffers}
                          for role in (0, 1)]}
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump(manifest, file)
    for role in (0, 1):
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f"-DROLE={role}",
             f"-I{os.path.join(harness.ROOT, 'runtime', 'include')}",
             os.path.join(harness.ROOT, "test", "Runtime", "Inputs",
                          "meeting_model.c"),
             "-o", os.path.join(folder, f"role_{role}.so")], check=True)
    return folder


class BrokenBundles(harness.EndToEndTest):
    def base(self, name):
        """The bundle that kinds of this base change."""
        folder = self.path(name)
        if os.path.exists(folder):
            return folder
        gpt2 = os.path.join(harness.INPUTS, "models", "gpt2")
        if name == "meeting":
            return make_meeting(folder)
        models = {"model": "dp=2,pp=2,tp=2,mb=4", "v": "pp=2,mb=4,schedule=zb-v",
                  "early": "pp=2,mb=4,schedule=gpipe", "tied": "pp=2,mb=4"}
        if name == "started":
            return harness.compile_bundle(gpt2, folder, "dp=2,pp=2,mb=2",
                                          options=["--bucket-bytes=4096"])
        if name in models:
            return harness.compile_bundle(gpt2, folder, models[name])
        module = self.path(name + ".mlir")
        with open(module, "w") as file:
            file.write(GATHERED if name == "gathered"
                       else test_functions.MODULE % {"ranks": 2})
        harness.succeed("pmc", module, "-o", folder)
        return folder

    def test_each_kind_is_refused_for_its_own_reason(self):
        self.assertGreaterEqual(len(broken_kinds.KINDS), 40)
        for name, (base, change) in broken_kinds.KINDS.items():
            with self.subTest(name):
                tables = bundle_tables.BundleTables(self.base(base))
                expected = change(tables)
                broken = tables.write(self.path("broken"))
                result = harness.execute("pmcheck", "bundle", broken)
                self.assertEqual(result.returncode, 1, result.stdout)
                for text in expected:
                    self.assertIn(text, result.stderr)

    def test_signing_alone_breaks_nothing(self):
        for base in ("model", "v", "function", "gathered", "meeting", "started"):
            tables = bundle_tables.BundleTables(self.base(base))
            signed = tables.write(self.path("signed"))
            out = harness.succeed("pmcheck", "bundle", signed)
            self.assertIn("every value is there when it is used", out)

    def test_certificate_says_what_was_proved(self):
        folder = self.base("model")
        with open(os.path.join(folder, "certificate.json")) as file:
            certificate = json.load(file)
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual(certificate["bundle"], manifest["hash"])
        self.assertEqual((certificate["ranks"], certificate["micro_batches"]), (8, 4))
        self.assertTrue(certificate["proved"]["needs_no_send_buffers"])
        for role, described in zip(certificate["roles"], manifest["roles"]):
            self.assertEqual(role["arena_bytes"], described["arena_bytes"])
            self.assertEqual(role["peak_bytes"], role["arena_bytes"] +
                             sum(role["reserves"].values()))

    def test_run_wants_the_certificate_of_its_bundle(self):
        folder = self.path("own")
        shutil.copytree(self.base("function"), folder)
        path, _ = test_functions.Functions.inputs(self, 2, 1)

        def run(*options):
            return harness.execute("pmrun", folder, f"--inputs={path}", "--quiet",
                                   f"--outputs={self.path('out.safetensors')}",
                                   *options)

        self.assertEqual(run().returncode, 0)
        certificate = os.path.join(folder, "certificate.json")
        for change, text in [
                (lambda c: c.update(bundle="0" * 64), "is of the bundle with the hash"),
                (lambda c: c.update(version=9), "has not the version 1"),
                (lambda c: c["files"].update({"role_0.so": "0" * 64}),
                 "is not of this 'role_0.so'"),
                (lambda c: c["files"].pop("manifest.json"),
                 "is not of this 'manifest.json'")]:
            with open(certificate) as file:
                content = json.load(file)
            change(content)
            with open(certificate, "w") as file:
                json.dump(content, file)
            result = run()
            self.assertEqual(result.returncode, 1)
            self.assertIn(text, result.stderr)
            self.assertIn("--no-certificate", result.stderr)
            self.assertEqual(run("--no-certificate").returncode, 0)
            harness.succeed("pmcheck", "bundle", folder, "--write")
            self.assertEqual(run().returncode, 0)
        os.remove(certificate)
        self.assertIn("has no certificate.json", run().stderr)
        self.assertEqual(run("--no-certificate").returncode, 0)

    def test_threads_have_scratch_of_their_own(self):
        folder = self.path("limited")
        gpt2 = os.path.join(harness.INPUTS, "models", "gpt2")
        with open(os.path.join(self.base("tied"), "certificate.json")) as file:
            roles = json.load(file)["roles"]
        limit = max(role["peak_bytes"] for role in roles)
        harness.compile_bundle(gpt2, folder, "pp=2,mb=4",
                               options=[f"--memory-limit={limit}"])
        self.assertIn(f"each rank has {limit} bytes",
                      harness.succeed("pmcheck", "bundle", folder))
        result = harness.execute("pmcheck", "bundle", folder, "--threads=3")
        self.assertEqual(result.returncode, 1)
        self.assertIn("memory: a rank of role ", result.stderr)
        self.assertIn("it has 3 threads", result.stderr)
        result = harness.execute("pmcheck", "bundle", folder, "--threads=0")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--threads is '0', but must be 1 to 4096", result.stderr)
        result = harness.execute("pmrun", folder, f"--weights={gpt2}",
                                 "--data=none.txt", "--threads=3")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"a rank of role \d with 3 threads needs \d+ "
                         rf"bytes .* but was compiled for {limit}; use fewer")

    def test_compiler_refuses_what_does_not_fit(self):
        result = harness.execute(
            "pmc", os.path.join(harness.INPUTS, "models", "gpt2"), "--batch=8",
            "--sequence=20", "--memory-limit=1000", "-o", self.path("large"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("memory: a rank of role 0 needs ", result.stderr)
        self.assertIn("but has 1000", result.stderr)
        self.assertFalse(os.path.exists(self.path("large")))


if __name__ == "__main__":
    unittest.main()
