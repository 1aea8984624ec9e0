"""Trains a small model on two ranks and on one, and shows what came out.
tools/quickstart calls it after the build."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import curves

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# From the checkout, where main goes first.
BIN = os.path.join("build", "bin")
OUT = os.path.join("build", "quickstart")
BATCH, SEQUENCE = 16, 128
RUNS = [("dp2mb2", "dp=2,mb=2", "two ranks, two micro-batches each"),
        ("one", "dp=1", "one rank")]


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


def train(bundle, model, text, steps):
    """Runs pmrun, which shows its progress. Returns the metrics of each step and
    pmrun's summary."""
    metrics = bundle + ".metrics.jsonl"
    result = subprocess.run(
        [os.path.join(BIN, "pmrun"), bundle, f"--weights={model}",
         f"--data={text}", f"--steps={steps}", f"--metrics={metrics}",
         f"--save={bundle}.trained"], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"quickstart: pmrun ended with status {result.returncode}")
    with open(metrics) as file:
        return [json.loads(line) for line in file], result.stdout.rstrip()


def main():
    parser = argparse.ArgumentParser(prog="quickstart")
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    colour = sys.stdout.isatty()
    os.chdir(ROOT)

    say("writing the text, a model with random weights and a recipe to "
        f"{OUT}/")
    text, model, recipe, parameters = prepare(args.steps)
    say(f"the model: llama architecture, 4 layers, {parameters:,} parameters, "
        f"bytes as tokens; {args.steps} updates of {BATCH} x {SEQUENCE} tokens")

    series, summaries = [], []
    for name, strategy, what in RUNS:
        bundle = os.path.join(OUT, name)
        started = time.monotonic()
        call(os.path.join(BIN, "pmc"), model, "--task=train", f"--batch={BATCH}",
             f"--sequence={SEQUENCE}", f"--strategy={strategy}",
             f"--recipe={recipe}", "-o", bundle)
        say(f"compiled for {what} ({strategy}) in "
            f"{time.monotonic() - started:.1f} s; training")
        records, summary = train(bundle, model, text, args.steps)
        summaries.append(summary)
        series.append(curves.Series(
            f"{what} ({strategy})", [(r["step"], r["loss"]) for r in records]))
    picture = os.path.join(OUT, "loss.svg")
    with open(picture, "w", encoding="utf-8") as file:
        file.write(curves.svg(series, "A byte-level model on the King James text",
                              "step", "loss (nats a byte)"))
    print()
    print(curves.terminal(series, "step", "loss (nats a byte)", colour=colour))
    first, second = ([y for _, y in one.points] for one in series)
    apart = max(abs(a - b) for a, b in zip(first, second))
    print(f"\nThe two runs' losses are at most {apart:.2g} apart: the same training, "
          "partitioned differently.")
    for (_, strategy, what), summary in zip(RUNS, summaries):
        print(f"\n{what} ({strategy}):\n{summary}")
    bundle = os.path.join(OUT, RUNS[0][0])
    call(os.path.join(BIN, "pmrun"), bundle, f"--weights={model}",
         f"--data={text}", "--steps=3", f"--trace={bundle}.trace.json", "--quiet")
    print(f"""
Files:
  {picture}  the loss curves as a picture
  {bundle}.trace.json  three steps, every instruction of each rank; open
      it at https://ui.perfetto.dev
  {bundle}.trained/  the trained model, which transformers loads too

To go on:
  # the same model on four ranks
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} \\
      --strategy=dp=4 --recipe={recipe} -o build/quickstart/dp4
  build/bin/pmrun build/quickstart/dp4 --weights={model} \\
      --data={text} --steps=50 --metrics=build/quickstart/dp4.jsonl
  # the module at every level, from the model graph to the runtime program
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} \\
      --strategy=dp=2,mb=2 --print-after-each=build/quickstart/ir -o build/quickstart/again
  # sizes and costs
  build/bin/pmc {model} --task=train --batch={BATCH} --sequence={SEQUENCE} --report
  # a real model: SmolLM2-135M
  tools/fetch-model smollm2-135m""")


if __name__ == "__main__":
    main()
