"""Ranks as threads of one process and as processes of Open MPI compute the same
bits, in every run, with memory that was poisoned before, and after a pause."""

import os
import subprocess
import unittest

import harness
import reference_model

LONG = bool(os.environ.get("PIPEMESH_LONG_TESTS"))
# Uneven vocabulary, tied over stages, and neither.
MODELS = harness.MODELS if LONG else ["llama", "llama3-rope", "gpt2"]
LEFT_TO_ALL = 3 * (len(harness.MODELS) - len(MODELS))


class SameBits(harness.EndToEndTest):
    def prepare(self, name):
        self.reference = harness.Reference(name)
        strategy = reference_model.every_axis(name)
        self.bundle = harness.compile_bundle(
            self.reference.directory, self.path("bundle"), strategy,
            harness.clipped_recipe())
        self.data = self.reference.write_data(self.path("data.safetensors"))

    def run_on(self, transport, *options):
        return reference_model.Run(self.bundle, self.reference.directory,
                                   self.data, transport, *options)

    def check_two_runs(self, name):
        self.prepare(name)
        self.run_on("threads").assert_same_bits(
            self, self.run_on("threads", "--threads=2"), "two runs")

    def check_poison(self, name):
        self.prepare(name)
        self.run_on("threads").assert_same_bits(
            self, self.run_on("threads", "--poison"), "poisoned memory")

    def check_mpi(self, name):
        harness.needs("mpi")
        self.prepare(name)
        threads = self.run_on("threads")
        self.run_on("mpi").assert_same_bits(self, threads, "MPI and threads")
        self.run_on("mpi", "--poison").assert_same_bits(
            self, threads, "MPI with poisoned memory and threads")


def add_tests():
    for name in MODELS:
        suffix = name.replace("-", "_")
        for what in ("two_runs", "poison", "mpi"):
            setattr(SameBits, f"test_{what}_{suffix}",
                    lambda self, check=f"check_{what}", name=name:
                    getattr(self, check)(name))


add_tests()


class Launch(harness.EndToEndTest):
    """How a job of processes is started."""

    def setUp(self):
        super().setUp()
        harness.needs("mpi")
        self.reference = harness.Reference("llama")
        self.data = self.reference.write_data(self.path("data.safetensors"))
        self.bundle = harness.compile_bundle(
            self.reference.directory, self.path("bundle"), "pp=2,tp=2,mb=2",
            harness.plain_recipe())

    def metrics_under_mpirun(self, *options):
        path = self.path("mpirun.jsonl")
        result = harness.mpirun(
            4, self.bundle, f"--weights={self.reference.directory}",
            f"--data={self.data}", "--steps=3", f"--metrics={path}", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return harness.read_metrics(path), result

    def test_under_mpirun_processes_are_the_default(self):
        threads = harness.train(self.bundle, self.reference.directory, self.data, 3)
        metrics, result = self.metrics_under_mpirun()
        self.assert_same_metrics(metrics, threads, "mpirun and threads")
        # One rank speaks for all.
        self.assertEqual(result.stdout.count("loss  "), 1, result.stdout)

    def test_trace_has_every_process(self):
        trace = self.path("trace.json")
        self.metrics_under_mpirun(f"--trace={trace}")
        picture = self.path("timeline.svg")
        result = subprocess.run(
            [os.path.join(harness.ROOT, "tools", "plot-timeline"), trace, "-o",
             picture], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 4, result.stdout)

    def test_model_saved_by_processes_resumes_in_threads(self):
        saved = self.path("saved")
        whole = harness.train(self.bundle, self.reference.directory, self.data, 4)
        harness.train(self.bundle, self.reference.directory, self.data, 2,
                      "--transport=mpi", f"--save={saved}")
        rest = harness.train(self.bundle, saved, self.data, 2, "--resume")
        self.assertEqual([step["loss"] for step in whole[2:]],
                         [step["loss"] for step in rest])


if __name__ == "__main__":
    unittest.main()
