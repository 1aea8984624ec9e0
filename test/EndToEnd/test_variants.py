"""Models with uncommon fields (test/Import/Inputs/variants): loss, logits and
gradients of one step are the model library's, on the reference interpreter and
through the whole chain on two ranks."""

import json
import os
import unittest

import harness
import tensor_file

VARIANTS = os.path.join(harness.ROOT, "test", "Import", "Inputs", "variants")
BATCH, SEQUENCE = 2, 12
# The library rounds rotary frequencies to float32 before it multiplies them.
LOSS, LOGITS, OF_PARAMETER, OF_MODEL = 1e-5, 1e-4, 1e-5, 3e-6


class Variants(harness.EndToEndTest):
    def check_on_interpreter(self, directory):
        model, step = self.path("model.mlir"), self.path("step.mlir")
        harness.succeed("pmimport", directory, "--task=train",
                        f"--batch={BATCH}", f"--sequence={SEQUENCE}", "-o", model)
        harness.succeed("pmopt", model, "--pm-differentiate", "-o", step)
        data = os.path.join(directory, "reference.safetensors")
        for expected in ("reference.safetensors", "reference.json"):
            harness.succeed("pmcheck", "run", step, f"--weights={directory}",
                            f"--data={data}", "--tolerance=1e-5",
                            f"--expect={os.path.join(directory, expected)}")

    def check_gradients(self, ours, reference):
        theirs = {key[len("grad."):]: tensor for key, tensor in reference.items()
                  if key.startswith("grad.")}
        self.assertEqual(sorted(ours), sorted(theirs))
        largest = {name: max(abs(x) for x in tensor.values())
                   for name, tensor in theirs.items()}
        of_model = max(largest.values())
        for name, tensor in theirs.items():
            allowed = max(OF_PARAMETER * largest[name], OF_MODEL * of_model)
            self.assertLessEqual(
                harness.largest_difference(ours[name], tensor), allowed,
                f"gradient of {name}")

    def check_on_ranks(self, directory):
        reference = tensor_file.read(
            os.path.join(directory, "reference.safetensors"))
        with open(os.path.join(directory, "reference.json")) as file:
            loss = json.load(file)["step0"]["loss"]
        bundle = harness.compile_bundle(
            directory, self.path("bundle"), "dp=2", harness.plain_recipe(),
            batch=BATCH, sequence=SEQUENCE)
        data = harness.write_ids(
            self.path("data.safetensors"), reference["input_ids"].values(),
            [1, BATCH, SEQUENCE], reference["labels"].values())
        gradients, logits = self.path("g.safetensors"), self.path("l.safetensors")
        metrics = harness.train(bundle, directory, data, 1,
                                f"--save-gradients={gradients}",
                                f"--save-logits={logits}")
        self.assert_close(metrics[0]["loss"], loss, LOSS, "loss")
        worst = harness.largest_difference(tensor_file.read(logits)["logits"],
                                           reference["logits"])
        self.assertLessEqual(worst, LOGITS, "logits")
        self.check_gradients(tensor_file.read(gradients), reference)


def add_tests():
    for name in sorted(os.listdir(VARIANTS)):
        directory = os.path.join(VARIANTS, name)
        suffix = name.replace("-", "_")
        setattr(Variants, f"test_on_the_interpreter_{suffix}",
                lambda self, d=directory: self.check_on_interpreter(d))
        setattr(Variants, f"test_on_two_ranks_{suffix}",
                lambda self, d=directory: self.check_on_ranks(d))


add_tests()

if __name__ == "__main__":
    unittest.main()
