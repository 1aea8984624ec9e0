"""The guide of docs/jax.md, run as it is written: its scripts and its commands."""

import os
import re
import shlex
import shutil
import subprocess
import unittest

import harness

GUIDE = os.path.join(harness.ROOT, "docs", "jax.md")
PYTHON = os.environ.get("PIPEMESH_JAX_PYTHON", "python3")
PACKAGES = {"jax": "0.10.2", "safetensors": None}


def python_missing():
    """Why the guide cannot be run with this Python, or None where it can."""
    if shutil.which(PYTHON) is None:
        return f"there is no {PYTHON}"
    code = ("import importlib.metadata as m\n"
            f"for name in {list(PACKAGES)}:\n"
            "    try: print(name, m.version(name))\n"
            "    except m.PackageNotFoundError: print(name, 'missing')\n")
    found = dict(line.split() for line in subprocess.run(
        [PYTHON, "-c", code], stdout=subprocess.PIPE, text=True,
        check=True).stdout.splitlines())
    for name, version in PACKAGES.items():
        if found[name] == "missing" or version not in (None, found[name]):
            wanted = f"{name}=={version}" if version else name
            return (f"{PYTHON} has {name} {found[name]}, and the guide wants "
                    f"{wanted}; PIPEMESH_JAX_PYTHON names another Python")
    return None


class JaxGuide(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        with open(GUIDE) as file:
            self.text = file.read()
        missing = python_missing()
        if missing:
            self.skipTest(missing)
        self.folder = self.path("guide")
        os.mkdir(self.folder)

    def execute(self, command):
        environment = dict(os.environ)
        environment["PATH"] = os.path.join(harness.BUILD, "bin") + ":" + \
            environment["PATH"]
        result = subprocess.run(
            command, cwd=self.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=harness.LIMIT_S)
        self.assertEqual(result.returncode, 0,
                         f"{shlex.join(command)}\n{result.stdout}")
        return result.stdout

    def test_scripts_and_commands(self):
        scripts = re.findall(r"```python\n(# (\w+\.py):.*?)```", self.text, re.S)
        self.assertEqual([name for _, name in scripts], ["train.py", "compare.py"])
        for script, name in scripts:
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(script)
        commands = re.findall(r"^\$ (.*)$", self.text, re.M)
        self.assertGreaterEqual(len(commands), 6)
        printed = {}
        for command in commands:
            words = shlex.split(command)
            if words[0] == "jax-environment/bin/python":
                words[0] = PYTHON
            printed[words[0]] = self.execute(words)
            if words[0] == "pmrun":
                compared = self.execute([PYTHON, "compare.py"])
        self.assertEqual(compared.count("largest difference"), 6)
        self.assertIn("8 ranks", printed["pmrun"])
        shares = dict(re.findall(r"^  (dp|tp) +[\d.]+ % +([\d.]+) %",
                                 printed["pmc"], re.M))
        for axis in ("dp", "tp"):
            # The guide tells the figures.
            self.assertIn(f"{shares[axis]} %", self.text)


if __name__ == "__main__":
    unittest.main()
