"""What partitioning a training step of Llama-3.1-405B's shapes costs the compiler.

examples:
  python3 test/Benchmark/partition_benchmark.py --jax-python=venv/bin/python
  python3 test/Benchmark/partition_benchmark.py --layers=126 --rounds=5 \\
      --jax-python=venv/bin/python
  python3 test/Benchmark/partition_benchmark.py --own --build=build

Without --own: the step that shared/peers/xla_405b.py writes with JAX for each
number of layers, from its text to the partitioned level, in turns with jaxlib's
own parser and Shardy's propagation on the same text. With --own: our import of
the model's config.json up to the scheduled program of all ranks, for meshes of 16
to 16384 devices. CPU seconds, the fewest of the rounds. Build without assertions
(tools/build in a fresh build directory).
"""

import argparse
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = ["parse", "verify", "import", "propagate", "partition"]
OWN_MESHES = ["dp=1,pp=2,tp=8", "dp=1,pp=16,tp=8", "dp=8,pp=16,tp=8",
              "dp=128,pp=16,tp=8"]


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          **options).stdout


def times_of(text):
    return {name: float(value)
            for name, value in re.findall(r"(\w+) ([\d.]+)", text)}


def beside_jax(args, scratch):
    script = os.path.join(args.peers, "xla_405b.py")
    print("CPU seconds; of jaxlib: its parser (which verifies), and "
          "sdy-propagation-pipeline")
    print(f"{'layers':>6} {'lines':>6} " +
          " ".join(f"{step:>9}" for step in STEPS) + f" {'MB':>6}   "
          f"{'jax parse':>9} {'jax prop.':>9}")
    for layers in args.layers:
        module = os.path.join(scratch, f"{layers}.mlir")
        output(args.jax_python, script, str(layers), "16",
               env=dict(os.environ, NOCOMPILE="1", DUMP=module))
        with open(module) as file:
            lines = sum(1 for _ in file)
        ours, theirs = {}, {}
        for _ in range(args.rounds):
            for best, text in (
                    (ours, output(os.path.join(args.build, "bin",
                                               "partition-benchmark"),
                                  module, "1")),
                    (theirs, output(args.jax_python,
                                    os.path.join(os.path.dirname(__file__),
                                                 "jaxlib_passes.py"),
                                    module, "1"))):
                for name, value in times_of(text).items():
                    best[name] = min(value, best.get(name, value))
        print(f"{layers:6} {lines:6} " +
              " ".join(f"{ours[step]:9.3f}" for step in STEPS) +
              f" {ours['MB']:6.0f}   {theirs['parse']:9.3f} "
              f"{theirs['propagate']:9.3f}", flush=True)


def own_import(args, scratch):
    with open(os.path.join(ROOT, "test", "Inputs", "configs",
                           "llama-3.1-405b.json")) as file:
        config = json.load(file)
    print("our import of config.json, batch 1024 x 8192, mb=8, 1f1b, zero=1, to "
          "the scheduled program")
    print(f"{'layers':>6} {'mesh':20} {'devices':>7} {'CPU s':>7} {'MB':>6}")
    runs = [(layers, OWN_MESHES[-1]) for layers in args.layers if layers >= 16]
    runs += [(126, mesh) for mesh in OWN_MESHES[:-1]]
    for layers, mesh in runs:
        config["num_hidden_layers"] = layers
        path = os.path.join(scratch, "config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        best, megabytes = 1e9, 0
        for _ in range(args.rounds):
            seconds = 0
            model = os.path.join(scratch, "model.mlir")
            for command in (["pmimport", path, "--no-weights", "--batch=1024",
                             "--sequence=8192", "-o", model],
                            ["pmc", model, f"--strategy={mesh},mb=8,zero=1",
                             "--schedule=1f1b", "--emit=scheduled", "-o",
                             os.path.join(scratch, "scheduled.mlir")]):
                command[0] = os.path.join(args.build, "bin", command[0])
                _, status, usage = os.wait4(
                    os.posix_spawn(command[0], command, os.environ), 0)
                if status:
                    raise SystemExit(f"failed: {' '.join(command)}")
                seconds += usage.ru_utime + usage.ru_stime
                megabytes = max(megabytes, usage.ru_maxrss / 1024)
            best = min(best, seconds)
        devices = 1
        for size in re.findall(r"=(\d+)", mesh):
            devices *= int(size)
        print(f"{layers:6} {mesh:20} {devices:7} {best:7.2f} {megabytes:6.0f}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(
        prog="partition_benchmark.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"),
                        help="build directory, in which the target "
                        "partition-benchmark is built (default: build/)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--layers", type=lambda text: [int(n) for n in
                                                       text.split(",")],
                        default=[1, 8, 16, 32, 64, 126],
                        help="default: 1,8,16,32,64,126")
    parser.add_argument("--own", action="store_true",
                        help="measure our own import instead")
    parser.add_argument("--peers",
                        default=os.path.join(os.path.dirname(ROOT), "shared",
                                             "peers"),
                        help="folder of xla_405b.py")
    parser.add_argument("--jax-python",
                        default=os.environ.get("PIPEMESH_JAX_PYTHON"),
                        help="a Python that has jax (default: that of the "
                        "environment variable PIPEMESH_JAX_PYTHON)")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not args.own and not args.jax_python:
        parser.error("needs --jax-python, or --own")
    with tempfile.TemporaryDirectory() as scratch:
        (own_import if args.own else beside_jax)(args, scratch)


if __name__ == "__main__":
    main()
