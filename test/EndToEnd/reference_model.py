"""One reference model on every mesh: what test_reference_*.py run.

Logits, loss and gradients of the first batch, and the losses of four updates
under both optimizer settings, against what the model's own library computed in
float64; on ranks as threads, and on ranks as processes, whose bits are those of
the threads.

The full matrix is strategies x settings x transports. Without
PIPEMESH_LONG_TESTS (tools/check --all) a covering set of it runs: every model on
half of the strategies and every strategy on half of the models, settings and
transports taking turns so that both settings meet each model and each strategy; and
the strategy of all axes with everything.
"""

import os
import tempfile

import harness
import tensor_file

RECIPES = ["plain", "clipped"]
ALL = bool(os.environ.get("PIPEMESH_LONG_TESTS"))


def tensor_parallel(name):
    """A number of ranks that divides the model's KV heads."""
    return 3 if name == "llama3-rope" else 2


def layers(name):
    return 3 if name == "llama3-rope" else 4


def every_axis(name):
    return f"dp=2,pp=2,tp={tensor_parallel(name)},mb=2"


def strategies(name):
    """Every mesh that the model is trained on."""
    tp = tensor_parallel(name)
    pipelines = ["pp=2,mb=4"] + (["pp=4,mb=2"] if layers(name) >= 4 else [])
    return (["mb=1", "mb=8", "dp=2", "dp=8", "dp=2,mb=2", "dp=2,mb=4",
             f"tp={tp}", f"tp={2 * tp}", f"dp=2,tp={tp}", "dp=2,zero=1",
             "dp=8,zero=3", f"tp={tp},sp=1", f"dp=2,tp={tp},mb=2,zero=1,sp=1"] +
            [f"{pipeline},schedule={schedule}" for pipeline in
             pipelines + [every_axis(name)] for schedule in ("gpipe", "1f1b")])


def cases(name):
    """(strategy, recipe, transport, whether it is in the covering set)."""
    model = harness.MODELS.index(name)
    for s, strategy in enumerate(strategies(name)):
        ranks = any(axis in strategy for axis in ("dp=", "tp=", "pp="))
        for r, recipe in enumerate(RECIPES):
            for transport in harness.TRANSPORTS if ranks else ["threads"]:
                turn = (model + s) % 6
                chosen = (model + s // 2) % 2 == 0 and r == turn // 2 % 2 and \
                    transport == ("mpi" if turn >= 4 and ranks else "threads")
                if strategy.startswith(every_axis(name)):
                    chosen = strategy.endswith("1f1b") or chosen
                yield strategy, recipe, transport, chosen


class Run:
    """Five steps of a bundle: the metrics, and the tensors that pmrun saved."""

    def __init__(self, bundle, weights, data, transport, *options):
        scratch = tempfile.TemporaryDirectory()
        gradients, logits, saved = (os.path.join(scratch.name, name) for name in (
            "gradients.safetensors", "logits.safetensors", "saved"))
        options += (f"--save-gradients={gradients}", f"--save-logits={logits}",
                    f"--save={saved}")
        if transport != "threads":
            options += (f"--transport={transport}",)
        with scratch:
            self.metrics = harness.train(bundle, weights, data, 5, *options)
            self.gradients = tensor_file.read(gradients)
            self.logits = tensor_file.read(logits)
            self.weights = tensor_file.read_model(saved)
            self.moments = tensor_file.read(
                os.path.join(saved, "optimizer.safetensors"))

    def assert_same_bits(self, test, other, what):
        test.assert_same_metrics(self.metrics, other.metrics, what)
        for name in ("gradients", "logits", "weights", "moments"):
            test.assert_same_bits(getattr(self, name), getattr(other, name),
                                  f"{what}: {name}")


class ReferenceModelTest(harness.EndToEndTest):
    NAME = None

    @classmethod
    def setUpClass(cls):
        cls.reference = harness.Reference(cls.NAME)

    def check_gradients(self, ours, mesh):
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

    def check_plain(self, run, mesh):
        numbers = self.reference.numbers
        first = run.metrics[0]
        self.assert_close(first["loss"], numbers["step0"]["loss"], 1e-5,
                          f"{mesh}, loss")
        self.assert_close(first["grad_norm"], numbers["step0"]["grad_norm"],
                          1e-5, f"{mesh}, norm of the gradient")
        self.assertEqual(first["counted_tokens"],
                         numbers["step0"]["counted_tokens"])
        worst = harness.largest_difference(run.logits["logits"],
                                           self.reference.logits)
        self.assertLessEqual(worst, 1e-4, f"{mesh}: logits")
        self.check_gradients(run.gradients, mesh)
        self.assert_losses(run.metrics, numbers["adamw"]["losses"], mesh)

    def check_clipped(self, run, mesh):
        numbers = self.reference.numbers["adamw_clip_schedule"]
        for step, rate in enumerate(numbers["learning_rates"]):
            self.assert_close(run.metrics[step]["learning_rate"], rate, 1e-9,
                              f"learning rate of step {step}")
        for step, norm in enumerate(numbers["grad_norms_before_clip"]):
            self.assert_close(run.metrics[step]["grad_norm"], norm, 1e-3 * norm,
                              f"{mesh}, norm of the gradient at step {step}")
        self.assert_losses(run.metrics, numbers["losses"], mesh)

    def check(self, strategy, recipe, transport, *options):
        harness.needs(transport)
        settings = {"plain": harness.plain_recipe,
                    "clipped": harness.clipped_recipe}[recipe]()
        bundle = harness.compile_bundle(self.reference.directory,
                                        self.path("bundle"), strategy, settings)
        data = self.reference.write_data(self.path("data.safetensors"))
        run = Run(bundle, self.reference.directory, data, transport, *options)
        mesh = f"{strategy} on {transport}"
        getattr(self, f"check_{recipe}")(run, mesh)
        if transport != "threads":
            threads = Run(bundle, self.reference.directory, data, "threads",
                          *options)
            run.assert_same_bits(self, threads, f"{mesh} and threads")


def tests_of(name):
    """A test class for one model, with a test for each case."""
    cls = type("ReferenceModel", (ReferenceModelTest,), {"NAME": name})
    for strategy, recipe, transport, chosen in cases(name):
        if not (chosen or ALL):
            continue
        mesh = strategy.replace("=", "").replace(",", "_")
        setattr(cls, f"test_{mesh}_{recipe}_{transport}",
                lambda self, case=(strategy, recipe, transport):
                self.check(*case))
    return cls


def left_to_all(name):
    """How many tests of the model only run with tools/check --all."""
    return 0 if ALL else sum(not chosen for *_, chosen in cases(name))
