"""tools/plot-timeline: what it reads from a trace and what it draws."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import timeline  # noqa: E402


def event(rank, name, category, begin, duration, **arguments):
    return {"ph": "X", "name": name, "cat": category, "pid": rank, "tid": 0,
            "ts": float(begin), "dur": float(duration), "args": arguments}


def step_of_rank(rank, stage, start):
    """1F1B of two micro-batches on two stages, in microseconds: a forward takes
    1000, a backward 2000, both with an all-reduce of 200 that waits for half of
    it; the reduction takes 500 of which 400 are waiting, the update 300."""
    events = []

    def action(kind, micro_batch, begin, duration):
        events.append(event(rank, f"stage{stage}_{kind}", "action", begin, duration,
                            kind=kind, stage=stage, micro_batch=micro_batch))

    def exchange(begin, duration, waited):
        events.append(event(rank, "all-reduce", "collective", begin, duration,
                            wait_us=waited, location="model.layers.0"))

    def work(kind, micro_batch, begin):
        duration = {"forward": 1000, "backward": 2000}[kind]
        action(kind, micro_batch, begin, duration)
        events.append(event(rank, "gemm", "gemm", begin, duration - 200, m=1,
                            n=1, k=1))
        exchange(begin + duration - 200, 200, 100)

    def receive(begin, end):
        events.append(event(rank, "receive hidden", "transfer", begin, end - begin,
                            wait_us=end - begin, peer=rank ^ 2, micro_batch=0))

    if stage == 0:
        order = [("forward", 0, 0), ("forward", 1, 1000), ("backward", 0, 4000),
                 ("backward", 1, 7000)]
    else:
        order = [("forward", 0, 1000), ("backward", 0, 2000), ("forward", 1, 4000),
                 ("backward", 1, 5000)]
    reached = 0
    for kind, micro_batch, begin in order:
        if begin > reached:
            receive(start + reached, start + begin)
        work(kind, micro_batch, start + begin)
        reached = begin + {"forward": 1000, "backward": 2000}[kind]
    action("reduce", 0, start + reached, 500)
    exchange(start + reached, 500, 400)
    action("update", 0, start + reached + 500, 300)
    return events


def trace(steps=2):
    """Eight ranks of dp=2,pp=2,tp=2."""
    events = []
    for rank in range(8):
        dp, pp, tp = rank // 4, rank // 2 % 2, rank % 2
        events.append({"ph": "M", "name": "process_name", "pid": rank,
                       "args": {"name": f"rank {rank} (dp={dp}, pp={pp}, "
                                        f"tp={tp})"}})
        for step in range(steps):
            events += step_of_rank(rank, pp, 10000 * step)
    return {"displayTimeUnit": "ms", "traceEvents": events}


class Timeline(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name, content=None):
        path = os.path.join(self.scratch, name)
        if content is not None:
            with open(path, "w") as file:
                file.write(content if isinstance(content, str) else
                           json.dumps(content))
        return path

    def text_of(self, path):
        with open(path) as file:
            return file.read()

    def plot(self, *arguments):
        return subprocess.run(
            [os.path.join(ROOT, "tools", "plot-timeline"), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)

    def refused(self, expected, *arguments):
        result = self.plot(*arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertIn(expected, result.stderr)

    def test_picture_has_a_lane_for_each_rank_by_stage(self):
        out = self.path("timeline.svg")
        result = self.plot(self.path("trace.json", trace()), "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = xml.dom.minidom.parse(out)
        texts = [node.firstChild.data
                 for node in document.getElementsByTagName("text")]
        self.assertEqual([text for text in texts if text.startswith("rank ")],
                         [f"rank {rank}" for rank in (0, 1, 4, 5, 2, 3, 6, 7)])
        self.assertIn("dp=1 pp=0 tp=1", texts)
        for name in ("forward", "backward", "reduction of gradients", "update",
                     "moving data", "waiting for other ranks"):
            self.assertIn(name, texts)
        # A number in each box of work: two micro-batches, there and back.
        self.assertEqual(texts.count("0"), 8 * 2 + 1)  # and one at the axis
        titles = [node.firstChild.data
                  for node in document.getElementsByTagName("title")]
        self.assertTrue(any("backward, stage 1, micro-batch 1" in title and
                            "matrix products: 1.8 ms" in title
                            for title in titles))
        self.assertTrue(any("receive hidden, from rank 0, micro-batch 0" in title
                            for title in titles))
        # Nothing is fetched from elsewhere.
        self.assertNotRegex(self.text_of(out), r"href|<script|<image")

    def test_busy_share_leaves_out_waiting_and_what_is_before_the_first_action(self):
        step = timeline.Step(timeline.read(self.path("trace.json", trace())))
        self.assertEqual(step.end - step.begin, 9800)
        # Stage 0: 6000 of work less four waits of 100, 100 of the reduction, 300.
        shares = {lane.rank.number: step.busy_share(lane) for lane in step.lanes}
        self.assertAlmostEqual(shares[0], (6000 - 400 + 100 + 300) / 9800)
        self.assertAlmostEqual(shares[3], (6000 - 400 + 100 + 300) / 9800)

    def test_steps_are_told_apart_and_chosen(self):
        path = self.path("trace.json", trace(3))
        for number in range(3):
            step = timeline.Step(timeline.read(path), number)
            self.assertEqual(step.begin, 10000 * number)
            self.assertEqual(len(step.lanes[0].spans), 8)
        self.refused("there is no step 3; the trace has 3", path, "--step", "3",
                     "-o", self.path("t.svg"))

    def test_steps_that_the_trace_numbers_are_taken_from_it(self):
        content = trace(2)
        for one in content["traceEvents"]:
            if one["ph"] == "X" and one["cat"] == "action":
                one["args"]["step"] = int(one["ts"] >= 10000)
        step = timeline.Step(timeline.read(self.path("trace.json", content)), 0)
        kinds = [span.kind for span in step.lanes[0].spans if span.is_action]
        self.assertEqual(kinds.count("forward"), 2)
        self.assertEqual(step.count, 2)

    def test_one_rank_without_coordinates_can_be_drawn(self):
        events = [event(0, "stage0_forward", "action", 0, 10, kind="forward",
                        stage=0, micro_batch=0)]
        out = self.path("one.svg")
        result = self.plot(self.path("one.json", events), "-o", out, "--title",
                           "<one> & only", "--width", "800")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("&lt;one&gt; &amp; only", self.text_of(out))
        self.assertEqual(re.search(r'width="(\d+)"', self.text_of(out)).group(1),
                         "800")

    def test_files_that_hold_no_trace_are_refused_by_name(self):
        out = self.path("t.svg")
        self.refused("no-file", self.path("no-file"), "-o", out)
        self.refused("not a trace in JSON", self.path("a", "hello"), "-o", out)
        self.refused("no list 'traceEvents'", self.path("b", {}), "-o", out)
        self.refused("no rank did anything", self.path("c", []), "-o", out)
        self.refused("none of pmrun's", self.path("d", [1]), "-o", out)
        self.refused("--width is 5", self.path("e", trace()), "-o", out,
                     "--width", "5")
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    unittest.main()
