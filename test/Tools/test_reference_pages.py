"""The generated reference is current, and its examples are programs."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PIPEMESH_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

import reference_pages  # noqa: E402

MESH = 'pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 4>]\n'
DEFINITION = re.compile(r"^\s*((?:%\w+(?::\d+)?(?:,\s*)?)+)\s*=", re.MULTILINE)
MISMATCH = re.compile(r"use of value '(%[\w]+)' expects different type than "
                      r"prior uses: '(.*)' vs '(.*)'")


def examples():
    """Every ```mlir block of the dialects' pages as (page, heading, text)."""
    for name in sorted(f"{dialect}.md" for dialect in reference_pages.DIALECTS):
        heading, block = "", None
        with open(os.path.join(reference_pages.PAGES, name)) as file:
            for line in file.read().splitlines():
                if line.startswith("#"):
                    heading = line.lstrip("# ") if block is None else heading
                if block is None and line.strip() == "```mlir":
                    block = []
                elif block is not None and line.strip() == "```":
                    yield name, heading, "\n".join(block) + "\n"
                    block = None
                elif block is not None:
                    block.append(line)


def parse(text, scratch):
    """Runs pmopt on the text; returns its messages, or None if it parsed."""
    path = os.path.join(scratch, "example.mlir")
    with open(path, "w") as file:
        file.write(text)
    result = subprocess.run(
        [os.path.join(BUILD, "bin", "pmopt"), "--allow-unregistered-dialect",
         "--split-input-file", path, "-o", os.devnull], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=60)
    return None if result.returncode == 0 else result.stderr


def complete(text, scratch):
    """Gives an example that is a few lines out of a program what it uses: the
    mesh that the others have, and a definition of each value, whose type is the
    one that the parser says its use wants. Returns the last messages."""
    if all(line.startswith("#") for line in text.splitlines()):
        text = "".join(f'"example.attribute"() {{value = {line}}} : () -> ()\n'
                       for line in text.splitlines())
    if "@mesh" in text and "pm.mesh" not in text:
        text = MESH + text
    defined = set(re.findall(r"(%\w+): ", text))  # arguments
    for results in DEFINITION.findall(text):
        defined.update(re.findall(r"%\w+", results))
    used = set(re.findall(r"%[A-Za-z_]\w*|%\d+", text))
    types = {name: "i1" for name in sorted(used - defined)}
    for _ in range(4 * len(types) + 1):
        values = "".join(f'{name} = "example.value"() : () -> {kind}\n'
                         for name, kind in types.items())
        messages = parse(values + text, scratch)
        mismatch = MISMATCH.search(messages or "")
        if not mismatch or mismatch.group(1) not in types or \
                types[mismatch.group(1)] == mismatch.group(2):
            return messages
        types[mismatch.group(1)] = mismatch.group(2)
    return messages


class ReferencePages(unittest.TestCase):
    def test_pages_are_current(self):
        result = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tools", "python",
                                          "reference_pages.py"), "--check"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_example_parses_and_verifies(self):
        every = list(examples())
        self.assertGreater(len(every), 50)
        # Whole programs in one go; the others, and those too if one of them
        # does not parse, each by itself.
        whole = [example for example in every
                 if example[2].startswith(("func.func", "module", "pm.mesh"))]
        with tempfile.TemporaryDirectory() as scratch:
            together = parse("// -----\n".join(text for _, _, text in whole),
                             scratch)
            for page, heading, text in every:
                if together is None and (page, heading, text) in whole:
                    continue
                with self.subTest(page=page, heading=heading):
                    messages = parse(text, scratch)
                    if messages is not None:
                        messages = complete(text, scratch)
                    self.assertIsNone(messages, f"{page}, {heading}:\n{text}")

    def test_every_op_has_an_example(self):
        with_example = {(page, heading) for page, heading, _ in examples()}
        for name in reference_pages.DIALECTS:
            path = os.path.join(reference_pages.PAGES, name + ".md")
            self.assertTrue(os.path.exists(path), path)
            for heading in re.findall(r"^### (`.*)$", open(path).read(), re.M):
                with self.subTest(heading):
                    self.assertIn((name + ".md", heading), with_example)


if __name__ == "__main__":
    unittest.main()
