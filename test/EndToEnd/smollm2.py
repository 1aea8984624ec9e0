"""SmolLM2-135M against what its own library computed: three fine-tuning steps on
several meshes, and the first tokens of four prompts. Not a part of tools/check;
needs the model, and takes a few minutes and 6 GB of memory.

examples:
  tools/fetch-model smollm2-135m
  python3 test/EndToEnd/smollm2.py
  python3 test/EndToEnd/smollm2.py --model DIR --strategy dp=2,mb=2 --strategy tp=3
  python3 test/EndToEnd/smollm2.py --strategy pp=2,tp=3,mb=2 --transport mpi
"""

import argparse
import json
import os
import sys
import tempfile
import time

import harness
import tensor_file

REFERENCE = os.path.join(harness.INPUTS, "models", "smollm2-135m",
                         "reference.json")
SEQUENCES, WINDOW = 8, 129
# Nine query heads in three groups.
STRATEGIES = ["dp=2", "tp=3", "pp=2,tp=3,mb=2"]


def check(what, ours, theirs, tolerance):
    right = abs(ours - theirs) <= tolerance
    print(f"{'ok  ' if right else 'WRONG'} {what}: {ours:.6f}, the reference "
          f"{theirs:.6f}, off by {abs(ours - theirs):.2g}", flush=True)
    return right


def fine_tuning(model, reference, strategy, transport, scratch):
    """Three updates, and the loss of the first batch after them."""
    settings = reference["adamw"]
    ids = reference["text"]["token_ids"][:3 * SEQUENCES * WINDOW]
    data = harness.write_ids(os.path.join(scratch, "steps.safetensors"),
                             ids + ids[:SEQUENCES * WINDOW],
                             [4, SEQUENCES, WINDOW])
    recipe = {"optimizer": "adamw", "betas": settings["betas"],
              "epsilon": settings["eps"], "clip_norm": None,
              "weight_decay": settings["weight_decay"],
              "learning_rate": settings["lr"]}
    bundle = harness.compile_bundle(model, os.path.join(scratch, "train"),
                                    strategy, recipe, batch=SEQUENCES,
                                    sequence=WINDOW)
    # Two cores' worth of threads, whatever the number of ranks.
    options = ["--threads=2"] if strategy == "dp=1" else []
    if transport != "threads":
        options.append(f"--transport={transport}")
    metrics = harness.train(bundle, model, data, 4, *options, limit_s=3600)
    right = [check(f"loss of step {i}", step["loss"], loss, 5e-4)
             for i, (step, loss) in enumerate(zip(metrics, settings["losses"]))]
    right += [check(f"norm of the gradient of step {i}", step["grad_norm"], norm,
                    1e-3 * norm)
              for i, (step, norm) in enumerate(zip(metrics,
                                                   settings["grad_norms"]))]
    return all(right)


def first_tokens(model, reference, scratch):
    """The five likeliest tokens after each prompt. The prompts are one batch,
    filled up at the end, which a causal model does not see."""
    prompts = reference["prompts"]
    longest = max(len(prompt["ids"]) for prompt in prompts)
    rows = [prompt["ids"] + [0] * (longest - len(prompt["ids"]))
            for prompt in prompts]
    data = harness.write_ids(os.path.join(scratch, "prompts.safetensors"),
                             sum(rows, []), [1, len(prompts), longest])
    bundle = harness.compile_bundle(model, os.path.join(scratch, "eval"),
                                    task="eval", batch=len(prompts),
                                    sequence=longest)
    logits_file = os.path.join(scratch, "logits.safetensors")
    harness.train(bundle, model, data, 1, "--threads=2",
                  f"--save-logits={logits_file}", limit_s=3600)
    logits = tensor_file.read(logits_file)["logits"]
    values, vocabulary = logits.values(), logits.shape[2]
    right = True
    for i, prompt in enumerate(prompts):
        begin = (i * longest + len(prompt["ids"]) - 1) * vocabulary
        row = values[begin:begin + vocabulary]
        ours = sorted(range(vocabulary), key=lambda token: -row[token])[:5]
        theirs = [token for token, _ in prompt["top5_first_token"]]
        right &= ours == theirs
        print(f"{'ok  ' if ours == theirs else 'WRONG'} likeliest tokens after "
              f"{prompt['text'][:24]!r}: {ours}, the reference {theirs}",
              flush=True)
        for token, value in prompt["top5_first_token"]:
            right &= check(f"  logit of {token}", row[token], value, 2e-3)
    return right


def main():
    parser = argparse.ArgumentParser(
        prog="smollm2.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="DIR", default=os.path.join(
        harness.ROOT, "build", "models", "smollm2-135m"),
        help="what tools/fetch-model wrote (default: build/models/smollm2-135m)")
    parser.add_argument("--strategy", action="append", metavar="AXES",
                        help="a mesh to train on, once for each (default: "
                        f"{' and '.join(STRATEGIES)})")
    parser.add_argument("--transport", choices=harness.TRANSPORTS,
                        default="threads", help="default: threads")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.model, "config.json")):
        sys.exit(f"smollm2.py: no model in {args.model}; run "
                 "tools/fetch-model smollm2-135m")
    with open(REFERENCE) as file:
        reference = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        right = first_tokens(args.model, reference, scratch)
        for strategy in args.strategy or STRATEGIES:
            started = time.monotonic()
            print(f"{strategy} on {args.transport}", flush=True)
            right &= fine_tuning(args.model, reference, strategy,
                                 args.transport, scratch)
            print(f"({time.monotonic() - started:.0f} s)", flush=True)
    print("all as in the reference" if right else "some values are wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
