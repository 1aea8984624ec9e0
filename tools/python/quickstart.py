"""Trains a small model on eight ranks, cut along data, layers and tensors at
once, and on one rank, and shows what came out. tools/quickstart calls it after
the build."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import curves
import timeline

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# From the checkout, where main goes first.
BIN = os.path.join("build", "bin")
OUT = os.path.join("build", "quickstart")
BATCH, SEQUENCE = 16, 128
STRATEGY = "dp=2,pp=2,tp=2,mb=2,schedule=1f1b"


def say(text):
    print(f"quickstart: {text}", flush=True)


def call(*command):
    """Runs a command that must succeed; returns what it printed."""
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        print(result.stdout, file=sys.stderr)
        sys.exit(f"quickstart: failed: {' '.join(command)}")
    return result.stdout


def prepare(steps):
    """The text, the model directory and the recipe."""
    os.makedirs(OUT, exist_ok=True)
    text = os.path.join(OUT, "kjv.txt")
    if shutil.which("bible") is None:
        sys.exit("quickstart: the command 'bible' is missing; run tools/setup")
    with open(text + ".partial", "wb") as file:
        subprocess.run(["bible", "-f", "-l80", "Gen1:1-Rev22:21"], stdout=file,
                       check=True)
    os.replace(text + ".partial", text)
    need = steps * BATCH * (SEQUENCE + 1)
    have = os.path.getsize(text)
    if need > have:
        sys.exit(f"quickstart: {steps} steps read {need} bytes, but the text has "
                 f"{have}: at most --steps {have // (BATCH * (SEQUENCE + 1))}")
    model = os.path.join(OUT, "model")
    made = json.loads(call(
        os.path.join("tools", "make-model"), "--layers", "4", "--hidden",
        "128", "--heads", "4", "--kv-heads", "2", "--intermediate", "352",
        "--vocabulary", "256", "--positions", str(SEQUENCE), "-o", model))
    recipe = os.path.join(OUT, "recipe.json")
    with open(recipe, "w") as file:
        json.dump({"optimizer": "adamw", "betas": [0.9, 0.95], "epsilon": 1e-8,
                   "weight_decay": 0.1, "decay": "matrices", "clip_norm": 1.0,
                   "learning_rate": {"schedule": "cosine", "peak": 3e-3,
                                     "minimum": 3e-4,
                                     "warmup": max(1, min(20, steps // 4)),
                                     "steps": steps}}, file, indent=2)
    return text, model, recipe, made["parameters"]


def compile_bundle(model, recipe, name, strategy):
    """Compiles the training step; returns the bundle's folder and its ranks."""
    bundle = os.path.join(OUT, name)
    started = time.monotonic()
    call(os.path.join(BIN, "pmc"), model, "--task=train", f"--batch={BATCH}",
         f"--sequence={SEQUENCE}", f"--strategy={strategy}",
         f"--recipe={recipe}", "-o", bundle)
    seconds = time.monotonic() - started
    with open(os.path.join(bundle, "manifest.json")) as file:
        manifest = json.load(file)
    ranks = 1
    for axis in manifest["mesh"]:
        ranks *= axis["size"] if axis["kind"] != "temporal" else 1
    what = f"{ranks} rank{'' if ranks == 1 else 's'} ({strategy})"
    say(f"compiled for {what} in {seconds:.1f} s; training")
    return bundle, manifest, ranks, what


def train(bundle, model, text, steps, *options):
    """Runs pmrun, which shows its progress. Returns the metrics of each step and
    pmrun's summary."""
    metrics = bundle + ".metrics.jsonl"
    result = subprocess.run(
        [os.path.join(BIN, "pmrun"), bundle, f"--weights={model}",
         f"--data={text}", f"--steps={steps}", f"--metrics={metrics}",
         f"--save={bundle}.trained", *options], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"quickstart: pmrun ended with status {result.returncode}")
    with open(metrics) as file:
        return [json.loads(line) for line in file], result.stdout.rstrip()


def side_by_side(many, one, ranks):
    """The losses of both runs, at about ten of the steps."""
    every = max(1, len(one) // 10)
    chosen = sorted({*range(0, len(one), every), len(one) - 1})
    lines = [f"{'step':>8} {f'loss on {ranks} ranks':>18} {'on one rank':>14} "
             f"{'apart':>10}"]
    for step in chosen:
        a, b = many[step]["loss"], one[step]["loss"]
        lines.append(f"{step:8} {a:18.6f} {b:14.6f} {abs(a - b):10.1e}")
    return "\n".join(lines)


def megabytes(count):
    return f"{count / 1e6:.3f} MB"


def communication(manifest, ranks):
    """What all ranks together send in a step, by axis and kind."""
    of_role = ranks // len(manifest["roles"])
    sums = {}
    for role in manifest["roles"]:
        for entry in role["communication"]:
            # The parts of a refined axis, "tp.kv", go by its name.
            axes = list(dict.fromkeys(axis.split(".")[0] for axis in entry["axes"]))
            total = sums.setdefault((",".join(axes), entry["kind"]), [0, 0])
            total[0] += of_role * entry["runs"]
            total[1] += of_role * entry["runs"] * entry["wire_bytes"]
    lines = [f"{'axis':>8}  {'kind':16} {'calls a step':>14} {'bytes a step':>14}"]
    for (axes, kind), (runs, size) in sorted(sums.items()):
        lines.append(f"{axes:>8}  {kind:16} {runs:14} {megabytes(size):>14}")
    return "\n".join(lines)


def draw_timeline(trace, ranks, strategy):
    """The picture of the last step of a trace; returns its file and a line for
    each rank that says how busy it was."""
    step = timeline.Step(timeline.read(trace))
    picture = os.path.join(OUT, "timeline.svg")
    with open(picture, "w", encoding="utf-8") as file:
        file.write(timeline.svg(step, f"A training step on {ranks} ranks: "
                                f"{strategy}"))
    lines = []
    for lane in step.lanes:
        share = step.busy_share(lane)
        lines.append(f"  {lane.rank.name:30} {100 * share:4.0f} % "
                     f"{'█' * round(30 * share)}")
    return picture, "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="quickstart")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--strategy", default=STRATEGY)
    args = parser.parse_args()
    colour = sys.stdout.isatty()
    os.chdir(ROOT)

    say("writing the text, a model with random weights and a recipe to "
        f"{OUT}/")
    text, model, recipe, parameters = prepare(args.steps)
    say(f"the model: llama architecture, 4 layers, {parameters:,} parameters, "
        f"bytes as tokens; {args.steps} updates of {BATCH} x {SEQUENCE} tokens")

    bundle, manifest, ranks, many = compile_bundle(model, recipe, "ranks",
                                                   args.strategy)
    records, summary = train(bundle, model, text, args.steps)
    alone, _, _, one = compile_bundle(model, recipe, "one", "dp=1")
    reference, reference_summary = train(alone, model, text, args.steps,
                                         "--threads=2")
    series = [curves.Series(what, [(r["step"], r["loss"]) for r in run])
              for what, run in ((many, records), (one, reference))]
    picture = os.path.join(OUT, "loss.svg")
    with open(picture, "w", encoding="utf-8") as file:
        file.write(curves.svg(series, "A byte-level model on the King James text",
                              "step", "loss (nats a byte)"))
    trace = bundle + ".trace.json"
    call(os.path.join(BIN, "pmrun"), bundle, f"--weights={model}",
         f"--data={text}", "--steps=3", f"--trace={trace}", "--quiet")
    lanes, busy = draw_timeline(trace, ranks, args.strategy)

    print()
    print(curves.terminal(series, "step", "loss (nats a byte)", colour=colour))
    print(f"\n{side_by_side(records, reference, ranks)}")
    apart = max(abs(a["loss"] - b["loss"]) for a, b in zip(records, reference))
    print(f"\nThe losses are at most {apart:.2g} apart: the same training, cut into "
          f"{ranks} programs.")
    print(f"\n{many}:\n{summary}")
    print(f"\n{one}, two threads:\n{reference_summary}")
    print(f"\nWhat {ranks} ranks send to each other:")
    print(communication(manifest, ranks))
    print(f"\nHow busy each rank was in one step (waiting for others left out):\n"
          f"{busy}")
    print(f"""
Files:
  {lanes}  that step as a picture: what each rank did when
  {trace}  three steps, every instruction of each rank; open it
      at https://ui.perfetto.dev
  {picture}  the loss curves as a picture
  {bundle}.trained/  the trained model, which transformers loads too

To go on:
  # the same ranks as processes of Open MPI instead of threads: the same bits
  build/bin/pmrun {bundle} --weights={model} --data={text} \\
      --steps=20 --transport=mpi
  # another mesh; docs/training.md has the words of a strategy
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} \\
      --strategy="pp=4,mb=8,schedule=gpipe" --recipe={recipe} \\
      -o build/quickstart/pp4
  build/bin/pmrun build/quickstart/pp4 --weights={model} \\
      --data={text} --steps=20 --trace=build/quickstart/pp4.json
  tools/plot-timeline build/quickstart/pp4.json -o build/quickstart/pp4.svg
  # the module at every level, from the model graph to the runtime program
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} \\
      --strategy="{args.strategy}" \\
      --print-after-each=build/quickstart/ir -o build/quickstart/again
  # ranks, sizes, flops and bytes by axis and module
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} \\
      --strategy="{args.strategy}" --report
  # a real model: SmolLM2-135M
  tools/fetch-model smollm2-135m""")


if __name__ == "__main__":
    main()
