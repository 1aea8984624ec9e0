"""A thousand damaged copies of each IR test input end in success or a diagnostic.

test/Fuzz/pm-fuzz makes the copies (the same ones in every run), reads them as
our tools do, and prints what still parses. A copy that crashes is kept under
BUILD/test/Fuzz/crashes, and named.
"""

import concurrent.futures
import glob
import os
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PIPEMESH_BUILD", os.path.join(ROOT, "build"))
FUZZ = os.path.join(BUILD, "test", "Fuzz", "pm-fuzz")
COPIES = int(os.environ.get("PIPEMESH_MUTATIONS", "1000"))


@unittest.skipUnless(os.path.exists(FUZZ), "pm-fuzz is not built")
class Mutations(unittest.TestCase):
    def run_files(self, files, *options, copies=COPIES):
        keep = os.path.join(BUILD, "test", "Fuzz", "crashes")
        return subprocess.run([FUZZ, f"--copies={copies}", f"--keep={keep}",
                               *options, *files],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=1200)

    def test_every_input_ends_in_a_diagnostic_or_success(self):
        files = sorted(glob.glob(os.path.join(ROOT, "test", "**", "*.mlir"),
                                 recursive=True), key=os.path.getsize)
        self.assertTrue(files)
        parts = [files[0::2], files[1::2]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for run in pool.map(self.run_files, parts):
                self.assertEqual(run.returncode, 0, run.stdout)

    def test_what_parses_is_partitioned_or_refused(self):
        files = sorted(glob.glob(os.path.join(ROOT, "test", "Shard", "**", "*.mlir"),
                                 recursive=True))
        self.assertTrue(files)
        run = self.run_files(
            files, "--longest=4096",
            "--pipeline=pm-propagate+pm-verify-sharded+pm-partition-pipeline",
            copies=COPIES // 10)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_deep_nesting_is_refused(self):
        """Without the guard MLIR's parser would end the process."""
        path = os.path.join(BUILD, "test", "Fuzz", "deep.mlir")
        with open(path, "w") as file:
            # A line a level: no mutation of one line makes it shallow.
            file.write("module {\n" * 20000 + "}\n" * 20000)
        refused = subprocess.run([os.path.join(BUILD, "bin", "pmopt"), path],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 errors="replace", timeout=120)
        self.assertEqual(refused.returncode, 1, refused.stderr[:500])
        self.assertIn("nest", refused.stderr[:500])
        run = self.run_files([path])
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn(" 0 still parse, 0 failed", run.stdout)


if __name__ == "__main__":
    unittest.main()
