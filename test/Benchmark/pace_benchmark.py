#!/usr/bin/env python3
"""Whether a step takes as long as its schedule says: fragments that sleep to known
deadlines (pmrun --pace) against the simulation of the same lists and costs.

  test/Benchmark/pace_benchmark.py BUILD_DIR [--ranks=2,4,8] [--unit=40] [--steps=3]

For each schedule on 2, 4 and 8 ranks: the simulated makespan, the executed one (from
the first start to the last end of a fragment, the median of the steps), and how far
they are apart. Fails where one is more than 5 % off, or where of two schedules whose
simulated times are at least 5 % apart the other one ran faster."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ONE = ["gpipe", "1f1b", "zb-h1", "zb-h2", "zb-auto"]
TWO = ["interleaved-1f1b", "looped-bfs", "zb-v", "dualpipe-v"]
LIMIT = 0.05


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"status {result.returncode}: {' '.join(command)}\n"
                 f"{result.stdout}{result.stderr}")
    return result.stdout


def write_costs(path, stages, scale):
    """Milliseconds that differ between stages, as those of layers do."""
    with open(path, "w") as file:
        file.write("stage,F,I,W,U,transfer\n")
        for stage in range(stages):
            part = scale * (1 + 0.2 * (stage % 3))
            file.write(f"{stage},{part:.3f},{1.1 * part:.3f},{0.7 * part:.3f},0,0\n")


def measure(trace):
    """The median of the steps' makespans, in milliseconds."""
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    steps = {}
    for event in events:
        what = event.get("args", {})
        if event.get("cat") == "action" and "kind" in what and what["kind"] in (
                "forward", "input_gradient", "weight_gradient", "backward"):
            begin, end = steps.get(what["step"], (float("inf"), 0))
            steps[what["step"]] = (min(begin, event["ts"]),
                                   max(end, event["ts"] + event["dur"]))
    return statistics.median(end - begin for begin, end in steps.values()) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--unit", type=float, default=40,
                        help="milliseconds of a forward of a rank")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()

    def tool(name):
        return os.path.join(arguments.build, "bin", name)

    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        model = path("model")
        run([sys.executable, os.path.join(ROOT, "tools", "make-model"), "--layers",
             "16", "--hidden", "32", "--heads", "4", "-o", model])
        with open(path("data.txt"), "w") as file:
            file.write("0123456789abcdef" * 16 * arguments.steps)
        for ranks in map(int, arguments.ranks.split(",")):
            times = []
            for schedule in ONE + TWO:
                chunks = 2 if schedule in TWO else 1
                costs = path("costs.csv")
                write_costs(costs, ranks * chunks, arguments.unit / chunks)
                strategy = f"pp={ranks},mb=8,schedule={schedule}" + (
                    ",chunks=2" if chunks == 2 else "")
                printed = run([tool("pmc"), model, "--batch=8", "--sequence=16",
                               f"--strategy={strategy}", "--simulate",
                               f"--costs={costs}", "-o", path("bundle")])
                simulated = float(printed.split("makespan ")[1].split(",")[0])
                run([tool("pmrun"), path("bundle"), f"--weights={model}",
                     f"--data={path('data.txt')}", f"--steps={arguments.steps}",
                     f"--pace={costs}", f"--trace={path('trace.json')}", "--quiet"])
                executed = measure(path("trace.json"))
                off = executed / simulated - 1
                wrong = abs(off) > LIMIT
                failures += wrong
                times.append((schedule, simulated, executed))
                print(f"pp={ranks} {schedule:17} simulated {simulated:9.2f} ms  "
                      f"executed {executed:9.2f} ms  {off:+7.2%}"
                      f"{'  TOO FAR' if wrong else ''}", flush=True)
            for a, simulated_a, executed_a in times:
                for b, simulated_b, executed_b in times:
                    if simulated_a * (1 + LIMIT) <= simulated_b and \
                            executed_a >= executed_b:
                        failures += 1
                        print(f"pp={ranks}: {a} is simulated before {b}, but ran "
                              "after it")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
