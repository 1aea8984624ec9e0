"""Draws a mesh and shardings of the arguments of transformer.mlir, any dimension over
any axes, dividing or not.

    random_shardings.py SEED [--micro-batches] < transformer.mlir > drawn.mlir

With --micro-batches the batch is cut over "x" and two micro-batches, and only the
parameters at random.
"""

import random
import re
import sys

MESHES = [
    [("x", 2), ("y", 3)],
    [("y", 3), ("x", 2)],
    [("x", 2), ("y", 2), ("z", 2)],
]
WITHOUT_MICRO_BATCHES = MESHES + [
    [("x", 4), ("y", 2)],
    [("x", 3)],
    [("x", 5), ("y", 1)],
]
ARGUMENT = re.compile(r'(%\w+): tensor<([^>]*)> \{((?:[^{}<>"]|<[^<>]*>|"[^"]*")*)\}')


def sharding(axes_of_dims):
    dims = ("{" + ", ".join(f'"{axis}"' for axis in axes) + "}" for axes in axes_of_dims)
    return "#pm.sharding<@mesh, [" + ", ".join(dims) + "]>"


def draw(rng, sizes, axes):
    """Axes for each dimension, as long as it has an element for each piece."""
    left = list(axes)
    drawn = []
    for size in sizes:
        own, pieces = [], 1
        for axis in rng.sample(left, len(left)):
            if rng.random() < 0.4 and pieces * axes[axis] <= size:
                own.append(axis)
                left.remove(axis)
                pieces *= axes[axis]
        drawn.append(own)
    return drawn


def main():
    rng = random.Random(int(sys.argv[1]))
    micro_batches = "--micro-batches" in sys.argv
    mesh = rng.choice(MESHES if micro_batches else WITHOUT_MICRO_BATCHES)
    axes = dict(mesh)
    text = sys.stdin.read().replace("KDIM", "12").replace("KHEADS", "3")
    text = re.sub(r", pm\.sharding = #pm\.sharding<@mesh, \[[^\]]*\]>", "", text)
    names = ", ".join(f'<"{name}", spatial = {size}>' for name, size in mesh)
    if micro_batches:
        names += ', <"mb", temporal = 2>'
    text = text.replace("MESH", names)

    def annotate(match):
        name, shape, attributes = match.groups()
        sizes = [int(size) for size in shape.split("x")[:-1]]
        if micro_batches and "pm.input" in attributes:
            dims = [["x", "mb"]] + [[]] * (len(sizes) - 1)
        elif rng.random() < 0.25:
            return match.group(0)
        else:
            dims = draw(rng, sizes, axes)
        return (
            f"{name}: tensor<{shape}> "
            f"{{pm.sharding = {sharding(dims)}, {attributes}}}"
        )

    print(ARGUMENT.sub(annotate, text))


if __name__ == "__main__":
    main()
