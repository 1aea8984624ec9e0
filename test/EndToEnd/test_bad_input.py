"""Bad input ends in one line that names the thing and the value, with a status
other than zero and nothing half-written."""

import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import harness
import tensor_file


class BadInputTest(harness.EndToEndTest):
    """A copy of the llama reference model that a test may damage."""

    def setUp(self):
        super().setUp()
        self.reference = harness.Reference("llama")
        self.model = self.path("model")
        os.mkdir(self.model)
        for name in ("config.json", "model.safetensors"):
            shutil.copyfile(os.path.join(self.reference.directory, name),
                            os.path.join(self.model, name))
        self.weights = os.path.join(self.model, "model.safetensors")

    def change_config(self, **fields):
        path = os.path.join(self.model, "config.json")
        with open(path) as file:
            config = json.load(file)
        config.update(fields)
        harness.write_json(path, {k: v for k, v in config.items() if v != "gone"})

    def change_weights(self, change):
        """Rewrites the weights; change(name, dtype, shape, data) returns the
        new tuple, or None to leave the tensor out."""
        entries = [change(name, t.dtype, t.shape, t.data)
                   for name, t in tensor_file.read(self.weights).items()]
        tensor_file.write(self.weights, [e for e in entries if e], {"format": "pt"})


class BadModel(BadInputTest):
    """What pmimport, and pmc given a model directory, refuse."""

    def refused_model(self, *expected):
        out = self.path("out.mlir")
        self.refused(expected, "pmimport", self.model, "--task=train",
                     "--batch=8", "--sequence=20", "-o", out)
        self.assertFalse(os.path.exists(out), "half-written module")
        bundle = self.path("bundle")
        self.refused(expected, "pmc", self.model, "--task=train", "--batch=8",
                     "--sequence=20", "-o", bundle)
        self.assertFalse(os.path.exists(bundle), "half-written bundle")

    def test_no_directory(self):
        shutil.rmtree(self.model)
        self.refused_model(self.model)

    def test_no_config(self):
        os.remove(os.path.join(self.model, "config.json"))
        self.refused_model("config.json")

    def test_config_that_is_not_json(self):
        with open(os.path.join(self.model, "config.json"), "w") as file:
            file.write('{"model_type": "llama", ')
        self.refused_model("config.json")

    def test_config_nested_too_deeply(self):
        with open(os.path.join(self.model, "config.json"), "w") as file:
            file.write('{"a":' * 100000)
        self.refused_model("config.json")

    def test_unknown_architecture(self):
        self.change_config(model_type="bloom", architectures=["BloomForCausalLM"])
        self.refused_model("bloom")

    def test_missing_field(self):
        self.change_config(hidden_size="gone")
        self.refused_model("hidden_size")

    def test_field_of_another_type(self):
        self.change_config(num_hidden_layers="four")
        self.refused_model("num_hidden_layers")

    def test_number_that_cannot_be(self):
        for field, value in (("num_hidden_layers", -1), ("vocab_size", 0),
                             ("hidden_size", 2 ** 62)):
            with self.subTest(field):
                self.change_config(num_hidden_layers=4, vocab_size=256,
                                   hidden_size=32)
                self.change_config(**{field: value})
                self.refused_model(field, str(value))

    def test_heads_that_do_not_divide(self):
        self.change_config(num_key_value_heads=3)
        self.refused_model("num_key_value_heads", "3", "4")

    def test_activation_that_is_not_known(self):
        self.change_config(hidden_act="swishy")
        self.refused_model("hidden_act", "swishy")

    def test_rope_scaling_that_is_not_known(self):
        self.change_config(rope_parameters={"rope_type": "spiral",
                                            "rope_theta": 10000.0, "factor": 2.0})
        self.refused_model("spiral")

    def test_quantised_weights(self):
        self.change_config(quantization_config={"quant_method": "fp8"})
        self.refused_model("quantization_config")

    def test_no_weights(self):
        os.remove(self.weights)
        self.refused_model("model.safetensors")

    def test_truncated_weights(self):
        whole = open(self.weights, "rb").read()
        for length in (0, 4, 100, len(whole) - 1):
            with self.subTest(length=length):
                with open(self.weights, "wb") as file:
                    file.write(whole[:length])
                self.refused_model("model.safetensors")

    def test_header_that_lies_about_its_length(self):
        whole = open(self.weights, "rb").read()
        for length in (2 ** 63, 2 ** 40, len(whole)):
            with self.subTest(length=length):
                with open(self.weights, "wb") as file:
                    file.write(struct.pack("<Q", length) + whole[8:])
                self.refused_model("model.safetensors")

    def test_header_that_is_not_json(self):
        with open(self.weights, "wb") as file:
            file.write(struct.pack("<Q", 4) + b"{{{{")
        self.refused_model("model.safetensors")

    def test_tensor_that_is_missing(self):
        gone = "model.layers.2.mlp.up_proj.weight"
        self.change_weights(lambda name, *rest:
                            None if name == gone else (name, *rest))
        self.refused_model(gone)

    def test_tensor_of_another_shape(self):
        wrong = "model.layers.2.mlp.up_proj.weight"
        self.change_weights(
            lambda name, dtype, shape, data:
            (name, dtype, shape[::-1] if name == wrong else shape, data))
        self.refused_model(wrong, "32", "64")

    def test_tensor_of_another_type(self):
        wrong = "model.norm.weight"
        self.change_weights(
            lambda name, dtype, shape, data:
            (name, "I32" if name == wrong else dtype, shape, data))
        self.refused_model(wrong, "I32")

    def test_index_that_names_a_missing_file(self):
        os.remove(self.weights)
        names = self.reference.gradients
        harness.write_json(self.weights + ".index.json", {
            "metadata": {},
            "weight_map": {name: "model-00001-of-00001.safetensors"
                           for name in names}})
        self.refused_model("model-00001-of-00001.safetensors")


class ShardedModel(BadInputTest):
    def test_weights_in_two_files_with_an_index(self):
        tensors = tensor_file.read(self.weights)
        os.remove(self.weights)
        names = sorted(tensors)
        places = {name: f"model-0000{1 + i % 2}-of-00002.safetensors"
                  for i, name in enumerate(names)}
        for file in sorted(set(places.values())):
            tensor_file.write(
                os.path.join(self.model, file),
                [(n, tensors[n].dtype, tensors[n].shape, tensors[n].data)
                 for n in names if places[n] == file], {"format": "pt"})
        harness.write_json(self.weights + ".index.json",
                           {"metadata": {}, "weight_map": places})
        bundle = harness.compile_bundle(self.model, self.path("b"), "dp=2",
                                        harness.plain_recipe())
        data = self.reference.write_data(self.path("data.safetensors"))
        metrics = harness.train(bundle, self.model, data, 1)
        self.assert_close(metrics[0]["loss"],
                          self.reference.numbers["step0"]["loss"], 1e-5, "loss")


class BadCompilation(BadInputTest):
    """What pmc refuses of its options, strategy and recipe."""

    def refused_pmc(self, expected, *options, recipe=None):
        bundle = self.path("bundle")
        if recipe is not None:
            options += ("--recipe=" +
                        harness.write_json(self.path("recipe.json"), recipe),)
        defaults = [option for option in ("--task=train", "--batch=8",
                                          "--sequence=20")
                    if not any(given.startswith(option.split("=")[0] + "=")
                               for given in options)]
        self.refused(expected, "pmc", self.model, *defaults, *options, "-o",
                     bundle)
        self.assertFalse(os.path.exists(bundle), "half-written bundle")

    def test_strategy_with_an_unknown_axis(self):
        self.refused_pmc(["zz"], "--strategy=zz=2")

    def test_strategy_that_is_not_one(self):
        for strategy in ("dp", "dp=", "dp=0", "dp=-2", "dp=two", "dp=2,dp=2"):
            with self.subTest(strategy):
                self.refused_pmc(["dp"], f"--strategy={strategy}")

    def test_schedule_that_is_not_known(self):
        self.refused_pmc(["zigzag", "1f1b", "gpipe"],
                         "--strategy=pp=2,mb=2,schedule=zigzag")

    def test_strategies_of_later_versions(self):
        for strategy, word in (("ep=2", "ep"), ("cp=2", "cp")):
            with self.subTest(strategy):
                self.refused_pmc([f"'{word}' is", "of a later version"],
                                 f"--strategy=dp=2,{strategy}")

    def test_stages_and_recompute_that_do_not_fit(self):
        self.refused_pmc(["4 layers", "stages=2 divides 2", "stages=4"],
                         "--strategy=dp=2,stages=2")
        self.refused_pmc(["'recompute' must be none or full", "'1'"],
                         "--strategy=dp=2,recompute=1")

    def test_zero_and_sp_have_their_values(self):
        self.refused_pmc(["zero=2", "of a later version", "0, 1", "3"],
                         "--strategy=dp=2,zero=2")
        self.refused_pmc(["'zero' must be 0, 1", "'4'"], "--strategy=dp=2,zero=4")
        self.refused_pmc(["'zero' is given twice"],
                         "--strategy=dp=2,zero=1,zero=3")
        self.refused_pmc(["'sp' must be 0 or 1", "'2'"], "--strategy=tp=2,sp=2")

    def test_tensor_parallel_sizes_that_cannot_be(self):
        for strategy in ("tp", "tp=0", "tp=-1", "tp=two", "tp=2,tp=2"):
            with self.subTest(strategy):
                self.refused_pmc(["tp"], f"--strategy={strategy}")

    def test_tensor_parallel_sizes_that_do_not_fit_the_heads(self):
        """Each is refused with the sizes that work: four and six query heads."""
        for tp in (5, 8):
            with self.subTest(tp):
                self.refused_pmc([f"tp={tp}", "4 query heads", "1 to 4"],
                                 f"--strategy=tp={tp}")
        self.model = harness.Reference("llama3-rope").directory
        self.refused_pmc(["tp=7", "6 query heads", "1 to 6"], "--strategy=tp=7")

    def test_more_stages_than_layers(self):
        self.refused_pmc(["4 layers", "5 pipeline stages", "1 to 4"],
                         "--strategy=pp=5,mb=2")
        self.model = harness.Reference("llama3-rope").directory
        self.refused_pmc(["3 layers", "4 pipeline stages", "1 to 3"],
                         "--strategy=pp=4,mb=2")

    def test_batch_of_fewer_rows_than_parts(self):
        self.refused_pmc(["batch of 8", "dp=9", "1 to 8"], "--strategy=dp=9")
        self.refused_pmc(["batch of 8", "dp=3 times mb=3 = 9"],
                         "--strategy=dp=3,mb=3")
        self.refused_pmc(["batch of 8", "16", "1 to 8"],
                         "--strategy=dp=2,pp=2,tp=2,mb=8")

    def test_sequence_beyond_the_positions_of_gpt2(self):
        self.model = harness.Reference("gpt2").directory
        self.refused_pmc(["n_positions", "32", "33"], "--sequence=33")

    def test_sizes_that_cannot_be(self):
        for option in ("--batch=0", "--batch=-1", "--sequence=0"):
            with self.subTest(option):
                self.refused_pmc([option.split("=")[0].strip("-")], option)

    def test_task_that_is_not_known(self):
        self.refused_pmc(["dream"], "--task=dream")

    def test_recipe_with_an_unknown_key(self):
        self.refused_pmc(["momentum"],
                         recipe=dict(harness.plain_recipe(), momentum=0.9))

    def test_recipe_with_a_wrong_value(self):
        for key, value in (("optimizer", "lion"), ("decay", "some"),
                           ("betas", [0.9]), ("betas", [0.9, 1.5]),
                           ("epsilon", -1), ("clip_norm", 0),
                           ("learning_rate", "high"),
                           ("learning_rate", {"schedule": "linear"}),
                           ("trainable", "lm_head.weight")):
            with self.subTest(key=key, value=value):
                self.refused_pmc([key],
                                 recipe=dict(harness.plain_recipe(),
                                             **{key: value}))

    def test_trainable_pattern_that_matches_nothing(self):
        self.refused_pmc(["model.layer.1.*"],
                         recipe=dict(harness.plain_recipe(),
                                     trainable=["model.layer.1.*"]))

    def test_recipe_that_is_missing_or_not_json(self):
        self.refused_pmc(["no-recipe.json"],
                         "--recipe=" + self.path("no-recipe.json"))
        with open(self.path("bad.json"), "w") as file:
            file.write("{")
        self.refused_pmc(["bad.json"], "--recipe=" + self.path("bad.json"))


class BadRun(BadInputTest):
    """What pmrun refuses of bundles, weights, data and recipes."""

    @classmethod
    def setUpClass(cls):
        compiled = tempfile.TemporaryDirectory()
        cls.addClassCleanup(compiled.cleanup)
        cls.compiled = harness.compile_bundle(
            harness.Reference("llama").directory,
            os.path.join(compiled.name, "bundle"), "dp=2",
            harness.plain_recipe())

    def setUp(self):
        super().setUp()
        self.bundle = shutil.copytree(self.compiled, self.path("bundle"))
        self.data = self.reference.write_data(self.path("data.safetensors"))

    def refused_run(self, *expected, data=None, weights=None, steps=1,
                    options=()):
        before = sorted(os.listdir(self.scratch))
        line = self.refused(
            expected, "pmrun", self.bundle,
            f"--weights={weights or self.model}", f"--data={data or self.data}",
            f"--steps={steps}", f"--save={self.path('saved')}", *options)
        self.assertEqual(sorted(os.listdir(self.scratch)), before,
                         "something half-written was left")
        return line

    def ids(self, name, values, shape):
        return harness.write_ids(self.path(name), values, shape)

    def change_manifest(self, **fields):
        path = os.path.join(self.bundle, "manifest.json")
        with open(path) as file:
            manifest = json.load(file)
        manifest.update(fields)
        harness.write_json(path, manifest)
        return manifest

    def test_no_bundle(self):
        shutil.rmtree(self.bundle)
        self.refused_run(self.bundle)

    def test_bundle_without_its_manifest(self):
        os.remove(os.path.join(self.bundle, "manifest.json"))
        self.refused_run("manifest.json")

    def test_bundle_without_its_role(self):
        os.remove(os.path.join(self.bundle, "role_0.so"))
        self.refused_run("role_0.so")

    def test_role_that_is_not_a_shared_object(self):
        with open(os.path.join(self.bundle, "role_0.so"), "wb") as file:
            file.write(b"no ELF file")
        self.refused_run("role_0.so")

    def test_bundle_of_another_version(self):
        for field in ("version", "abi"):
            with self.subTest(field):
                self.change_manifest(version=1, abi=1)
                self.change_manifest(**{field: 99})
                self.refused_run(field, "99")

    def test_bundle_of_another_cpu(self):
        with open(os.path.join(self.bundle, "manifest.json")) as file:
            target = json.load(file)["target"]
        self.change_manifest(target=dict(
            target, features=target["features"] + ["+telepathy"]))
        self.refused_run("telepathy")

    def test_bundle_whose_role_is_of_another_compilation(self):
        self.change_manifest(hash="0123456789abcdef")
        self.refused_run("0123456789abcdef")

    def test_manifest_that_is_not_json(self):
        path = os.path.join(self.bundle, "manifest.json")
        whole = open(path).read()
        for text in ("", "[]", whole[:len(whole) // 2], "[" * 100000):
            with self.subTest(text[:20]):
                with open(path, "w") as file:
                    file.write(text)
                self.refused_run("manifest.json")

    def test_manifest_whose_parameter_has_another_shape_than_its_buffer(self):
        with open(os.path.join(self.bundle, "manifest.json")) as file:
            parameters = json.load(file)["parameters"]
        parameters[0]["shape"] = [255, 32]
        self.change_manifest(parameters=parameters)
        self.refused_run(parameters[0]["name"], "255", "256")

    def test_missing_weights(self):
        os.remove(self.weights)
        self.refused_run("model.safetensors")

    def test_truncated_weights(self):
        whole = open(self.weights, "rb").read()
        with open(self.weights, "wb") as file:
            file.write(whole[:len(whole) - 100])
        self.refused_run("model.safetensors")

    def test_weights_of_another_shape(self):
        wrong = "model.layers.2.mlp.up_proj.weight"
        self.change_weights(
            lambda name, dtype, shape, data:
            (name, dtype, shape[::-1] if name == wrong else shape, data))
        self.refused_run(wrong, "32", "64")

    def test_weights_of_another_type(self):
        wrong = "model.norm.weight"
        self.change_weights(
            lambda name, dtype, shape, data:
            (name, "I32" if name == wrong else dtype, shape, data))
        self.refused_run(wrong, "I32")

    def test_missing_data(self):
        self.refused_run("no-data.txt", data=self.path("no-data.txt"))

    def test_data_of_an_unknown_kind(self):
        path = self.path("data.csv")
        shutil.copyfile(self.data, path)
        self.refused_run("data.csv", data=path)

    def test_data_with_another_shape(self):
        self.refused_run("input_ids", "4",
                         data=self.ids("a.safetensors", [1] * 80, [1, 4, 20]))
        self.refused_run("input_ids", "10",
                         data=self.ids("b.safetensors", [1] * 80, [1, 8, 10]))

    def test_data_without_ids(self):
        path = self.path("data.safetensors")
        tensor_file.write(path, [("tokens", "I32", [1, 8, 20], bytes(640))])
        self.refused_run("input_ids", data=path)

    def test_ids_beyond_the_vocabulary(self):
        values = [1] * 160
        for value in (256, -1):
            values[77] = value
            self.refused_run(str(value), "256" if value < 0 else "vocabulary",
                             data=self.ids("ids.safetensors", values, [1, 8, 20]))

    def test_data_that_ends_early_stops_the_run_with_a_message(self):
        result = harness.execute("pmrun", self.bundle,
                                 f"--weights={self.model}",
                                 f"--data={self.data}", "--steps=6")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the data ends after 5 steps", result.stderr)

    def test_text_that_is_too_short(self):
        path = self.path("short.txt")
        with open(path, "w") as file:
            file.write("In the beginning")
        self.refused_run("short.txt", data=path)

    def test_recipe_that_differs_in_what_is_compiled_in(self):
        for key, value in (("decay", "matrices"), ("clip_norm", 0.5),
                           ("trainable", ["lm_head.weight"])):
            with self.subTest(key):
                recipe = harness.write_json(
                    self.path("recipe.json"),
                    dict(harness.plain_recipe(), **{key: value}))
                self.refused_run(key, options=[f"--recipe={recipe}"])

    def test_recipe_with_an_unknown_key(self):
        recipe = harness.write_json(self.path("recipe.json"),
                                    dict(harness.plain_recipe(), momentum=0.9))
        self.refused_run("momentum", options=[f"--recipe={recipe}"])

    def test_too_few_learning_rates(self):
        recipe = harness.write_json(
            self.path("recipe.json"),
            dict(harness.plain_recipe(), learning_rate=[0.1, 0.1]))
        self.refused_run("learning_rate", "2", steps=3,
                         options=[f"--recipe={recipe}"])

    def test_loss_that_is_not_a_number(self):
        """A weight that is NaN: the step and the parameter are named, and what
        was saved before stays."""
        saved = self.path("saved")
        harness.train(self.bundle, self.model, self.data, 0, f"--save={saved}")
        before = open(os.path.join(saved, "model.safetensors"), "rb").read()
        poisoned = "model.layers.1.mlp.up_proj.weight"
        self.change_weights(
            lambda name, dtype, shape, data:
            (name, dtype, shape, struct.pack("<f", float("nan")) + data[4:]
             if name == poisoned else data))
        self.refused_run("step 0", poisoned)
        after = open(os.path.join(saved, "model.safetensors"), "rb").read()
        self.assertEqual(before, after)

    def test_loss_that_grows_without_bound_is_stopped(self):
        recipe = harness.write_json(
            self.path("recipe.json"),
            dict(harness.plain_recipe(), learning_rate=1e30))
        line = self.refused_run("step", steps=4, options=[f"--recipe={recipe}"])
        self.assertIn("nan", line.lower())

    def test_unknown_option(self):
        self.refused_run("--frobnicate", options=["--frobnicate"])


class BadLaunch(BadInputTest):
    """What ranks in processes of their own refuse, and how such a job ends when
    one of them dies."""

    def setUp(self):
        super().setUp()
        harness.needs("mpi")
        self.data = self.reference.write_data(self.path("data.safetensors"))

    def compile(self, name, strategy, **recipe):
        return harness.compile_bundle(self.model, self.path(name), strategy,
                                      dict(harness.plain_recipe(), **recipe))

    def options(self, bundle, steps=1):
        return [bundle, f"--weights={self.model}", f"--data={self.data}",
                f"--steps={steps}"]

    def error_of(self, result, *expected):
        """The job failed before any step, and said why in one line of pmrun's
        (mpirun adds lines of its own)."""
        self.assertNotEqual(result.returncode, 0)
        lines = [line for line in result.stderr.splitlines()
                 if line.startswith("pmrun: error:")]
        self.assertEqual(len(lines), 1, result.stderr)
        for text in expected:
            self.assertIn(text, lines[0])
        self.assertNotIn("loss", result.stdout)
        return lines[0]

    def test_too_few_and_too_many_processes(self):
        bundle = self.compile("eight", "dp=2,pp=2,tp=2,mb=2")
        for ranks in (7, 9):
            with self.subTest(ranks):
                result = harness.mpirun(ranks, *self.options(bundle))
                self.error_of(result, str(ranks), "8")

    def test_different_bundles_on_two_ranks(self):
        """Same mesh, same tensors, another constant in the code."""
        first = self.compile("first", "dp=2")
        second = self.compile("second", "dp=2", decay="matrices")
        command = harness.mpirun_command(1, *self.options(first))
        command += [":", "-n", "1", harness.tool("pmrun"), *self.options(second)]
        result = subprocess.run(command, env=harness.mpirun_environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, timeout=60)
        self.error_of(result, "bundle", "rank 1")

    def test_transport_that_is_not_known(self):
        self.refused(["pigeon", "threads", "mpi"], "pmrun",
                     *self.options(self.compile("b", "dp=2")),
                     "--transport=pigeon")

    def ranks_of(self, parent):
        """{rank: process id} of the pmrun processes below `parent`."""
        found = {}
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    variables = dict(item.split(b"=", 1) for item in
                                     file.read().split(b"\0") if b"=" in item)
                with open(f"/proc/{entry}/comm") as file:
                    name = file.read().strip()
            except (OSError, ValueError):
                continue
            if name == "pmrun" and variables.get(b"PIPEMESH_TEST") == parent and \
                    b"OMPI_COMM_WORLD_RANK" in variables:
                found.setdefault(int(variables[b"OMPI_COMM_WORLD_RANK"]), []).append(
                    int(entry))
        return found

    def test_killed_process_ends_the_job_and_is_named(self):
        bundle = self.compile("eight", "dp=2,pp=2,tp=2,mb=2")
        # Enough data for minutes.
        ids = [i % 256 for i in range(8 * 20)] * 2000
        self.data = harness.write_ids(self.path("long.safetensors"), ids,
                                      [2000, 8, 20])
        mark = self.scratch
        metrics = self.path("metrics.jsonl")
        job = subprocess.Popen(
            harness.mpirun_command(8, *self.options(bundle, 2000),
                                   f"--metrics={metrics}"),
            env=dict(harness.mpirun_environment(), PIPEMESH_TEST=mark),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            started = time.monotonic()
            while not (os.path.exists(metrics) and os.path.getsize(metrics)):
                self.assertIsNone(job.poll(), "the job ended before its first step")
                self.assertLess(time.monotonic() - started, 120)
                time.sleep(0.1)
            victims = self.ranks_of(mark.encode())
            self.assertEqual(sorted(victims), list(range(8)))
            killed = time.monotonic()
            for process in victims[3]:
                os.kill(process, signal.SIGKILL)
            _, errors = job.communicate(timeout=60)
            self.assertLess(time.monotonic() - killed, 10)
        finally:
            job.kill()
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(errors, r"rank 3\b")
        self.assertFalse(self.ranks_of(mark.encode()), "processes were left")


if __name__ == "__main__":
    unittest.main()
