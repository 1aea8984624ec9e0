"""Every module of a folder of JAX exports prints to its own text.

  same_text.py FOLDER

The printer normalises white space (two spaces around a comparison's direction,
an empty line at the end) and constants of booleans, which it writes with a bit
for each element in the place of a byte. With locations it also numbers and
orders the aliases of locations anew.
"""

import glob
import os
import re
import subprocess
import sys


def pack(match):
    """dense<"0x0001..."> of i1 with a byte an element -> with a bit."""
    digits, shape = match.group(1), match.group(2)
    count = 1
    for size in shape.split("x")[:-1]:
        count *= int(size)
    if len(digits) != 2 * count:
        return match.group(0)
    packed = bytearray((count + 7) // 8)
    for i, byte in enumerate(bytes.fromhex(digits)):
        packed[i // 8] |= byte << (i % 8)
    return f'dense<"0x{packed.hex().upper()}"> : tensor<{shape}>'


def normalise(text):
    text = re.sub(r'dense<"0x([0-9A-Fa-f]+)"> : tensor<((?:\d+x)+i1)>', pack, text)
    lines = [re.sub(r"(\S) +", r"\1 ", line).rstrip()
             for line in text.splitlines()]
    return [line for line in lines if line]


def resolve(lines):
    """Locations in the place of their aliases."""
    aliases = {}
    for line in lines:
        match = re.match(r"(#loc\d*) = (loc\(.*\))$", line)
        if match:
            aliases[match.group(1)] = match.group(2)

    def expand(text, depth=0):
        if depth > 50:
            return text
        return re.sub(r"loc\((#loc\d*)\)|(#loc\d*)\b",
                      lambda m: expand(aliases[m.group(1) or m.group(2)],
                                       depth + 1), text)
    return [expand(line) for line in lines if not line.startswith("#loc")]


def main():
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "*", "module*.mlir")))
    if not paths:
        sys.exit(f"no modules in {sys.argv[1]}")
    different = 0
    for path in paths:
        command = ["pmopt", path]
        located = path.endswith("_loc.mlir")
        if located:
            command.append("--mlir-print-debuginfo")
        result = subprocess.run(command, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(f"{path}: {result.stderr}")
        with open(path) as file:
            before = normalise(file.read())
        after = normalise(result.stdout)
        if located:
            before, after = resolve(before), resolve(after)
        if before == after:
            print(f"{os.path.relpath(path, sys.argv[1])}: the same")
            continue
        different += 1
        print(f"{path}: {len(before)} lines, then {len(after)}")
        for a, b in [(a, b) for a, b in zip(before, after) if a != b][:3]:
            print(f"  - {a}\n  + {b}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
