"""Real config.json files: the right count of parameters, or one line that says
what is not supported."""

import json
import os
import re
import shutil
import unittest

import harness

CONFIGS = os.path.join(harness.INPUTS, "configs")
SUPPORTED = {"llama", "qwen2", "qwen3", "mistral", "gpt2"}
# Of a supported architecture, and refused for what the field says.
REFUSED_FIELDS = {"qwen3-32b-fp8": "quantization_config"}


def counts():
    """Count of parameters by config, from the table beside them."""
    with open(os.path.join(CONFIGS, "parameters.tsv")) as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return {name: int(count) for name, count in rows}


def names():
    return sorted(file[:-len(".json")] for file in os.listdir(CONFIGS)
                  if file.endswith(".json"))


class Configs(harness.EndToEndTest):
    def model_directory(self, name):
        directory = self.path(name)
        os.mkdir(directory)
        shutil.copyfile(os.path.join(CONFIGS, name + ".json"),
                        os.path.join(directory, "config.json"))
        with open(os.path.join(directory, "config.json")) as file:
            return directory, json.load(file)

    def test_supported_configs_have_their_count_of_parameters(self):
        expected = counts()
        tried = 0
        for name in names():
            directory, config = self.model_directory(name)
            if config["model_type"] not in SUPPORTED or name in REFUSED_FIELDS:
                continue
            with self.subTest(name):
                tried += 1
                report = harness.succeed("pmimport", directory, "--no-weights",
                                         "--report")
                match = re.search(r"parameters:?\s+([\d,]+)", report)
                self.assertTrue(match, report)
                self.assertEqual(int(match.group(1).replace(",", "")),
                                 expected[name])
        self.assertGreaterEqual(tried, 14)

    def test_other_configs_are_refused_by_the_name_of_what_is_missing(self):
        tried = 0
        for name in names():
            directory, config = self.model_directory(name)
            if name in REFUSED_FIELDS:
                reason = REFUSED_FIELDS[name]
            elif config["model_type"] not in SUPPORTED:
                reason = config["model_type"]
            else:
                continue
            with self.subTest(name):
                tried += 1
                self.refused(reason, "pmimport", directory, "--no-weights",
                             "--report")
        self.assertGreaterEqual(tried, 10)


if __name__ == "__main__":
    unittest.main()
