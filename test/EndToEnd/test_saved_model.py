"""A saved model goes back in, here and in the models' own library."""

import json
import os
import subprocess
import sys
import unittest

import harness
import reference_model
import tensor_file

# Prints the logits of a model directory on the ids of a data file's first
# batch, as the models' own library computes them, as a safetensors file.
LIBRARY_LOGITS = """
import sys
import safetensors.torch, torch, transformers
model = transformers.AutoModelForCausalLM.from_pretrained(
    sys.argv[1], dtype=torch.float32, attn_implementation="eager").eval()
ids = safetensors.torch.load_file(sys.argv[2])["input_ids"][0].long()
with torch.no_grad():
    logits = model(ids).logits
safetensors.torch.save_file({"logits": logits.contiguous()}, sys.argv[3])
"""


def library_python():
    """A Python that has transformers: PIPEMESH_TRANSFORMERS_PYTHON, or this."""
    python = os.environ.get("PIPEMESH_TRANSFORMERS_PYTHON", sys.executable)
    probe = subprocess.run([python, "-c", "import transformers, torch, safetensors"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return python if probe.returncode == 0 else None


class SavedModel(harness.EndToEndTest):
    def test_model_saved_before_any_step_is_the_same_bit_for_bit(self):
        for name in harness.MODELS:
            with self.subTest(name):
                reference = harness.Reference(name)
                bundle = harness.compile_bundle(
                    reference.directory, self.path(name),
                    reference_model.every_axis(name), harness.plain_recipe())
                data = reference.write_data(self.path("data.safetensors"))
                saved = self.path(name + ".saved")
                harness.train(bundle, reference.directory, data, 0,
                              f"--save={saved}")
                before = tensor_file.read_model(reference.directory)
                after = tensor_file.read_model(saved)
                self.assertEqual(sorted(before), sorted(after))
                for key in before:
                    self.assertEqual(before[key].dtype, after[key].dtype, key)
                    self.assertEqual(before[key].shape, after[key].shape, key)
                    self.assertEqual(before[key].data, after[key].data, key)
                self.assertEqual(
                    json.load(open(os.path.join(reference.directory,
                                                "config.json"))),
                    json.load(open(os.path.join(saved, "config.json"))))

    def test_saved_model_goes_on_with_another_mesh(self):
        """Two steps on one mesh, two on another: the losses of four on one
        rank."""
        for name in ("llama3-rope", "gpt2"):
            reference = harness.Reference(name)
            data = reference.write_data(self.path("data.safetensors"))
            source, options = reference.directory, []
            losses = []
            for mesh in (reference_model.every_axis(name), "pp=3,mb=2"):
                bundle = harness.compile_bundle(
                    reference.directory, self.path(f"{name}-{len(mesh)}"), mesh,
                    harness.plain_recipe())
                saved = bundle + ".saved"
                losses += harness.train(bundle, source, data, 2, *options,
                                        f"--save={saved}")
                source, options = saved, ["--resume"]
            self.assert_losses(losses, reference.numbers["adamw"]["losses"][:4],
                               name)

    def train_and_evaluate(self, name):
        """Two steps on every axis, save, and the saved model's logits of the first
        batch. Returns (saved directory, data file, logits, loss)."""
        reference = harness.Reference(name)
        bundle = harness.compile_bundle(reference.directory, self.path(name),
                                        reference_model.every_axis(name),
                                        harness.plain_recipe())
        data = reference.write_data(self.path("data.safetensors"))
        saved = self.path(name + ".saved")
        harness.train(bundle, reference.directory, data, 2, f"--save={saved}")
        evaluation = harness.compile_bundle(saved, self.path(name + ".eval"),
                                            task="eval")
        logits = self.path(name + ".logits.safetensors")
        metrics = harness.train(evaluation, saved, data, 1,
                                f"--save-logits={logits}")
        return saved, data, tensor_file.read(logits)["logits"], metrics[0]["loss"]

    def test_trained_model_gives_the_next_loss_when_it_is_read_again(self):
        reference = harness.Reference("llama")
        bundle = harness.compile_bundle(reference.directory, self.path("a"), "",
                                        harness.plain_recipe())
        data = reference.write_data(self.path("data.safetensors"))
        saved = self.path("saved")
        harness.train(bundle, reference.directory, data, 4, f"--save={saved}")
        evaluation = harness.compile_bundle(saved, self.path("eval"), task="eval")
        metrics = harness.train(evaluation, saved, data, 1)
        self.assert_close(metrics[0]["loss"],
                          reference.numbers["adamw"]["losses"][4], 1e-4,
                          "loss of the first batch after four updates")

    def test_trained_model_loads_in_its_library_with_equal_logits(self):
        python = library_python()
        if not python:
            self.skipTest("transformers is not installed; name a Python that "
                          "has it in PIPEMESH_TRANSFORMERS_PYTHON")
        for name in harness.MODELS:
            with self.subTest(name):
                saved, data, logits, _ = self.train_and_evaluate(name)
                theirs = self.path(name + ".library.safetensors")
                run = subprocess.run(
                    [python, "-c", LIBRARY_LOGITS, saved, data, theirs],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    timeout=300)
                self.assertEqual(run.returncode, 0, run.stdout)
                worst = harness.largest_difference(
                    logits, tensor_file.read(theirs)["logits"])
                self.assertLessEqual(worst, 1e-4)


if __name__ == "__main__":
    unittest.main()
