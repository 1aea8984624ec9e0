"""Every reference model on shapes that divide nothing: heads over tp that stay together
by groups, ranks without a head, a vocabulary and columns with short blocks, batches over
dp and mb with fewer rows on the last and with none, a sequence in pieces of unequal
length, parameters and moments in pieces that are short. Losses, logits and gradients
are those of the models' own library, although what lies behind each end is poisoned.

Without PIPEMESH_LONG_TESTS (tools/check --all) each strategy is tested on one model."""

import unittest

import harness
import reference_model

# Of 8 rows of 20 tokens, 4 query and 2 key-value heads (llama3-rope: 6 and 3, and 253
# tokens; gpt2: 4 and 4, and 257 tokens), 64 or 72 columns (gpt2: 128).
STRATEGIES = [
    "tp=3",                  # two groups on three ranks; 253 tokens as 85 + 85 + 83
    "tp=2,sp=1",             # three groups as 2 + 1
    "tp=4,sp=1",             # more ranks than groups
    "dp=3",                  # 3 + 3 + 2 rows
    "dp=5,zero=1",           # 2 + 2 + 2 + 2 + 0 rows
    "dp=3,zero=3",
    "dp=2,mb=3",             # 2 + 2 + 2 and 2 + 0 + 0 rows
    "dp=3,tp=3,zero=3,sp=1",
    "dp=3,pp=2,tp=3,mb=2",
    "tp=3,dp=2,mb=3,zero=1,schedule=gpipe",
]


def cases():
    """(model, strategy, recipe, transport, whether it is tested without --all)."""
    for s, strategy in enumerate(STRATEGIES):
        for m, model in enumerate(harness.MODELS):
            turn = (m - s) % len(harness.MODELS)
            yield (model, strategy, reference_model.RECIPES[(m + s) % 2],
                   "mpi" if s % 5 == 4 and turn == 0 else "threads", turn == 0)


class Uneven(reference_model.ReferenceModelTest):
    NAME = "llama"

    def check_case(self, model, strategy, recipe, transport):
        self.reference = harness.Reference(model)
        self.check(strategy, recipe, transport, "--poison")

    def test_empty_parts_are_told(self):
        """What leaves ranks idle is compiled, with a warning."""
        model = harness.Reference("llama3-rope").directory
        for strategy, texts in (
                ("tp=4", ["tp=4 leaves 1 of 4 ranks without a part of this "
                          "attention", "3 key-value heads"]),
                ("dp=5", ["dp=5 leaves 1 of 5 ranks without a row", "takes 2"]),
                ("mb=5", ["mb=5 leaves 1 of 5 micro-batches without a row"])):
            with self.subTest(strategy):
                result = harness.execute(
                    "pmc", model, "--batch=8", "--sequence=20",
                    f"--strategy={strategy}", "--emit=sharded", "-o",
                    self.path("out.mlir"))
                self.assertEqual(result.returncode, 0, result.stderr)
                for text in texts:
                    self.assertIn(text, result.stderr)


def add_tests():
    for model, strategy, recipe, transport, chosen in cases():
        if not (chosen or reference_model.ALL):
            continue
        name = "_".join([model, strategy, recipe, transport])
        for sign in "=,-":
            name = name.replace(sign, "_" if sign != "=" else "")
        setattr(Uneven, f"test_{name}",
                lambda self, case=(model, strategy, recipe, transport):
                self.check_case(*case))


add_tests()
LEFT_TO_ALL = 0 if reference_model.ALL else sum(
    not chosen for *_, chosen in cases())

if __name__ == "__main__":
    unittest.main()
