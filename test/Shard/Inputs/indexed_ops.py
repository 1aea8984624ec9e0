"""Writes a module with one function for each form of an op that reads, writes or
moves elements along dimensions, its operands cut at random.

usage: indexed_ops.py SEED MESH COUNT [KIND...]     MESH as in "x=2,y=3"
"""

import random
import sys


class Writer:
    """One function: arguments, ops, results."""

    def __init__(self, rng, mesh, name):
        self.rng, self.mesh, self.name = rng, mesh, name
        self.args, self.body, self.results, self.count = [], [], [], 0

    def sharding(self, shape):
        axes = list(self.mesh)
        self.rng.shuffle(axes)
        dims = [[] for _ in shape]
        for axis in axes:
            if shape and self.rng.random() < 0.75:
                dims[self.rng.randrange(len(shape))].append(axis)
        text = ", ".join("{" + ", ".join(f'"{a}"' for a in d) + "}" for d in dims)
        return f"#pm.sharding<@mesh, [{text}]>"

    def arg(self, shape, element="f32"):
        name = f"%a{len(self.args)}"
        attr = f" {{pm.sharding = {self.sharding(shape)}}}" if self.rng.random() < 0.8 else ""
        self.args.append(f"{name}: {tensor(shape, element)}{attr}")
        return name

    def op(self, text):
        name = f"%{self.count}"
        self.count += 1
        self.body.append(f"  {name} = {text}")
        return name

    def constant(self, value, shape=(), element="f32"):
        return self.op(f"stablehlo.constant dense<{value}> : {tensor(shape, element)}")

    def result(self, value, shape, element="f32"):
        self.results.append((value, tensor(shape, element)))

    def indices(self, shape, element, low, high):
        """Integers from about `low` to `high`: random inputs are 0, 1 and 2."""
        if element in ("i8", "ui8", "ui32"):
            low = max(low, 0) if element[0] == "u" else low
        if self.rng.random() < 0.5:
            flat = iter([self.rng.randint(low, high) for _ in range(count(shape))])
            return self.constant(nested(flat, shape), shape, element)
        value = self.arg(shape, element)
        factor = self.constant(max(1, (high - low) // 2), shape, element)
        base = self.constant(low, shape, element)
        kind = tensor(shape, element)
        scaled = self.op(f"stablehlo.multiply {value}, {factor} : {kind}")
        return self.op(f"stablehlo.add {scaled}, {base} : {kind}")

    def text(self):
        types = ", ".join(t for _, t in self.results)
        values = ", ".join(v for v, _ in self.results)
        body = "\n".join(self.body)
        return (f"func.func @{self.name}({', '.join(self.args)}) -> ({types}) {{\n{body}\n"
                f"  return {values} : {types}\n}}\n")


def tensor(shape, element):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


def count(shape):
    total = 1
    for n in shape:
        total *= n
    return total


def nested(flat, shape):
    if not shape:
        return str(next(flat))
    return "[" + ", ".join(nested(flat, shape[1:]) for _ in range(shape[0])) + "]"


def index_type(rng):
    return rng.choice(["i32", "i32", "i64", "ui32", "i8", "ui8"])


def element_type(rng):
    return rng.choice(["f32", "f32", "f32", "i32", "i1", "i8"])


def sizes(rng, rank, low=1, high=9):
    return [rng.randint(low, high) for _ in range(rank)]


def dynamic_slice(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    part = [rng.randint(1, n) if rng.random() < 0.7 else n for n in shape]
    element, index = element_type(rng), index_type(rng)
    x = w.arg(shape, element)
    starts = [w.indices((), index, -3, n + 3) for n in shape]
    types = ", ".join([tensor(shape, element)] + [tensor((), index)] * len(shape))
    y = w.op(f"stablehlo.dynamic_slice {x}, {', '.join(starts)}, sizes = {part} : "
             f"({types}) -> {tensor(part, element)}")
    w.result(y, part, element)


def dynamic_update_slice(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    part = [rng.randint(1, n) if rng.random() < 0.7 else n for n in shape]
    element, index = element_type(rng), index_type(rng)
    x, u = w.arg(shape, element), w.arg(part, element)
    starts = [w.indices((), index, -3, n + 3) for n in shape]
    types = ", ".join([tensor(shape, element), tensor(part, element)]
                      + [tensor((), index)] * len(shape))
    y = w.op(f"stablehlo.dynamic_update_slice {x}, {u}, {', '.join(starts)} : "
             f"({types}) -> {tensor(shape, element)}")
    w.result(y, shape, element)


def windows(rng, rank, shape):
    """What of an operand a gather addresses, and how."""
    kinds = [rng.choice(["whole", "indexed", "indexed", "window", "batching"]) for _ in range(rank)]
    if kinds.count("batching") == rank:
        kinds[0] = "indexed"
    return kinds


def gather_forms(w):
    """(shape, kinds, slice sizes, batch shape, index shape, vector dim, order)."""
    rng = w.rng
    rank = rng.randint(1, 3)
    shape = sizes(rng, rank)
    kinds = windows(rng, rank, shape)
    mapped = [d for d, k in enumerate(kinds) if k in ("indexed", "window")]
    rng.shuffle(mapped)
    part = []
    for d, kind in enumerate(kinds):
        part.append({"whole": shape[d], "indexed": 1, "batching": 1,
                     "window": rng.randint(1, shape[d])}[kind])
    batch = sizes(rng, rng.randint(1 if "batching" in kinds else 0, 2), 1, 6)
    operand_batching = [d for d, k in enumerate(kinds) if k == "batching"][:len(batch)]
    for d, k in enumerate(kinds):
        if k == "batching" and d not in operand_batching:
            kinds[d], part[d] = "whole", shape[d]
    positions = rng.sample(range(len(batch)), len(operand_batching))
    for d, position in zip(operand_batching, positions):
        batch[position] = shape[d]
    vector = rng.randint(0, len(batch))
    if len(mapped) == 1 and rng.random() < 0.4:
        vector = len(batch)
        index_shape = list(batch)
        index_dims = list(range(len(batch)))
    else:
        index_shape = batch[:vector] + [len(mapped)] + batch[vector:]
        index_dims = [d for d in range(len(index_shape)) if d != vector]
    batching_dims = [index_dims[p] for p in positions]
    collapsed = [d for d, k in enumerate(kinds) if k == "indexed" and rng.random() < 0.8]
    window = [d for d in range(rank) if d not in collapsed and d not in operand_batching]
    return (shape, part, batch, index_shape, vector, mapped, collapsed, window,
            operand_batching, batching_dims)


def index_values(w, index_shape, vector, mapped, shape):
    high = max([shape[d] for d in mapped], default=1)
    element = index_type(w.rng)
    if element[0] == "i":
        return w.indices(index_shape, element, -2, high + 1), element
    return w.indices(index_shape, element, 0, high + 1), element


def gather(w):
    rng = w.rng
    (shape, part, batch, index_shape, vector, mapped, collapsed, window, operand_batching,
     batching_dims) = gather_forms(w)
    if not mapped:
        return dynamic_slice(w)
    element = element_type(rng)
    x = w.arg(shape, element)
    indices, index = index_values(w, index_shape, vector, mapped, shape)
    rank = len(batch) + len(window)
    offsets = sorted(rng.sample(range(rank), len(window)))
    result, b, o = [], iter(batch), iter(window)
    for d in range(rank):
        result.append(part[next(o)] if d in offsets else next(b))
    y = w.op(f'"stablehlo.gather"({x}, {indices}) <{{dimension_numbers = #stablehlo.gather<'
             f"offset_dims = {offsets}, collapsed_slice_dims = {collapsed}, "
             f"operand_batching_dims = {operand_batching}, "
             f"start_indices_batching_dims = {batching_dims}, start_index_map = {mapped}, "
             f"index_vector_dim = {vector}>, indices_are_sorted = false, slice_sizes = "
             f"array<i64: {', '.join(map(str, part))}>}}> : ({tensor(shape, element)}, "
             f"{tensor(index_shape, index)}) -> {tensor(result, element)}")
    w.result(y, result, element)


def scatter(w):
    rng = w.rng
    (shape, part, batch, index_shape, vector, mapped, collapsed, window, operand_batching,
     batching_dims) = gather_forms(w)
    if not mapped:
        return dynamic_update_slice(w)
    element = rng.choice(["f32", "f32", "i32", "i1"])
    body = rng.choice(["add", "add", "maximum", "minimum", "second", "multiply"])
    zero = rng.random() < 0.5
    if zero:
        value = "false" if element == "i1" else "0" if element == "i32" else "0.0"
        x = w.constant(value, shape, element)
    else:
        x = w.arg(shape, element)
    indices, index = index_values(w, index_shape, vector, mapped, shape)
    rank = len(batch) + len(window)
    offsets = sorted(rng.sample(range(rank), len(window)))
    update, b, o = [], iter(batch), iter(window)
    for d in range(rank):
        update.append(part[next(o)] if d in offsets else next(b))
    u = w.arg(update, element)
    scalar = tensor((), element)
    inner = "" if body == "second" else f"%s = stablehlo.{body} %p, %q : {scalar}\n    "
    value = "%q" if body == "second" else "%s"
    y = w.op(f'"stablehlo.scatter"({x}, {indices}, {u}) <{{indices_are_sorted = false, '
             f"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {offsets}, "
             f"inserted_window_dims = {collapsed}, input_batching_dims = {operand_batching}, "
             f"scatter_indices_batching_dims = {batching_dims}, "
             f"scatter_dims_to_operand_dims = {mapped}, index_vector_dim = {vector}>, "
             f"unique_indices = false}}> ({{\n  ^bb0(%p: {scalar}, %q: {scalar}):\n    {inner}"
             f"stablehlo.return {value} : {scalar}\n  }}) : ({tensor(shape, element)}, "
             f"{tensor(index_shape, index)}, {tensor(update, element)}) -> "
             f"{tensor(shape, element)}")
    w.result(y, shape, element)


def reduce(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    dims = sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape))))
    kept = [n for d, n in enumerate(shape) if d not in dims]
    element = element_type(rng)
    choices = {"f32": {"add": "0.0", "multiply": "1.0", "maximum": "0xFF800000",
                       "minimum": "0x7F800000"},
               "i1": {"add": "false", "multiply": "true", "and": "true", "or": "false",
                      "xor": "false"}}
    bits = 32 if element == "i32" else 8
    integer = {"add": "0", "multiply": "1", "and": "-1", "or": "0", "xor": "0",
               "maximum": str(-2 ** (bits - 1)), "minimum": str(2 ** (bits - 1) - 1)}
    body, init = rng.choice(sorted(choices.get(element, integer).items()))
    if rng.random() < 0.2:  # not neutral
        init = {"f32": "2.0", "i1": "true"}.get(element, "3")
    x, c = w.arg(shape, element), w.constant(init, (), element)
    y = w.op(f"stablehlo.reduce({x} init: {c}) applies stablehlo.{body} across dimensions = {dims} "
             f": ({tensor(shape, element)}, {tensor((), element)}) -> {tensor(kept, element)}")
    w.result(y, kept, element)


def argmax(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    dim = rng.randrange(len(shape))
    kept = shape[:dim] + shape[dim + 1:]
    x = w.arg(shape, "i32")
    x = w.op(f"stablehlo.convert {x} : ({tensor(shape, 'i32')}) -> {tensor(shape, 'f32')}")
    if rng.random() < 0.4:  # 0 / 0: not a number
        x = w.op(f"stablehlo.divide {x}, {x} : {tensor(shape, 'f32')}")
    i = w.op(f"stablehlo.iota dim = {dim} : {tensor(shape, 'i32')}")
    low, zero = w.constant("0xFF800000"), w.constant("0", (), "i32")
    y = w.op(f"stablehlo.reduce({x} init: {low}), ({i} init: {zero}) across dimensions = [{dim}] : "
             f"({tensor(shape, 'f32')}, {tensor(shape, 'i32')}, tensor<f32>, tensor<i32>) -> "
             f"({tensor(kept, 'f32')}, {tensor(kept, 'i32')})\n"
             """    reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %gt = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.or %gt, %nan : tensor<i1>
    %eq = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %own = stablehlo.or %first, %tie : tensor<i1>
    %v = stablehlo.select %first, %p, %q : tensor<i1>, tensor<f32>
    %k = stablehlo.select %own, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %k : tensor<f32>, tensor<i32>
  }""")
    w.body[-1] = w.body[-1].replace(" = stablehlo.reduce", ":2 = stablehlo.reduce", 1)
    w.result(y + "#0", kept, "f32")
    w.result(y + "#1", kept, "i32")


def slice_(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3), 1, 12)
    ranges, result = [], []
    for n in shape:
        start = rng.randint(0, n - 1) if rng.random() < 0.7 else 0
        limit = rng.randint(start, n) if rng.random() < 0.7 else n
        stride = rng.choice([1, 1, 1, 2, 3])
        ranges.append(f"{start}:{limit}:{stride}" if stride > 1 else f"{start}:{limit}")
        result.append(-(-(limit - start) // stride))
    element = element_type(rng)
    x = w.arg(shape, element)
    y = w.op(f"stablehlo.slice {x} [{', '.join(ranges)}] : ({tensor(shape, element)}) -> "
             f"{tensor(result, element)}")
    w.result(y, result, element)


def pad(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    low, high, interior, result = [], [], [], []
    for n in shape:
        some = rng.random() < 0.7
        low.append(rng.randint(-1, 3) if some else 0)
        high.append(rng.randint(-1, 3) if some else 0)
        interior.append(rng.choice([0, 0, 1, 2]) if some else 0)
        total = n + low[-1] + high[-1] + (n - 1) * interior[-1]
        if total < 0:
            low[-1] = high[-1] = 0
            total = n + (n - 1) * interior[-1]
        result.append(total)
    x, c = w.arg(shape), w.constant("1.5")
    y = w.op(f"stablehlo.pad {x}, {c}, low = {low}, high = {high}, interior = {interior} : "
             f"({tensor(shape, 'f32')}, tensor<f32>) -> {tensor(result, 'f32')}")
    w.result(y, result)


def concatenate(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    dim = rng.randrange(len(shape))
    parts = []
    for _ in range(rng.randint(1, 4)):
        part = list(shape)
        part[dim] = rng.choice([0, 1, 2, 4, 5, 12])
        parts.append(part)
    shape[dim] = sum(part[dim] for part in parts)
    element = element_type(rng)
    values = [w.arg(part, element) for part in parts]
    types = ", ".join(tensor(part, element) for part in parts)
    y = w.op(f"stablehlo.concatenate {', '.join(values)}, dim = {dim} : ({types}) -> "
             f"{tensor(shape, element)}")
    w.result(y, shape, element)


def reverse(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    dims = sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape))))
    x = w.arg(shape)
    y = w.op(f"stablehlo.reverse {x}, dims = {dims} : {tensor(shape, 'f32')}")
    w.result(y, shape)


def sort(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3))
    dim = rng.randrange(len(shape))
    x, y = w.arg(shape), w.arg(shape, "i32")
    kinds = f"{tensor(shape, 'f32')}, {tensor(shape, 'i32')}"
    r = w.op(f'"stablehlo.sort"({x}, {y}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n'
             "  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):\n"
             "    %lt = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> "
             "tensor<i1>\n    stablehlo.return %lt : tensor<i1>\n"
             f"  }}) : ({kinds}) -> ({kinds})")
    w.body[-1] = w.body[-1].replace(' = "stablehlo.sort"', ':2 = "stablehlo.sort"', 1)
    w.result(r + "#0", shape)
    w.result(r + "#1", shape, "i32")


def top_k(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3), 1, 12)
    k = rng.randint(1, shape[-1])
    result = shape[:-1] + [k]
    x = w.arg(shape, "i32")
    if rng.random() < 0.6:
        x = w.op(f"stablehlo.convert {x} : ({tensor(shape, 'i32')}) -> {tensor(shape, 'f32')}")
        element = "f32"
        if rng.random() < 0.3:
            x = w.op(f"stablehlo.divide {x}, {x} : {tensor(shape, 'f32')}")
    else:
        element = "i32"
    r = w.op(f"chlo.top_k({x}, k = {k}) : {tensor(shape, element)} -> "
             f"({tensor(result, element)}, {tensor(result, 'i32')})")
    w.body[-1] = w.body[-1].replace(" = chlo.top_k", ":2 = chlo.top_k", 1)
    w.result(r + "#0", result, element)
    w.result(r + "#1", result, "i32")


def reduce_window(w):
    rng = w.rng
    shape = sizes(rng, rng.randint(1, 3), 1, 12)
    body, init = rng.choice([("add", "0.0"), ("maximum", "0xFF800000"), ("multiply", "1.0")])
    size, stride, low, high, base, dilation, result = [], [], [], [], [], [], []
    running = rng.randrange(len(shape)) if rng.random() < 0.5 else -1
    for d, n in enumerate(shape):
        if running >= 0:
            own = d == running
            size.append(n if own else 1)
            forward = rng.random() < 0.5
            low.append(n - 1 if own and forward else 0)
            high.append(n - 1 if own and not forward else 0)
            stride.append(1), base.append(1), dilation.append(1)
        else:
            some = rng.random() < 0.6
            size.append(rng.randint(1, 3) if some else 1)
            stride.append(rng.choice([1, 2]) if some else 1)
            base.append(rng.choice([1, 1, 2]) if some else 1)
            dilation.append(rng.choice([1, 1, 2]) if some else 1)
            low.append(rng.randint(0, 3) if some else 0)
            high.append(rng.randint(0, 3) if some else 0)
        spread = (n - 1) * base[-1] + 1 + low[-1] + high[-1]
        reach = (size[-1] - 1) * dilation[-1] + 1
        if spread < reach:
            high[-1] += reach - spread
            spread = reach
        result.append((spread - reach) // stride[-1] + 1)
    x, c = w.arg(shape), w.constant(init)
    pairs = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
    def array(values):
        return f"array<i64: {', '.join(map(str, values))}>"
    y = w.op(f'"stablehlo.reduce_window"({x}, {c}) <{{base_dilations = {array(base)}, padding = '
             f"dense<[{pairs}]> : tensor<{len(shape)}x2xi64>, window_dilations = "
             f"{array(dilation)}, window_dimensions = {array(size)}, window_strides = "
             f"{array(stride)}}}> ({{\n  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
             f"    %s = stablehlo.{body} %p, %q : tensor<f32>\n"
             f"    stablehlo.return %s : tensor<f32>\n  }}) : ({tensor(shape, 'f32')}, tensor<f32>) "
             f"-> {tensor(result, 'f32')}")
    w.result(y, result)


KINDS = {"gather": gather, "scatter": scatter, "dynamic_slice": dynamic_slice,
         "dynamic_update_slice": dynamic_update_slice, "reduce": reduce, "argmax": argmax,
         "slice": slice_, "pad": pad, "concatenate": concatenate, "reverse": reverse, "sort": sort,
         "top_k": top_k, "reduce_window": reduce_window}


def main():
    seed, mesh, total = sys.argv[1], sys.argv[2], int(sys.argv[3])
    kinds = sys.argv[4:] or list(KINDS)
    axes = [pair.split("=") for pair in mesh.split(",")]
    print("pm.mesh @mesh = [" + ", ".join(f'<"{a}", spatial = {n}>' for a, n in axes) + "]")
    for number in range(total):
        kind = kinds[number % len(kinds)]
        rng = random.Random(f"{seed} {mesh} {number} {kind}")
        writer = Writer(rng, [a for a, _ in axes], f"{kind}_{number}")
        KINDS[kind](writer)
        print(writer.text())


main()
