#!/usr/bin/env python3
"""Prints a sharded module with reshards of every pair of shardings.

all_reshards.py MESH SHAPE [PART PARTS]: MESH such as 2x3, SHAPE such as 5x7. A
function for each sharding to begin with, with a result for each one to end with;
every PARTS-th of these functions, from number PART on.
"""
import itertools
import math
import sys

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


def main():
    mesh = [int(size) for size in sys.argv[1].split("x")]
    shape = [int(size) for size in sys.argv[2].split("x")]
    part, parts = (int(number) for number in (sys.argv[3:5] or (0, 1)))
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


if __name__ == "__main__":
    main()
