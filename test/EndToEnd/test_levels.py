"""Every tensor level means the same: on the reference interpreter, on the same
inputs, the model graph, the differentiated graph, the sharded graph, fragments, and
partitioned fragments as N ranks agree; and the first of them with the model's own
library."""

import os
import unittest

import harness

# What pmc calls the levels that the interpreter runs, from the model graph on.
LEVELS = ["model", "differentiated", "sharded", "fragments", "partitioned",
          "scheduled"]


class Levels(harness.EndToEndTest):
    def levels_of(self, directory, strategy):
        """{level: file} as pmc --print-after-each writes them."""
        out = self.path("levels")
        recipe = harness.write_json(self.path("recipe.json"),
                                    harness.clipped_recipe())
        harness.succeed("pmc", directory, "--task=train",
                        f"--batch={harness.BATCH}",
                        f"--sequence={harness.SEQUENCE}",
                        f"--strategy={strategy}", f"--recipe={recipe}",
                        f"--print-after-each={out}")
        files = {name.split("_", 1)[1][:-len(".mlir")]: os.path.join(out, name)
                 for name in os.listdir(out)}
        self.assertLessEqual(set(LEVELS), set(files))
        return files

    def check_levels(self, name, strategy):
        reference = harness.Reference(name)
        files = self.levels_of(reference.directory, strategy)
        expected = os.path.join(reference.directory, "reference.safetensors")
        on_reference = [f"--weights={reference.directory}", f"--data={expected}"]
        harness.succeed("pmcheck", "run", files["differentiated"], *on_reference,
                        f"--expect={expected}", "--tolerance=1e-5")
        for first, second in (("model", "differentiated"),
                              ("differentiated", "sharded"),
                              ("differentiated", "fragments"),
                              ("differentiated", "partitioned"),
                              ("differentiated", "scheduled")):
            with self.subTest(f"{first} and {second}"):
                harness.succeed("pmcheck", "equiv", files[first], files[second],
                                *on_reference)

    def test_llama(self):
        self.check_levels("llama", "dp=2,mb=2")

    def test_llama_on_eight_ranks(self):
        self.check_levels("llama", "dp=8")

    def test_llama_on_every_axis(self):
        self.check_levels("llama", "dp=2,pp=2,tp=2,mb=2")

    def test_llama_with_shared_keys_and_values(self):
        self.check_levels("llama", "tp=4")

    def test_llama3_rope_on_every_axis(self):
        self.check_levels("llama3-rope", "dp=2,pp=2,tp=3,mb=2")

    def test_qwen2_in_four_stages(self):
        self.check_levels("qwen2", "pp=4,mb=2,schedule=gpipe")

    def test_qwen3_on_every_axis(self):
        self.check_levels("qwen3", "tp=2,pp=2,mb=4")

    def test_gpt2_on_every_axis(self):
        self.check_levels("gpt2", "dp=2,pp=2,tp=2,mb=2")

    def test_llama3_rope(self):
        self.check_levels("llama3-rope", "dp=2,mb=2")

    def test_qwen2(self):
        self.check_levels("qwen2", "dp=2,mb=4")

    def test_qwen3(self):
        self.check_levels("qwen3", "dp=4,mb=2")

    def test_mistral(self):
        self.check_levels("mistral", "dp=2,mb=2")

    def test_gpt2(self):
        self.check_levels("gpt2", "dp=2,mb=2")


if __name__ == "__main__":
    unittest.main()
