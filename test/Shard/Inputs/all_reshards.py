#!/usr/bin/env python3
"""Prints a sharded module with reshards of every pair of shardings.

all_reshards.py [--check=BIN] MESH SHAPE [PART PARTS]: MESH such as 2x3, SHAPE such
as 5x7. A function for each sharding to begin with, with a result for each one to
end with; every PARTS-th of these functions, from number PART on. With --check,
partitions the module and compares the values of each function before and after;
BIN has pmopt and pmcheck.
"""
import itertools
import math
import pathlib
import subprocess
import sys
import tempfile

NAMES = "xyzw"


def layouts(axes, rank):
    """(axes of each dimension, partial axes) of every sharding."""
    for count in range(len(axes) + 1):
        for order in itertools.permutations(axes, count):
            for cuts in itertools.combinations_with_replacement(
                    range(count + 1), rank - 1):
                edges = [0, *cuts, count]
                dims = [order[a:b] for a, b in zip(edges, edges[1:])]
                rest = [axis for axis in axes if axis not in order]
                for size in range(len(rest) + 1):
                    for partial in itertools.combinations(rest, size):
                        yield dims, partial


def text(dims, partial):
    cuts = ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}"
                     for dim in dims)
    sums = ", ".join(f'"{axis}"' for axis in partial)
    return f"<@mesh, [{cuts}]" + (f", partial = sum{{{sums}}}>" if sums else ">")


def write(arguments, print):
    """Prints the module; returns the numbers of its functions and of its pairs."""
    mesh = [int(size) for size in arguments[0].split("x")]
    shape = [int(size) for size in arguments[1].split("x")]
    part, parts = (int(number) for number in (arguments[2:4] or (0, 1)))
    functions, pairs = [], 0
    sizes = dict(zip(NAMES, mesh))
    print("pm.mesh @mesh = ["
          + ", ".join(f'<"{name}", spatial = {size}>'
                      for name, size in sizes.items()) + "]")
    every = list(dict.fromkeys(
        (tuple(map(tuple, dims)), tuple(partial))
        for dims, partial in layouts(NAMES[:len(mesh)], len(shape))))
    tensor = "tensor<" + "x".join(map(str, shape)) + "xf32>"
    for number, (dims, partial) in enumerate(every):
        if number % parts != part:
            continue
        source = text(dims, partial)
        # Parts of a sum come from a dimension that is cut in front.
        parts_of_sum = math.prod(sizes[axis] for axis in partial)
        given = (f"tensor<{parts_of_sum}x" + tensor[7:]) if partial else tensor
        cut = text(([partial] if partial else []) + list(dims), ())
        targets = [(other, rest) for other, rest in every
                   if set(rest) <= set(partial) and (other, rest) != (dims, partial)
                   and not rest]
        # Ends that stay partial are summed behind.
        middle = [(other, rest) for other, rest in every
                  if rest and set(rest) <= set(partial)
                  and (other, rest) != (dims, partial)]
        ends = targets + [(other, ()) for other, _ in middle]
        results = ", ".join(
            f"{tensor} {{pm.sharding = #pm.sharding{text(*end)}}}" for end in ends)
        print(f"func.func @from_{number}(%a: {given} "
              f"{{pm.sharding = #pm.sharding{cut}}}) -> ({results}) {{")
        value = "%a"
        if partial:
            print("  %zero = stablehlo.constant {pm.shardings = "
                  "[#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>")
            print("  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add "
                  f"across dimensions = [0] {{pm.shardings = [#pm.sharding{source}]}}"
                  f" : ({given}, tensor<f32>) -> {tensor}")
            value = "%s"
        names = []
        def reshard(name, operand, before, after):
            print(f"  {name} = pm.reshard {operand} from {text(*before)} to "
                  f"{text(*after)} {{pm.shardings = [#pm.sharding{text(*after)}]}}"
                  f" : {tensor}")

        for index, target in enumerate(targets):
            reshard(f"%r{index}", value, (dims, partial), target)
            names.append(f"%r{index}")
        for index, (other, rest) in enumerate(middle):
            reshard(f"%m{index}", value, (dims, partial), (other, rest))
            reshard(f"%n{index}", f"%m{index}", (other, rest), (other, ()))
            names.append(f"%n{index}")
        print(f"  return {', '.join(names)} : "
              f"{', '.join([tensor] * len(names))}")
        print("}")
        functions.append(number)
        pairs += len(names)
    return functions, pairs


def check(binaries, arguments):
    with tempfile.TemporaryDirectory() as folder:
        sharded = pathlib.Path(folder, "sharded.mlir")
        partitioned = pathlib.Path(folder, "partitioned.mlir")
        with open(sharded, "w") as file:
            functions, pairs = write(arguments,
                                     lambda line: file.write(line + "\n"))
        subprocess.run([f"{binaries}/pmopt", sharded, "--pm-partition",
                        "--pm-verify-partitioned", "-o", partitioned], check=True)
        for number in functions:
            run = subprocess.run(
                [f"{binaries}/pmcheck", "equiv", sharded, partitioned,
                 "--partitioned=b", f"--function=from_{number}"],
                capture_output=True, text=True)
            if run.returncode:
                sys.exit(f"{' '.join(arguments)}: from_{number}: "
                         f"{run.stdout}{run.stderr}")
        print(f"{' '.join(arguments)}: {pairs} reshards are right")


def main():
    if sys.argv[1].startswith("--check="):
        check(sys.argv[1].split("=")[1], sys.argv[2:])
    else:
        write(sys.argv[1:], print)


if __name__ == "__main__":
    main()
