"""What holds of training on any mesh: repeatable bits, poisoned memory, tokens
that are not counted, frozen parameters, data files and recipes at run time."""

import array
import json
import os
import unittest

import harness
import tensor_file


EVERY_AXIS = "dp=2,pp=2,tp=2,mb=2"


class Training(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.reference = harness.Reference("llama")
        self.model = self.reference.directory
        self.data = self.reference.write_data(self.path("data.safetensors"))

    def bundle(self, name, strategy="", recipe=None, **options):
        return harness.compile_bundle(self.model, self.path(name), strategy,
                                      recipe or harness.plain_recipe(), **options)

    def gradients_and_metrics(self, bundle, steps=2, data=None, options=()):
        path = self.path("gradients.safetensors")
        metrics = harness.train(bundle, self.model, data or self.data, steps,
                                f"--save-gradients={path}", *options)
        return tensor_file.read(path), metrics

    def assert_same_bits(self, first, second):
        (gradients_a, metrics_a), (gradients_b, metrics_b) = first, second
        self.assertEqual(sorted(gradients_a), sorted(gradients_b))
        for name in gradients_a:
            self.assertEqual(gradients_a[name].data, gradients_b[name].data, name)
        for key in ("loss", "grad_norm"):
            self.assertEqual([step[key] for step in metrics_a],
                             [step[key] for step in metrics_b])

    def test_two_runs_give_the_same_bits(self):
        bundle = self.bundle("b", "dp=2,mb=2")
        self.assert_same_bits(self.gradients_and_metrics(bundle),
                              self.gradients_and_metrics(bundle))

    def test_poisoned_memory_changes_nothing(self):
        bundle = self.bundle("b", "dp=2,mb=2")
        self.assert_same_bits(
            self.gradients_and_metrics(bundle),
            self.gradients_and_metrics(bundle, options=["--poison"]))

    def with_labels(self, name, counted):
        """The first batch with labels only where counted(sequence, position)."""
        one = harness.BATCH * harness.SEQUENCE
        ids = list(self.reference.input_ids.values()[:one])
        labels = [ids[i] if counted(i // harness.SEQUENCE, i % harness.SEQUENCE)
                  else -100 for i in range(one)]
        return harness.write_ids(self.path(name + ".safetensors"), ids,
                                 [1, harness.BATCH, harness.SEQUENCE], labels)

    def assert_meshes_agree(self, data, counted):
        one_rank = self.gradients_and_metrics(self.bundle("one"), 1, data)
        self.assertEqual(one_rank[1][0]["counted_tokens"], counted)
        for mesh in ("mb=8", "dp=8", "dp=2,mb=2", "tp=4", "pp=2,mb=4", EVERY_AXIS):
            gradients, metrics = self.gradients_and_metrics(
                self.bundle(mesh.replace(",", "_"), mesh), 1, data)
            self.assertEqual(metrics[0]["counted_tokens"], counted)
            self.assert_close(metrics[0]["loss"], one_rank[1][0]["loss"], 1e-5,
                              f"{mesh}, loss")
            largest = max(max(abs(x) for x in tensor.values())
                          for tensor in one_rank[0].values())
            for name, tensor in gradients.items():
                worst = harness.largest_difference(tensor, one_rank[0][name])
                self.assertLessEqual(worst, 1e-5 * largest, f"{mesh}, {name}")

    def test_ranks_with_unequal_counts_of_tokens_agree_with_one_rank(self):
        data = self.with_labels(
            "unequal", lambda sequence, position: position <= 2 * sequence)
        counted = sum(1 for s in range(harness.BATCH)
                      for p in range(1, harness.SEQUENCE) if p <= 2 * s)
        self.assert_meshes_agree(data, counted)

    def test_only_one_sequence_with_counted_tokens(self):
        data = self.with_labels("one", lambda sequence, _: sequence == 5)
        self.assert_meshes_agree(data, harness.SEQUENCE - 1)

    def test_no_counted_token_at_all(self):
        data = self.with_labels("none", lambda *_: False)
        for mesh in ("", "dp=2,mb=2", EVERY_AXIS):
            gradients, metrics = self.gradients_and_metrics(
                self.bundle(f"none{len(mesh)}", mesh), 1, data)
            self.assertEqual(metrics[0]["loss"], 0.0)
            self.assertEqual(metrics[0]["counted_tokens"], 0)
            for name, tensor in gradients.items():
                self.assertTrue(all(x == 0.0 for x in tensor.values()), name)

    def test_no_labels_mean_the_input_ids(self):
        one = harness.BATCH * harness.SEQUENCE
        ids = list(self.reference.input_ids.values()[:one])
        shape = [1, harness.BATCH, harness.SEQUENCE]
        bundle = self.bundle("b")
        without = harness.write_ids(self.path("without.safetensors"), ids, shape)
        explicit = harness.write_ids(self.path("with.safetensors"), ids, shape, ids)
        self.assert_same_bits(self.gradients_and_metrics(bundle, 1, without),
                              self.gradients_and_metrics(bundle, 1, explicit))

    def test_frozen_parameters_stay_and_have_no_gradient(self):
        recipe = dict(harness.plain_recipe(),
                      trainable=["model.layers.1.*", "lm_head.weight"])
        for mesh in ("dp=2", EVERY_AXIS):
            with self.subTest(mesh):
                self.check_frozen(self.bundle(f"b{len(mesh)}", mesh, recipe))

    def check_frozen(self, bundle):
        saved = bundle + ".saved"
        gradients, _ = self.gradients_and_metrics(
            bundle, 2, options=[f"--save={saved}"])
        before = tensor_file.read_model(self.model)
        after = tensor_file.read_model(saved)
        trainable = {name for name in before if name == "lm_head.weight" or
                     name.startswith("model.layers.1.")}
        self.assertEqual(set(gradients), trainable)
        for name in before:
            same = before[name].data == after[name].data
            self.assertEqual(same, name not in trainable, name)
        full = self.reference.gradients
        for name, tensor in gradients.items():
            largest = max(abs(x) for x in full[name].values())
            self.assertLessEqual(
                harness.largest_difference(tensor, full[name]), 2e-5 * largest)

    def test_text_and_token_files_give_the_same_batches(self):
        """A text's bytes, the same as 16-bit and 32-bit ids, and the windows
        written out."""
        text = bytes((i * 37 + i // 7) % 256 for i in range(2 * 8 * 21 + 5))
        with open(self.path("data.txt"), "wb") as file:
            file.write(text)
        for suffix, code in (("u16", "H"), ("u32", "I")):
            with open(self.path("data." + suffix), "wb") as file:
                file.write(array.array(code, list(text)).tobytes())
        bundle = self.bundle("b")
        losses = []
        for suffix in ("txt", "u16", "u32"):
            metrics = harness.train(bundle, self.model,
                                    self.path("data." + suffix), 2)
            self.assertTrue(all(step["counted_tokens"] ==
                                harness.BATCH * harness.SEQUENCE
                                for step in metrics), metrics)
            losses.append([step["loss"] for step in metrics])
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[0], losses[2])
        # Each window of 21 is 20 inputs and 20 targets: a sequence of 21 with
        # the labels shifted inside counts the same.
        wide = self.bundle("wide", sequence=harness.SEQUENCE + 1)
        path = harness.write_ids(self.path("windows.safetensors"),
                                 list(text[:2 * 8 * 21]), [2, 8, 21])
        for ours, theirs in zip(losses[0],
                                harness.train(wide, self.model, path, 2)):
            self.assert_close(ours, theirs["loss"], 1e-5, "loss")

    def test_numbers_of_the_recipe_are_given_at_run_time(self):
        bundle = self.bundle("b", "dp=2")
        recipe = harness.write_json(
            self.path("other.json"),
            dict(harness.plain_recipe(), learning_rate=[0.02, 0.0],
                 weight_decay=0.0))
        metrics = harness.train(bundle, self.model, self.data, 2,
                                f"--recipe={recipe}")
        self.assertEqual([step["learning_rate"] for step in metrics],
                         [0.02, 0.0])
        other = self.bundle("c", "dp=2", dict(harness.plain_recipe(),
                                              learning_rate=[0.02, 0.0],
                                              weight_decay=0.0))
        again = harness.train(other, self.model, self.data, 2)
        self.assertEqual([step["loss"] for step in metrics],
                         [step["loss"] for step in again])

    def test_metrics_have_every_field(self):
        metrics = harness.train(self.bundle("b"), self.model, self.data, 1)
        for field in ("step", "loss", "grad_norm", "learning_rate",
                      "counted_tokens", "step_ms", "tokens_per_s"):
            self.assertIn(field, metrics[0])

    def test_trace_is_one_that_perfetto_reads(self):
        trace = self.path("trace.json")
        harness.train(self.bundle("b", "dp=2,mb=2"), self.model, self.data, 2,
                      f"--trace={trace}")
        with open(trace) as file:
            content = json.load(file)
        events = content["traceEvents"] if isinstance(content, dict) else content
        spans = [event for event in events if event.get("ph") == "X"]
        self.assertTrue(spans)
        self.assertTrue(all("ts" in event and "dur" in event and "name" in event
                            for event in spans))

    def test_evaluation_gives_the_loss_alone(self):
        for mesh in ("", "dp=2,mb=2", EVERY_AXIS):
            bundle = harness.compile_bundle(self.model,
                                            self.path(f"eval{len(mesh)}"), mesh,
                                            task="eval")
            metrics = harness.train(bundle, self.model, self.data, 2)
            self.assert_close(metrics[0]["loss"],
                              self.reference.numbers["step0"]["loss"], 1e-5,
                              f"{mesh}, loss")
            with open(os.path.join(bundle, "manifest.json")) as file:
                manifest = json.load(file)
            self.assertEqual(manifest["task"], "eval")


if __name__ == "__main__":
    unittest.main()
