"""A module that JAX printed, with its arguments and results, compiled to a bundle
and run: what the tests of whole functions share."""

import json
import os
import re
import struct

import harness
import tensor_file

SHARED = os.environ.get(
    "PIPEMESH_SHARED", os.path.join(os.path.dirname(harness.ROOT), "shared"))
PLACES = [os.path.join(harness.INPUTS, "stablehlo"),
          os.path.join(SHARED, "stablehlo")]


def find(name):
    """The folder of a case, or None where it is neither here nor beside us."""
    for place in PLACES:
        folder = os.path.join(place, name)
        if os.path.exists(os.path.join(folder, "io.safetensors")):
            return folder
    return None


def numbers(tensor):
    """The elements as Python numbers."""
    if tensor.dtype == "BF16":
        bits = struct.unpack(f"<{len(tensor.data) // 2}H", tensor.data)
        wide = struct.pack(f"<{len(bits)}I", *(b << 16 for b in bits))
        return struct.unpack(f"<{len(bits)}f", wide)
    if tensor.dtype == "F16":
        return struct.unpack(f"<{len(tensor.data) // 2}e", tensor.data)
    return tensor.values()


class Case:
    def __init__(self, name):
        self.folder = find(name)
        if self.folder is None:
            raise harness.unittest.SkipTest(
                f"the module '{name}' lies in shared/stablehlo, which is not here")
        with open(os.path.join(self.folder, "case.json")) as file:
            self.description = json.load(file)
        self.module = os.path.join(self.folder, "module.mlir")
        self.io = os.path.join(self.folder, "io.safetensors")
        self.expected = tensor_file.read(self.io)

    @property
    def wire_bytes(self):
        return self.description.get("xla_wire_bytes_per_rank")

    def write_for_one_rank(self, path):
        """The module with all mesh axes of size 1."""
        with open(self.module) as file:
            text = file.read()

        def ones(match):
            return re.sub(r'("[^"]*")=\d+', r"\1=1", match.group(0))
        text = re.sub(r"sdy\.mesh @\w+ = <\[[^\]]*\]", ones, text)
        with open(path, "w") as file:
            file.write(text)
        return path

    def compile(self, out, *options, module=None):
        harness.succeed("pmc", module or self.module, *options, "-o", out)
        return out

    def run(self, bundle, *options):
        """Runs the bundle on the case's arguments; returns its results."""
        out = bundle + ".out.safetensors"
        harness.succeed("pmrun", bundle, f"--inputs={self.io}",
                        f"--outputs={out}", "--quiet", *options)
        return tensor_file.read(out)

    def differences(self, results, leave_out=()):
        """What is wrong with the results, a line for each."""
        tolerance = self.description["tolerance"]
        names = self.description["outs"]
        wrong = []
        for index, name in enumerate(names):
            ours, theirs = results[f"out{index}"], self.expected[f"out{index}"]
            if name in leave_out:
                continue
            if ours.dtype != theirs.dtype or list(ours.shape) != list(theirs.shape):
                wrong.append(f"out{index} {name}: {ours.dtype}{ours.shape}, not "
                             f"{theirs.dtype}{theirs.shape}")
                continue
            exact = theirs.dtype[0] not in "FB" or theirs.dtype == "BOOL"
            rtol, atol = (0, 0) if exact else (tolerance["rtol"],
                                               tolerance["atol"])
            bad, worst = 0, None
            for place, (a, b) in enumerate(zip(numbers(ours), numbers(theirs))):
                if a == b or (a != a and b != b) or \
                        abs(a - b) <= atol + rtol * abs(b):
                    continue
                bad += 1
                worst = worst or (place, a, b)
            if bad:
                place, a, b = worst
                wrong.append(f"out{index} {name}: {bad} of "
                             f"{len(numbers(theirs))} elements differ; the first "
                             f"at {place}: {a!r}, not {b!r}")
        return wrong


def most_wire_bytes(report):
    """Of a report of pmrun: the bytes that the rank that sends most sends."""
    return max(sum(entry["runs"] * entry["wire_bytes"]
                   for entry in rank["communication"])
               for rank in report["ranks"])
