"""Gradients are summed over the ranks while the last backward still runs: with the
same bits as behind it, and watched like every other collective."""

import json
import unittest

import harness

STRATEGIES = ["dp=2,mb=2", "dp=2,pp=2,mb=4,schedule=zb-v", "dp=2,tp=2,mb=2"]


class Overlap(harness.EndToEndTest):
    def compile(self, strategy, bucket):
        self.reference = harness.Reference("llama")
        self.data = self.reference.write_data(self.path("data.safetensors"))
        return harness.compile_bundle(
            self.reference.directory, self.path(f"bundle-{strategy}-{bucket}"),
            strategy, harness.clipped_recipe(),
            options=[f"--bucket-bytes={bucket}"])

    def run_steps(self, bundle, steps, *options):
        saved = self.path("gradients.safetensors")
        metrics = harness.train(bundle, self.reference.directory, self.data, steps,
                                f"--save-gradients={saved}", "--quiet", *options)
        with open(saved, "rb") as file:
            return [step["loss"] for step in metrics], file.read()

    def test_same_bits(self):
        for strategy in STRATEGIES:
            behind = self.compile(strategy, 0)
            beside = self.compile(strategy, 4096)
            expected = self.run_steps(behind, 3)
            for options in (["--poison", "--threads=2"], ["--transport=mpi"]):
                if "--transport=mpi" in options and \
                        harness.transport_missing("mpi"):
                    continue
                with self.subTest(strategy, options=options):
                    self.assertEqual(self.run_steps(beside, 3, *options), expected)
            # Nor does it change what is sent.
            self.assertEqual(self.sent(beside), self.sent(behind), strategy)

    def sent(self, bundle):
        with open(bundle + "/manifest.json") as file:
            roles = json.load(file)["roles"]
        return [sum(exchange["wire_bytes"] * exchange["runs"]
                    for exchange in role["communication"]) for role in roles]

    def trace(self, bundle, *options):
        """Spans by rank, in the order of time."""
        path = self.path("trace.json")
        self.run_steps(bundle, 1, f"--trace={path}", *options)
        with open(path) as file:
            events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        ranks = {}
        for event in sorted(events, key=lambda e: e["ts"]):
            ranks.setdefault(event["pid"], []).append(event)
        return ranks

    def first_start(self, bundle):
        """Which one of the exchanges of rank 0 is its first start, from 1."""
        own = [e for e in self.trace(bundle)[0] if e["tid"] == 0 and
               e["cat"] in ("collective", "transfer")]
        return next(i for i, e in enumerate(own)
                    if e["name"] == "start of all-reduce") + 1

    def test_starts_stand_in_the_last_backward(self):
        ranks = self.trace(self.compile("dp=2,pp=2,mb=4", 4096))
        self.assertEqual(len(ranks), 4)
        for own in ranks.values():
            started = [e for e in own if e["tid"] == 1]
            starts = [e for e in own if e["name"] == "start of all-reduce"]
            waits = [e for e in own if e["name"] == "wait"]
            self.assertGreater(len(started), 2)
            order = [e["args"]["event"] for e in started]
            self.assertEqual([e["args"]["event"] for e in starts], order)
            self.assertEqual(sorted(e["args"]["event"] for e in waits),
                             sorted(order))
            last = next(e for e in own if e["name"].endswith("backward_last"))
            self.assertEqual(last["args"]["micro_batch"], 3)
            end = last["ts"] + last["dur"]
            for start, run in zip(starts, started):
                self.assertTrue(last["ts"] <= start["ts"] < end)
                self.assertGreaterEqual(run["ts"], start["ts"])
                self.assertEqual(start["args"]["bytes"], run["args"]["bytes"])
            # Products of the same backward stand behind the first start.
            self.assertTrue(any(e["name"] == "gemm" and
                                starts[0]["ts"] < e["ts"] < end for e in own))

    def test_who_has_started_computes_on(self):
        bundle = self.compile("dp=2,mb=2", 4096)
        at = self.first_start(bundle)
        own = self.trace(bundle, f"--inject=slow:rank=1,op={at},ms=700")[0]
        last = next(e for e in own if e["name"].endswith("backward_last"))
        first = next(e for e in own if e["tid"] == 1)
        # The other rank comes late, but this one had its gradients before.
        self.assertGreater(first["dur"], 3e5)
        self.assertGreater(first["ts"] + first["dur"], last["ts"] + last["dur"])

    def test_faults_are_named(self):
        bundle = self.compile("dp=2,mb=2", 4096)
        at = self.first_start(bundle)
        for transport in harness.TRANSPORTS:
            if harness.transport_missing(transport):
                continue
            for fault, status, texts in [
                    ("skip", 4, ["rank 1 comes with all-reduce at "]),
                    ("wrong-size", 4, ["elements against"]),
                    ("stall", 3, ["waits for", "all-reduce", "absent: rank 1 (dp=1)"]),
                    ("slow", 0, [])]:
                with self.subTest(fault, transport=transport):
                    result = harness.execute(
                        "pmrun", bundle, f"--weights={self.reference.directory}",
                        f"--data={self.data}", "--steps=1", "--quiet",
                        f"--transport={transport}", "--deadline=2s",
                        f"--inject={fault}:rank=1,op={at}" +
                        (",ms=300" if fault == "slow" else ""))
                    self.assertEqual(result.returncode, status, result.stderr)
                    for text in texts:
                        self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
