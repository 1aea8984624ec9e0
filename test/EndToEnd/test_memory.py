"""What is in use of a rank's memory, and what of a process is resident, against what
the bundle's certificate and the report state."""

import json
import os
import subprocess
import sys
import unittest

import harness

# Schedules, and the axes that they run beside.
STRATEGIES = ["pp=2,mb=4,schedule=1f1b", "pp=2,mb=4,schedule=zb-h1",
              "pp=2,mb=3,schedule=zb-v", "dp=2,tp=2,zero=1",
              "pp=2,chunks=2,tp=2,mb=2,schedule=interleaved-1f1b"]


class Memory(harness.EndToEndTest):
    def make_model(self, *options, sequence=harness.SEQUENCE, vocabulary=256):
        model = self.path("model")
        subprocess.run([sys.executable,
                        os.path.join(harness.ROOT, "tools", "make-model"),
                        *options, f"--vocabulary={vocabulary}", "-o", model],
                       check=True, stdout=subprocess.DEVNULL)
        count = harness.BATCH * sequence
        data = harness.write_ids(
            self.path("data.safetensors"),
            [i * i * 31 % (vocabulary - 5) for i in range(2 * count)],
            [2, harness.BATCH, sequence])
        return model, data

    def report(self, bundle, model, data, *options):
        path = self.path("report.json")
        losses = harness.train(bundle, model, data, 2, f"--report={path}", *options)
        with open(path) as file:
            return losses, json.load(file)

    def check_live(self, bundle, model, data, *options):
        plain = harness.train(bundle, model, data, 2)
        losses, report = self.report(bundle, model, data, "--poison=free", *options)
        for key in ("loss", "grad_norm"):
            self.assertEqual([step[key] for step in losses],
                             [step[key] for step in plain])
        with open(os.path.join(bundle, "certificate.json")) as file:
            roles = json.load(file)["roles"]
        for rank in report["ranks"]:
            role = roles[rank["role"]]
            self.assertEqual(rank["live_bytes"], role["live_bytes"],
                             f"{bundle}, rank {rank['rank']}")
            self.assertEqual(role["live_bytes"], sum(
                size for size in role["live_at_the_peak"].values()
                if not isinstance(size, str)))
            # Not everything is in use at once, but nearly all.
            self.assertLess(role["live_bytes"], role["arena_bytes"] +
                            role["reserves"]["kernel_scratch_bytes"])
            self.assertGreater(role["live_bytes"], role["arena_bytes"] / 2)

    def test_live_bytes_are_those_of_the_certificate(self):
        model, data = self.make_model("--layers=4", "--hidden=32", "--kv-heads=2")
        for number, strategy in enumerate(STRATEGIES):
            with self.subTest(strategy):
                bundle = harness.compile_bundle(
                    model, self.path(f"live{number}"), strategy,
                    harness.clipped_recipe())
                self.check_live(bundle, model, data)

    def test_live_bytes_of_processes(self):
        harness.needs("mpi")
        model, data = self.make_model("--layers=2", "--hidden=32")
        bundle = harness.compile_bundle(model, self.path("processes"),
                                        "pp=2,mb=2,schedule=zb-h1")
        self.check_live(bundle, model, data, "--transport=mpi")

    def check_resident(self, bundle, model, data, processes, *options):
        report = self.report(bundle, model, data, *options)[1]
        self.assertEqual(len(report["memory"]), processes)
        for memory in report["memory"]:
            reserves = {entry["name"]: entry for entry in memory["reserves"]}
            self.assertEqual(sum(entry["bytes"] for entry in memory["reserves"]),
                             memory["total_bytes"])
            # Most of it is derived from the program.
            derived = sum(entry["bytes"] for entry in memory["reserves"]
                          if entry["how"] == "derived")
            self.assertGreater(derived, 0.7 * memory["total_bytes"])
            self.assertIn("arenas of the ranks", reserves)
            self.assertIn("operands packed by oneDNN, of each thread", reserves)
            for stated, found in (("total_bytes", "resident_bytes"),
                                  ("peak_total_bytes", "peak_resident_bytes")):
                self.assertLess(
                    abs(memory[found] / memory[stated] - 1), 0.05,
                    f"{bundle} {options}: {found} of {memory}")

    def test_resident_memory_is_what_the_report_states(self):
        model, data = self.make_model("--layers=2", "--hidden=256",
                                      "--intermediate=768", sequence=256,
                                      vocabulary=1024)
        for number, (strategy, processes, options) in enumerate((
                ("pp=2,mb=2,schedule=1f1b", 1, ["--threads=2"]),
                ("tp=2", 2, ["--transport=mpi"]))):
            with self.subTest(f"{strategy} {options}"):
                if processes > 1:
                    harness.needs("mpi")
                bundle = harness.compile_bundle(model, self.path(f"big{number}"),
                                                strategy, sequence=256)
                self.check_resident(bundle, model, data, processes, *options)

    def test_what_is_read_behind_its_last_use_is_refused(self):
        for option in ("--save-gradients=g.safetensors", "--save-logits=l.safetensors",
                       "--compare=other"):
            result = harness.execute("pmrun", "bundle", "--weights=model",
                                     "--data=data.txt", "--poison=free", option)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{option.split('=')[0]} reads values behind their last "
                          "use in the step", result.stderr)
        result = harness.execute("pmrun", "bundle", "--weights=model",
                                 "--data=data.txt", "--poison=full")
        self.assertIn("--poison is 'full', but takes no value or =free",
                      result.stderr)


if __name__ == "__main__":
    unittest.main()
