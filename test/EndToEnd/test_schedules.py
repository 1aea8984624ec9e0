"""Every pipeline schedule of a strategy, executed: the same losses and gradients, in
the order of its list."""

import json
import os
import subprocess
import sys
import unittest

import harness

# (schedule, mesh): fewer and more micro-batches than stages, one, and the axes that
# a pipeline runs beside.
SMALL = [("zb-h1", "pp=2,mb=4"), ("zb-h2", "pp=2,mb=1"),
         ("zb-h2", "dp=2,pp=2,tp=2,mb=2"), ("zb-v", "pp=2,mb=4"),
         ("interleaved-1f1b", "pp=2,chunks=2,mb=2"), ("dualpipe-v", "dp=2,pp=2,mb=4")]
DEEP = [("gpipe", "pp=4,mb=2"), ("1f1b", "pp=8,mb=4"), ("zb-h1", "pp=4,mb=8"),
        ("zb-h1", "pp=8,mb=2"), ("zb-h1", "dp=2,pp=4,mb=4"),
        ("zb-h2", "pp=4,mb=1"), ("zb-h2", "pp=8,mb=8"),
        ("zb-h2", "pp=4,tp=2,mb=2"), ("zb-h1", "mb=4"),
        ("interleaved-1f1b", "pp=4,chunks=2,mb=8"),
        ("interleaved-1f1b", "pp=2,chunks=4,tp=2,mb=4"),
        ("looped-bfs", "pp=4,chunks=2,mb=2"), ("looped-bfs", "chunks=2,mb=4"),
        ("zb-v", "pp=4,mb=8"), ("zb-v", "dp=2,pp=4,mb=1"),
        ("dualpipe-v", "pp=4,mb=8"), ("dualpipe-v", "pp=2,tp=2,mb=2"),
        ("zb-auto", "pp=4,mb=8,memory=6"),
        # Fewer micro-batches than stages.
        ("zb-auto", "pp=8,mb=2"), ("interleaved-1f1b", "pp=4,chunks=2,mb=2"),
        ("dualpipe-v", "pp=4,mb=2"),
        # Batches that do not divide.
        ("zb-h1", "pp=4,mb=3"), ("interleaved-1f1b", "pp=2,chunks=2,mb=5"),
        ("zb-v", "dp=2,pp=2,mb=3"),
        # Stages by hand, and forwards computed again.
        ("1f1b", "pp=4,mb=2,stages=3:1:3:1"), ("1f1b", "pp=4,mb=4,recompute=full"),
        ("zb-v", "pp=2,mb=4,recompute=full")]
LETTERS = {"forward": "F", "input_gradient": "I", "weight_gradient": "W",
           "backward": "B"}


class Schedules(harness.EndToEndTest):
    def compare(self, bundle, other, weights, data, *options):
        result = harness.execute("pmrun", bundle, f"--compare={other}",
                                 f"--weights={weights}", f"--data={data}",
                                 "--poison", *options)
        self.assertEqual(result.returncode, 0,
                         f"{bundle}: {result.stdout}{result.stderr}")

    def test_gradients_and_losses_are_the_library_s(self):
        for turn, name in enumerate(harness.MODELS):
            reference = harness.Reference(name)
            data = reference.write_data(self.path("data.safetensors"))
            # Each mesh with one model, and gpt2, whose table is tied, with all.
            meshes = SMALL if name == "gpt2" else [SMALL[turn % len(SMALL)]]
            for number, (schedule, mesh) in enumerate(meshes):
                with self.subTest(f"{name} {schedule} {mesh}"):
                    bundle = harness.compile_bundle(
                        reference.directory, self.path(f"{name}{number}"),
                        f"{mesh},schedule={schedule}", harness.clipped_recipe())
                    self.compare(bundle,
                                 os.path.join(reference.directory,
                                              "reference.safetensors"),
                                 reference.directory, data)
                    losses = harness.train(bundle, reference.directory, data, 4)
                    self.assert_losses(
                        losses, reference.numbers["adamw_clip_schedule"]["losses"][:4],
                        f"{name} {schedule} {mesh}")

    def make_deep_model(self):
        """Eight layers of a llama, with data of one batch; returns both."""
        model = self.path("deep")
        subprocess.run([sys.executable,
                        os.path.join(harness.ROOT, "tools", "make-model"),
                        "--layers", "8", "--hidden", "32", "--heads", "4",
                        "--kv-heads", "2", "-o", model],
                       check=True, stdout=subprocess.DEVNULL)
        count = harness.BATCH * harness.SEQUENCE
        data = harness.write_ids(self.path("deep.safetensors"),
                                 [i * i * 31 % 251 for i in range(count)],
                                 [1, harness.BATCH, harness.SEQUENCE])
        return model, data

    def test_deep_pipelines_compute_what_one_rank_does(self):
        model, data = self.make_deep_model()
        one = harness.compile_bundle(model, self.path("one"))
        # Every second one; tools/check --all takes all.
        every = 1 if os.environ.get("PIPEMESH_LONG_TESTS") else 2
        for number, (schedule, mesh) in enumerate(DEEP[::every]):
            with self.subTest(f"{schedule} {mesh}"):
                bundle = harness.compile_bundle(
                    model, self.path(f"deep{number}"),
                    f"{mesh},schedule={schedule}")
                self.compare(bundle, one, model, data)

    def test_ranks_execute_the_list(self):
        model, data = self.make_deep_model()
        for schedule, chunks in (("1f1b", 1), ("interleaved-1f1b", 2),
                                 ("looped-bfs", 2), ("zb-h1", 1), ("zb-h2", 1),
                                 ("zb-v", 2), ("dualpipe-v", 2)):
            bundle = harness.compile_bundle(
                model, self.path(schedule),
                f"pp=4,mb=4,schedule={schedule},chunks={chunks}")
            trace = self.path("trace.json")
            harness.train(bundle, model, data, 1, f"--trace={trace}")
            with open(trace) as file:
                events = json.load(file)["traceEvents"]
            ran = {rank: [] for rank in range(4)}
            for event in sorted((e for e in events if e.get("cat") == "action"),
                                key=lambda e: e["ts"]):
                what = event["args"]
                if what["kind"] in LETTERS:
                    ran[event["pid"]].append(
                        f"{what['stage']}{LETTERS[what['kind']]}"
                        f"{what['micro_batch']}")
            made = json.loads(harness.succeed(
                "pmcheck", "schedule", f"--name={schedule}", "--ranks=4",
                f"--chunks={chunks}", "--microbatches=4"))
            for rank, row in enumerate(made["actions"]):
                # A pair runs as two, and a whole backward as its two parts.
                flat = [action for cell in row for action in
                        ([cell] if isinstance(cell, str) else cell[1:])]
                if schedule == "dualpipe-v":
                    flat = [part for action in flat for part in
                            ([action.replace("B", "I"), action.replace("B", "W")]
                             if "B" in action else [action])]
                self.assertEqual(ran[rank], flat, f"{schedule}, rank {rank}")


if __name__ == "__main__":
    unittest.main()
