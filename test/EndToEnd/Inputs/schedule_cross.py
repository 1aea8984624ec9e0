#!/usr/bin/env python3
"""Every pipeline schedule for real, over all combinations: losses and gradients are
those of the reference, and every rank does what its list says, in that order.

  nice -n 15 test/EndToEnd/Inputs/schedule_cross.py [--part=I/N] [--log=FILE] [--only=TEXT]

The dense models of test/Inputs/models on two stages, against what their own library
computed; generated llamas of 8 and 16 layers on four and eight ranks and with two
chunks, against one rank, which the tests check against the library. Each with 1, 2, 4,
8 and more micro-batches than stages, alone, with tp=2 and with dp=2. Prints the counts
of passed and refused combinations, these with their reasons, and fails where one does
neither. With --log, what is in the file already is not run again."""

import argparse
import collections
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import harness  # noqa: E402
import tensor_file  # noqa: E402

ONE = ["gpipe", "1f1b", "zb-h1", "zb-h2", "zb-auto"]
TWO = ["interleaved-1f1b", "looped-bfs", "zb-v", "dualpipe-v"]
LETTERS = {"forward": "F", "input_gradient": "I", "weight_gradient": "W",
           "backward": "B"}
TOLERANCE = 1e-4  # of the largest value, as pmrun --compare


def make_cases():
    """(model, strategy) of all combinations."""
    for model in harness.MODELS:
        for schedule in ONE + TWO:
            for count in (1, 2, 4, 8):
                for beside in ("", "tp=2,", "dp=2,"):
                    yield model, f"{beside}pp=2,mb={count},schedule={schedule}"
    for layers in (8, 16):
        for ranks in (4, 8):
            for schedule in ONE + TWO:
                # Two chunks have an option of their own where another number works.
                stages = ranks * (2 if schedule in TWO else 1)
                for count in (1, 2, 4, 8, stages + 2):
                    for beside in ("", "tp=2,", "dp=2,"):
                        yield (f"deep{layers}",
                               f"{beside}pp={ranks},mb={count},"
                               f"schedule={schedule}"
                               + (",chunks=2" if schedule in TWO else ""))


class Model:
    """A model, a batch of data, and the right loss and gradients."""

    def __init__(self, name, folder):
        self.folder = folder
        if name.startswith("deep"):
            self.batch, self.sequence = 36, 8
            self.directory = os.path.join(folder, name)
            subprocess.run(
                [sys.executable, os.path.join(harness.ROOT, "tools", "make-model"),
                 "--layers", name[4:], "--hidden", "32", "--heads", "4",
                 "--kv-heads", "2", "-o", self.directory],
                check=True, stdout=subprocess.DEVNULL)
            count = self.batch * self.sequence
            self.data = harness.write_ids(
                os.path.join(folder, name + ".safetensors"),
                [i * i * 31 % 251 for i in range(count)],
                [1, self.batch, self.sequence])
            bundle = harness.compile_bundle(
                self.directory, os.path.join(folder, name + ".one"),
                batch=self.batch, sequence=self.sequence)
            self.loss, self.gradients = self.run(bundle)
        else:
            self.batch, self.sequence = harness.BATCH, harness.SEQUENCE
            reference = harness.Reference(name)
            self.directory = reference.directory
            self.data = reference.write_data(
                os.path.join(folder, name + ".safetensors"))
            self.loss = reference.numbers["step0"]["loss"]
            self.gradients = {
                key: numpy.array(value.values(), dtype=numpy.float64)
                for key, value in reference.gradients.items()}

    def run(self, bundle, *options):
        saved = bundle + ".gradients.safetensors"
        metrics = harness.train(bundle, self.directory, self.data, 1,
                                f"--save-gradients={saved}", "--quiet", *options)
        gradients = {key: numpy.array(value.values(), dtype=numpy.float64)
                     for key, value in tensor_file.read(saved).items()}
        return metrics[0]["loss"], gradients


def read_lists(path):
    """Of each rank what --simulate=FILE.csv says that it does."""
    lists = collections.defaultdict(list)
    with open(path) as file:
        for row in csv.DictReader(file):
            if "U" not in row["action"]:
                lists[int(row["rank"])].append(row["action"])
    return lists


def check(model, strategy, folder):
    """'passed', or 'refused: REASON'; raises where it is wrong."""
    bundle = os.path.join(folder, "bundle")
    planned = os.path.join(folder, "lists.csv")
    compiled = harness.execute(
        "pmc", model.directory, f"--batch={model.batch}",
        f"--sequence={model.sequence}", f"--strategy={strategy}", "-o", bundle,
        f"--simulate={planned}")
    if compiled.returncode:
        lines = [line for line in compiled.stderr.splitlines() if "error:" in line]
        if compiled.returncode != 1 or not lines:
            raise AssertionError(f"pmc: {compiled.stderr}")
        return "refused: " + lines[0].split("error: ", 1)[1]
    trace = os.path.join(folder, "trace.json")
    loss, gradients = model.run(bundle, "--poison", f"--trace={trace}")
    if abs(loss - model.loss) > 1e-4:
        raise AssertionError(f"the loss is {loss}, not {model.loss}")
    for name, right in model.gradients.items():
        ours = gradients[name]
        largest = float(numpy.abs(right).max()) or 1.0
        worst = float(numpy.abs(ours - right).max())
        if not worst <= TOLERANCE * largest:
            raise AssertionError(f"the gradient of {name} is off by {worst} of "
                                 f"{largest}")
    lists = read_lists(planned)
    words = dict(word.split("=") for word in strategy.split(","))
    check_names(words, lists)
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    ran = collections.defaultdict(list)
    for event in sorted((e for e in events if e.get("cat") == "action"),
                        key=lambda e: e["ts"]):
        what = event["args"]
        if what["kind"] in LETTERS:
            ran[event["pid"]].append(f"{what['stage']}{LETTERS[what['kind']]}"
                                     f"{what['micro_batch']}")
    # Ranks in the order of the axes; the role is the coordinate of pp.
    inner = 1
    for axis, size in reversed([(k, int(v)) for k, v in words.items()
                                if k in ("dp", "tp", "pp")]):
        if axis == "pp":
            break
        inner *= size
    ranks = int(words["pp"])
    if not ran:
        raise AssertionError("the trace has no action")
    for rank, actions in ran.items():
        if actions != lists[rank // inner % ranks]:
            raise AssertionError(f"rank {rank} ran {actions}, but its list is "
                                 f"{lists[rank // inner % ranks]}")
    return "passed"


def check_names(words, lists):
    """The compiled lists are those of the schedule of that name."""
    if words["schedule"] == "zb-auto":
        return
    arguments = [f"--name={words['schedule']}", f"--ranks={words['pp']}",
                 f"--microbatches={words['mb']}"]
    if "chunks" in words:
        arguments.append(f"--chunks={words['chunks']}")
    made = json.loads(harness.succeed("pmcheck", "schedule", *arguments))
    for rank, row in enumerate(made["actions"]):
        flat = []
        for cell in row:
            flat += [cell] if isinstance(cell, str) else cell[1:]
        # A whole backward of a schedule that has parts runs as both.
        split = any("I" in cell for cell in lists[rank])
        wanted = []
        for cell in flat:
            wanted += [cell.replace("B", "I"), cell.replace("B", "W")] \
                if split and "B" in cell else [cell]
        if wanted != lists[rank]:
            raise AssertionError(f"rank {rank} of the program has {lists[rank]}, "
                                 f"but the schedule {wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--log")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    done = {}
    if arguments.log and os.path.exists(arguments.log):
        with open(arguments.log) as file:
            for line in file:
                model, strategy, result = line.rstrip("\n").split("\t")
                done[model, strategy] = result
    # In a mixed order, so that a run that was stopped has seen all kinds.
    cases = list(make_cases())
    random.Random(0).shuffle(cases)
    cases = [case for i, case in enumerate(cases) if i % parts == part
             and arguments.only in " ".join(case)]
    models, results = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, strategy in cases:
            result = done.get((name, strategy))
            if result is None:
                if name not in models:
                    models[name] = Model(name, folder)
                try:
                    with tempfile.TemporaryDirectory() as scratch:
                        result = check(models[name], strategy, scratch)
                except AssertionError as error:
                    result = "failed: " + " ".join(str(error).split())[:400]
                if arguments.log:
                    with open(arguments.log, "a") as file:
                        file.write(f"{name}\t{strategy}\t{result}\n")
            results.append(result)
            if result.startswith("failed"):
                print(f"{name} {strategy}: {result}", flush=True)
    kinds = collections.Counter(result.split(":")[0] for result in results)
    print(f"{len(results)} combinations: {kinds['passed']} passed, "
          f"{kinds['refused']} refused, {kinds['failed']} failed")
    for reason, count in collections.Counter(
            result for result in results
            if result.startswith("refused")).most_common():
        print(f"  {count} {reason}")
    return 1 if kinds["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
