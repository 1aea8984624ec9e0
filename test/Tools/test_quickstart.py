"""The tables that tools/quickstart prints, from numbers that are known."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import quickstart  # noqa: E402


class Tables(unittest.TestCase):
    def test_bytes_are_summed_by_axis_and_kind_over_all_ranks(self):
        def entry(kind, axes, wire_bytes, runs):
            return {"kind": kind, "axes": axes, "group_size": 2,
                    "operand_bytes": wire_bytes, "wire_bytes": wire_bytes,
                    "runs": runs, "module": "model.layers.0", "fragment": "forward"}
        manifest = {"roles": [
            {"communication": [entry("all-reduce", ["tp.kv", "tp.group"], 1000, 4),
                               entry("transfer", ["pp"], 500, 2)]},
            {"communication": [entry("all-reduce", ["tp"], 1000, 2),
                               entry("all-reduce", ["dp"], 3000, 1)]}]}
        lines = [line.split() for line in
                 quickstart.communication(manifest, 8).splitlines()[1:]]
        # Four ranks of each of the two roles.
        self.assertEqual(lines, [
            ["dp", "all-reduce", "4", "0.012", "MB"],
            ["pp", "transfer", "8", "0.004", "MB"],
            ["tp", "all-reduce", "24", "0.024", "MB"]])

    def test_losses_stand_side_by_side_with_the_first_and_the_last_step(self):
        many = [{"loss": 5.0 - i / 100} for i in range(95)]
        one = [{"loss": step["loss"] + 2.5e-7} for step in many]
        lines = quickstart.side_by_side(many, one, 8).splitlines()
        self.assertIn("loss on 8 ranks", lines[0])
        steps = [int(line.split()[0]) for line in lines[1:]]
        self.assertEqual(steps[0], 0)
        self.assertEqual(steps[-1], 94)
        self.assertLess(len(steps), 14)
        self.assertEqual(lines[1].split(), ["0", "5.000000", "5.000000", "2.5e-07"])
        self.assertEqual(len(quickstart.side_by_side(many[:1], one[:1],
                                                     8).splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
