"""One reference model on every mesh: what test_reference_*.py run.

Logits, loss and gradients of the first batch, and the losses of four updates
under both optimizer settings, against what the model's own library computed in
float64.
"""

import harness
import tensor_file

MESHES = ["mb=1", "mb=2", "mb=8", "dp=2", "dp=8", "dp=2,mb=2"]


class ReferenceModelTest(harness.EndToEndTest):
    NAME = None

    @classmethod
    def setUpClass(cls):
        cls.reference = harness.Reference(cls.NAME)

    def check_gradients(self, path, mesh):
        ours = tensor_file.read(path)
        theirs = self.reference.gradients
        self.assertEqual(sorted(ours), sorted(theirs))
        largest = {name: max(abs(x) for x in tensor.values())
                   for name, tensor in theirs.items()}
        of_model = max(largest.values())
        for name in theirs:
            # A gradient that is zero in exact arithmetic is held to the size
            # of the model's.
            allowed = max(1e-5 * largest[name], 1e-7 * of_model)
            worst = harness.largest_difference(ours[name], theirs[name])
            self.assertLessEqual(worst, allowed, f"{mesh}: gradient of {name}")

    def check_plain(self, mesh):
        numbers = self.reference.numbers
        bundle = harness.compile_bundle(self.reference.directory,
                                        self.path("plain"), mesh,
                                        harness.plain_recipe())
        data = self.reference.write_data(self.path("data.safetensors"))
        gradients = self.path("gradients.safetensors")
        logits = self.path("logits.safetensors")
        metrics = harness.train(bundle, self.reference.directory, data, 5,
                                f"--save-gradients={gradients}",
                                f"--save-logits={logits}")
        first = metrics[0]
        self.assert_close(first["loss"], numbers["step0"]["loss"], 1e-5,
                          f"{mesh}, loss")
        self.assert_close(first["grad_norm"], numbers["step0"]["grad_norm"],
                          1e-5, f"{mesh}, norm of the gradient")
        self.assertEqual(first["counted_tokens"],
                         numbers["step0"]["counted_tokens"])
        worst = harness.largest_difference(tensor_file.read(logits)["logits"],
                                           self.reference.logits)
        self.assertLessEqual(worst, 1e-4, f"{mesh}: logits")
        self.check_gradients(gradients, mesh)
        self.assert_losses(metrics, numbers["adamw"]["losses"], mesh)

    def check_clipped(self, mesh):
        numbers = self.reference.numbers["adamw_clip_schedule"]
        bundle = harness.compile_bundle(self.reference.directory,
                                        self.path("clipped"), mesh,
                                        harness.clipped_recipe())
        data = self.reference.write_data(self.path("data.safetensors"))
        metrics = harness.train(bundle, self.reference.directory, data, 5)
        for step, rate in enumerate(numbers["learning_rates"]):
            self.assert_close(metrics[step]["learning_rate"], rate, 1e-9,
                              f"learning rate of step {step}")
        for step, norm in enumerate(numbers["grad_norms_before_clip"]):
            self.assert_close(metrics[step]["grad_norm"], norm, 1e-3 * norm,
                              f"{mesh}, norm of the gradient at step {step}")
        self.assert_losses(metrics, numbers["losses"], mesh)


def tests_of(name):
    """A test class for one model, with two tests for each mesh."""
    cls = type("ReferenceModel", (ReferenceModelTest,), {"NAME": name})
    for mesh in MESHES:
        suffix = mesh.replace("=", "").replace(",", "_")
        setattr(cls, f"test_numbers_of_one_step_and_losses_{suffix}",
                lambda self, mesh=mesh: self.check_plain(mesh))
        setattr(cls, f"test_losses_with_clipping_and_schedule_{suffix}",
                lambda self, mesh=mesh: self.check_clipped(mesh))
    return cls
