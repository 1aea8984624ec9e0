"""pmrun --compare names the first value that departs."""

import os
import struct
import unittest

import harness
import tensor_file


class Compare(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.reference = harness.Reference("llama")
        self.model = self.reference.directory
        self.data = self.reference.write_data(self.path("data.safetensors"))
        self.bundle = self.compile("ranks", "dp=2,pp=2,tp=2,mb=2")

    def compile(self, name, strategy, sequence=harness.SEQUENCE):
        return harness.compile_bundle(self.model, self.path(name), strategy,
                                      harness.plain_recipe(), sequence=sequence)

    def compare(self, other, *options, weights=None):
        return harness.execute(
            "pmrun", self.bundle, f"--compare={other}", f"--data={self.data}",
            f"--weights={weights or self.model}", *options)

    def reference_file(self):
        return os.path.join(self.model, "reference.safetensors")

    def changed_model(self, name):
        """A copy of the model in which the first element of a weight is 9."""
        out = self.path("changed")
        os.mkdir(out)
        with open(os.path.join(self.model, "config.json")) as file:
            config = file.read()
        with open(os.path.join(out, "config.json"), "w") as file:
            file.write(config)
        tensors = tensor_file.read(os.path.join(self.model, "model.safetensors"))
        tensor_file.write(
            os.path.join(out, "model.safetensors"),
            [(key, t.dtype, t.shape, struct.pack("<f", 9.0) + bytes(t.data)[4:]
              if key == name else t.data) for key, t in tensors.items()],
            {"format": "pt"})
        return out

    def test_a_mesh_agrees_with_one_rank_value_by_value(self):
        result = self.compare(self.compile("one", ""))
        self.assertEqual(result.returncode, 0, result.stderr)
        for what in ("activations", "logits", "loss", "39 gradients",
                     "39 parameters"):
            self.assertIn(what, result.stdout)

    def test_a_mesh_agrees_with_the_library_s_reference(self):
        result = self.compare(self.reference_file())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("39 gradients", result.stdout)

    def test_processes_are_refused(self):
        harness.needs("mpi")
        result = self.compare(self.reference_file(), "--transport=mpi")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--compare runs with --transport=threads", result.stderr)

    def test_the_first_value_that_departs_is_named_with_its_rank(self):
        changed = self.changed_model("model.layers.2.mlp.up_proj.weight")
        result = self.compare(self.reference_file(), weights=changed)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)
        for text in ("'logits'", "rank 2 (dp=0, pp=1, tp=0)", "lm_head"):
            self.assertIn(text, result.stderr)
        # A tolerance of nothing names the very first product.
        result = self.compare(self.compile("one", ""), "--compare-tolerance=0")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"model\.layers\.0\.|model\.embed_tokens")

    def test_bundles_of_other_sizes_are_refused(self):
        other = self.compile("other", "", sequence=harness.SEQUENCE - 1)
        result = self.compare(other)
        self.assertEqual(result.returncode, 1)
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("20", lines[0])
        self.assertIn("19", lines[0])

    def test_what_is_no_reference_is_refused(self):
        for other in (self.path("nothing"), self.data):
            with self.subTest(other):
                result = self.compare(other)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1)
                self.assertIn(other, result.stderr)


if __name__ == "__main__":
    unittest.main()
