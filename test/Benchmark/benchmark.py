"""Speed and memory, as ratios measured in one run.

examples:
  python3 test/Benchmark/benchmark.py step-ratio
  python3 test/Benchmark/benchmark.py memory
  python3 test/Benchmark/benchmark.py compile-time
  python3 test/Benchmark/benchmark.py meshes --jax-python=venv/bin/python
  python3 test/Benchmark/benchmark.py peers --torch-python=venv/bin/python \\
      --jax-python=venv/bin/python

What is compared runs in turns, several rounds of it, so that a machine that is
busy for a while slows both; a ratio is the median over the rounds, shown with the
smallest and the largest. Build without assertions for these figures: tools/build
in a fresh build directory.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Shape:
    """A llama-architecture model and its batch."""

    def __init__(self, layers, hidden, heads, kv_heads, intermediate, vocabulary,
                 batch, sequence, tied=False):
        self.layers, self.hidden = layers, hidden
        self.heads, self.kv_heads = heads, kv_heads
        self.intermediate, self.vocabulary = intermediate, vocabulary
        self.batch, self.sequence, self.tied = batch, sequence, tied

    def make(self, out):
        command = [os.path.join(ROOT, "tools", "make-model"), "-o", out]
        for name in ("layers", "hidden", "heads", "kv_heads", "intermediate",
                     "vocabulary"):
            command += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        if self.tied:
            command.append("--tied")
        return json.loads(output(*command))["parameters"]

    def products(self):
        """The matrix products of a training step as GemmBenchmark reads them:
        for each weight [out, in] the product itself, the gradient of its input
        and its own; and those of attention: two forward and, with the scores
        computed again, five backward."""
        tokens = self.batch * self.sequence
        head = self.hidden // self.heads
        weights = [(self.hidden, self.hidden), (self.kv_heads * head, self.hidden),
                   (self.kv_heads * head, self.hidden), (self.hidden, self.hidden),
                   (self.intermediate, self.hidden),
                   (self.intermediate, self.hidden),
                   (self.hidden, self.intermediate)] * self.layers
        weights.append((self.vocabulary, self.hidden))
        lines = []
        for rows, columns in weights:
            lines += [f"1 0 1 {tokens} {rows} {columns}",
                      f"1 0 0 {tokens} {columns} {rows}",
                      f"1 1 0 {rows} {columns} {tokens}"]
        count = self.layers * self.batch * self.heads
        s = self.sequence
        lines += [f"{2 * count} 0 1 {s} {s} {head}",  # scores, twice
                  f"{count} 0 0 {s} {head} {s}",      # output
                  f"{count} 1 0 {s} {head} {s}",      # gradient of values
                  f"{count} 0 1 {s} {s} {head}",      # gradient of scores
                  f"{count} 0 0 {s} {head} {s}",      # gradient of queries
                  f"{count} 1 0 {s} {head} {s}"]      # gradient of keys
        return "\n".join(lines) + "\n"


SMOLLM2 = Shape(2, 576, 9, 3, 1536, 49152, 8, 128, tied=True)
PEERS = Shape(4, 256, 8, 4, 688, 2048, 16, 128)
PEER_ARGUMENTS = ["4", "256", "8", "4", "688", "2048", "16", "128"]


def output(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"benchmark: failed: {' '.join(command)}\n{result.stderr}")
    return result.stdout


class Bench:
    """The tools of a build and a scratch folder."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        for name in ("pmc", "pmrun"):
            if not os.path.exists(self.tool(name)):
                sys.exit(f"benchmark: {self.tool(name)} is missing; run tools/build")

    def tool(self, name):
        return os.path.join(self.build, "bin", name)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def data(self, shape, steps):
        """Random token ids for `steps` steps."""
        path = self.path(f"ids-{shape.vocabulary}.u16")
        count = steps * shape.batch * (shape.sequence + 1)
        ids = random.Random(0)
        with open(path, "wb") as file:
            for _ in range(count):
                file.write(ids.randrange(shape.vocabulary).to_bytes(2, "little"))
        return path

    def compile(self, model, shape, strategy, name):
        bundle = self.path(name)
        output(self.tool("pmc"), model, "--task=train", f"--batch={shape.batch}",
               f"--sequence={shape.sequence}", f"--strategy={strategy}", "-o",
               bundle)
        return bundle

    def step_ms(self, bundle, model, data, steps, threads=1):
        """Median time of a step, the first one left out, and what pmrun says."""
        metrics = bundle + ".metrics.jsonl"
        summary = output(self.tool("pmrun"), bundle, f"--weights={model}",
                         f"--data={data}", f"--steps={steps}",
                         f"--threads={threads}", f"--metrics={metrics}")
        with open(metrics) as file:
            times = [json.loads(line)["step_ms"] for line in file]
        return statistics.median(times[1:]), summary


def ratio_line(name, ours, theirs):
    ratios = [a / b for a, b in zip(ours, theirs)]
    return (f"{name:44} {statistics.median(ours):8.1f} ms / "
            f"{statistics.median(theirs):8.1f} ms = "
            f"{statistics.median(ratios):5.2f}  "
            f"({min(ratios):.2f} to {max(ratios):.2f})")


def step_ratio(bench, args):
    """Step time against the time of its matrix products alone in oneDNN."""
    output("ninja", "-C", bench.build, "gemm-benchmark")
    model = bench.path("smollm2-shape")
    SMOLLM2.make(model)
    data = bench.data(SMOLLM2, args.steps)
    bundle = bench.compile(model, SMOLLM2, "dp=1", "step-ratio")
    ours, theirs = [], []
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    for _ in range(args.rounds):
        ours.append(bench.step_ms(bundle, model, data, args.steps)[0])
        times = output(bench.tool("gemm-benchmark"), str(args.steps),
                       input=SMOLLM2.products(), env=environment)
        theirs.append(statistics.median(map(float, times.split())))
    print("SmolLM2's shapes, two layers, batch 8 x 128, one thread")
    print(ratio_line("step / its matrix products in oneDNN", ours, theirs))


def memory(bench, args):
    """Peak memory against parameters x 16 bytes + saved activations."""
    model = bench.path("smollm2-shape")
    parameters = SMOLLM2.make(model)
    data = bench.data(SMOLLM2, 3)
    bundle = bench.compile(model, SMOLLM2, "dp=1", "memory")
    _, summary = bench.step_ms(bundle, model, data, 3)
    peak = float(re.search(r"memory\s+([\d.]+) MB", summary).group(1)) * 1e6
    with open(os.path.join(bundle, "manifest.json")) as file:
        role = json.load(file)["roles"][0]
    saved = sum(buffer["bytes"] * buffer["slots"] for buffer in role["buffers"]
                if buffer["kind"] == "activation")
    least = parameters * 16 + saved
    print(f"parameters x 16 bytes {parameters * 16 / 1e6:.1f} MB + saved "
          f"activations {saved / 1e6:.1f} MB = {least / 1e6:.1f} MB")
    print(f"arena {role['arena_bytes'] / 1e6:.1f} MB "
          f"({role['arena_bytes'] / least:.2f} times), peak of the process "
          f"{peak / 1e6:.1f} MB ({peak / least:.2f} times)")


def compile_time(bench, args):
    """Time of each pass for 2 and for 126 layers of Llama-3.1-405B's config."""
    with open(os.path.join(ROOT, "test", "Inputs", "configs",
                           "llama-3.1-405b.json")) as file:
        config = json.load(file)
    for layers in (2, 126):
        config["num_hidden_layers"] = layers
        path = bench.path("config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        module = bench.path(f"model-{layers}.mlir")
        output(bench.tool("pmimport"), path, "--no-weights", "--task=train",
               "--batch=16", "--sequence=128", "-o", module)
        result = subprocess.run(
            [bench.tool("pmc"), module, "--task=train", "--strategy=dp=8,mb=2",
             "--timing", "-o", bench.path(f"bundle-{layers}")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"{layers} layers (status {result.returncode})")
        print(result.stdout)


def peer_ms(*command):
    text = output(*command)
    return float(re.search(r"median ([\d.]+) ms", text).group(1))


def peers(bench, args):
    """The same step in PyTorch and JAX, in turns with ours."""
    model = bench.path("peers-shape")
    PEERS.make(model)
    data = bench.data(PEERS, args.steps)
    torch = [args.torch_python, os.path.join(args.peers, "torch_step.py")]
    jax = [args.jax_python, os.path.join(args.peers, "jax_step.py")]
    tail = PEER_ARGUMENTS + [str(args.steps)]
    rows = [("dp=1", 2, "torch single", [*torch, "single", "1"]),
            ("dp=1", 2, "torch compile", [*torch, "compile", "1"]),
            ("dp=2", 1, "torch ddp, 2 ranks", [*torch, "ddp", "2"]),
            ("dp=2", 1, "jax, 2 devices", [*jax, "2", "1"]),
            ("dp=8", 1, "torch ddp, 8 ranks", [*torch, "ddp", "8"]),
            ("dp=8", 1, "jax, 8 devices", [*jax, "8", "1"])]
    bundles = {strategy: bench.compile(model, PEERS, strategy, strategy)
               for strategy in ("dp=1", "dp=2", "dp=8")}
    ours = [[] for _ in rows]
    theirs = [[] for _ in rows]
    for round_number in range(args.rounds):
        for i, (strategy, threads, name, command) in enumerate(rows):
            if not command[0]:
                continue
            ours[i].append(bench.step_ms(bundles[strategy], model, data,
                                         args.steps, threads)[0])
            theirs[i].append(peer_ms(*command, *tail))
            print(f"  round {round_number + 1}: {strategy} {ours[i][-1]:.1f} ms, "
                  f"{name} {theirs[i][-1]:.1f} ms", flush=True)
    print("4 layers, hidden 256, vocabulary 2048, batch 16 x 128, float32")
    for i, (strategy, threads, name, _) in enumerate(rows):
        if ours[i]:
            label = f"ours {strategy}, {threads} thread(s) / {name}"
            print(ratio_line(label, ours[i], theirs[i]))


# Meshes of one, two, four and eight ranks, with the micro-batches that fill their
# pipelines. The batch of all ranks is the same on each.
MESHES = ["dp=1",
          "dp=2", "tp=2", "pp=2,mb=4", "pp=2,mb=8",
          "dp=4", "tp=4", "dp=2,tp=2", "dp=2,pp=2,mb=4", "pp=2,tp=2,mb=4",
          "pp=4,mb=8",
          "dp=8", "dp=4,tp=2", "dp=2,tp=4", "dp=2,pp=2,tp=2,mb=4",
          "pp=4,tp=2,mb=8"]


def sizes(strategy):
    """{"dp": 2, ...} of a strategy; 1 where it has no axis of the name."""
    given = dict(item.split("=") for item in strategy.split(","))
    return {axis: int(given.get(axis, 1)) for axis in ("dp", "pp", "tp", "mb")}


def ranks_of(strategy):
    axes = sizes(strategy)
    return axes["dp"] * axes["pp"] * axes["tp"]


def shares(summary):
    """Where the time of all ranks went, in percent by column of pmrun's summary:
    {"gemm": 61.2, ...}."""
    lines = summary.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("time "))
    names = [name for name in lines[head].split()[1:] if name != "GFLOP/s"]
    sums, count = dict.fromkeys(names, 0.0), 0
    for line in lines[head + 1:]:
        if not line.lstrip().startswith("rank "):
            break
        for name, value in zip(names, re.findall(r"([\d.]+)%", line)):
            sums[name] += float(value)
        count += 1
    return {name: total / count for name, total in sums.items()}


def meshes(bench, args):
    """Every mesh with one thread a rank against one rank with two threads, and
    against JAX: its same mesh of dp and tp, or its best on as many devices."""
    model = bench.path("peers-shape")
    PEERS.make(model)
    data = bench.data(PEERS, args.steps)
    chosen = args.mesh or MESHES
    bundles = {strategy: bench.compile(model, PEERS, strategy, f"mesh-{i}")
               for i, strategy in enumerate(chosen)}
    base_bundle = bundles.get("dp=1") or bench.compile(model, PEERS, "dp=1", "base")
    jax_meshes = sorted({(axes["dp"], axes["tp"]) for axes in map(sizes, chosen)
                         if axes["pp"] == 1 and axes["dp"] * axes["tp"] > 1})
    jax_meshes = jax_meshes if args.jax_python else []
    base, ours = [], {strategy: [] for strategy in chosen}
    jax = {mesh: [] for mesh in jax_meshes}
    spent = {}
    for number in range(args.rounds):
        base.append(bench.step_ms(base_bundle, model, data, args.steps, 2)[0])
        print(f"  round {number + 1}: one rank, two threads {base[-1]:.1f} ms",
              flush=True)
        for strategy, bundle in bundles.items():
            time, summary = bench.step_ms(bundle, model, data, args.steps)
            ours[strategy].append(time)
            spent[strategy] = shares(summary)
            print(f"  round {number + 1}: {strategy} {time:.1f} ms", flush=True)
        for mesh in jax_meshes:
            jax[mesh].append(peer_ms(
                args.jax_python, os.path.join(args.peers, "jax_step.py"),
                *map(str, mesh), *PEER_ARGUMENTS, str(args.steps)))
            print(f"  round {number + 1}: jax dp={mesh[0]},tp={mesh[1]} "
                  f"{jax[mesh][-1]:.1f} ms", flush=True)

    def ratio(times, others):
        return statistics.median(a / b for a, b in zip(times, others))

    print(f"\n4 layers, hidden 256, vocabulary 2048, batch 16 x 128, float32; "
          f"medians of {args.rounds} rounds of {args.steps} steps; "
          f"{os.cpu_count()} cores\n"
          f"one rank, two threads: {statistics.median(base):.1f} ms a step\n")
    columns = sorted({name for shares_of in spent.values() for name in shares_of},
                     key=list(next(iter(spent.values()))).index)
    print(f"{'ranks':>5} {'mesh':22} {'ms':>8} {'to one':>7} {'jax ms':>8} "
          f"{'to jax':>7}   " + " ".join(f"{name:>11}" for name in columns))
    for strategy in chosen:
        axes = sizes(strategy)
        count = ranks_of(strategy)
        same = [mesh for mesh in jax if (mesh == (axes["dp"], axes["tp"])
                                         if axes["pp"] == 1 else
                                         mesh[0] * mesh[1] == count)]
        theirs = min((jax[mesh] for mesh in same), key=statistics.median,
                     default=None)
        beside = f"{statistics.median(theirs):8.1f} " \
            f"{ratio(ours[strategy], theirs):7.2f}" if theirs else \
            f"{'-':>8} {'-':>7}"
        print(f"{count:5} {strategy:22} {statistics.median(ours[strategy]):8.1f} "
              f"{ratio(ours[strategy], base):7.2f} {beside}   " +
              " ".join(f"{spent[strategy][name]:9.1f} %" for name in columns))
    print("\nto one: against one rank with two threads. to jax: against the same "
          "mesh in JAX, or,\nwith pp, its best of as many devices. The last "
          "columns: where the time of a rank went.")


def main():
    parser = argparse.ArgumentParser(
        prog="benchmark.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = {"step-ratio": step_ratio, "memory": memory,
            "compile-time": compile_time, "peers": peers, "meshes": meshes}
    parser.add_argument("what", choices=sorted(what))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"),
                        help="build directory (default: build/)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--steps", type=int, default=8,
                        help="steps of a run (default: 8)")
    parser.add_argument("--peers",
                        default=os.path.join(os.path.dirname(ROOT), "shared",
                                             "peers"),
                        help="folder of torch_step.py and jax_step.py")
    parser.add_argument("--torch-python", help="a Python that has torch")
    parser.add_argument("--jax-python",
                        default=os.environ.get("PIPEMESH_JAX_PYTHON"),
                        help="a Python that has jax (default: that of the "
                        "environment variable PIPEMESH_JAX_PYTHON)")
    parser.add_argument("--mesh", action="append", metavar="AXES",
                        help="of meshes: one to measure, once for each (default: "
                        "sixteen of them)")
    args = parser.parse_args()
    if args.what == "peers" and not (args.torch_python or args.jax_python):
        parser.error("peers needs --torch-python or --jax-python")
    if args.steps < 2 or args.rounds < 1:
        parser.error("--steps must be at least 2 and --rounds at least 1")
    with tempfile.TemporaryDirectory() as scratch:
        what[args.what](Bench(os.path.abspath(args.build), scratch), args)


if __name__ == "__main__":
    main()
