#!/usr/bin/env python3
"""Every fault of pmrun --inject, on every rank of a job with pipeline and tensor
parallelism, at the first, a middle and the last collective and transfer of two steps,
with ranks as threads and as processes: each ends with its own status and the name of
the rank that failed, within the deadline and five seconds, and no process is left.

  nice -n 15 test/EndToEnd/Inputs/fault_matrix.py [--log=FILE] [--only=TEXT] [--private]

With --private each process has a folder of its own for its records, as on machines that
share no files. Processes that a signal kills or stops from outside are in it too. Prints
the counts, and the longest time over the deadline. With --log, what is in the file
already is not run again."""

import argparse
import array
import collections
import csv
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import harness  # noqa: E402

RANKS = 4
STEPS = 2
DEADLINE_S = 3.0
GRACE_S = 5.0
LIMIT_S = 40.0
LATE, MISMATCH, KILLED = 3, 4, 128 + signal.SIGKILL
KINDS = ["kill", "stall", "skip", "wrong-size", "slow", "late"]


class Faults:
    def __init__(self, folder, private):
        reference = harness.Reference("llama")
        self.folder, self.private = folder, private
        self.bundle = harness.compile_bundle(
            reference.directory, os.path.join(folder, "bundle"),
            "pp=2,tp=2,mb=2", harness.clipped_recipe())
        self.weights = reference.directory
        self.data = reference.write_data(os.path.join(folder, "data.safetensors"))
        tokens = random.Random(0)
        self.long_data = os.path.join(folder, "long.u16")
        with open(self.long_data, "wb") as file:
            array.array("H", (tokens.randrange(250)
                              for _ in range(4000000))).tofile(file)
        trace = os.path.join(folder, "trace.json")
        metrics = harness.train(self.bundle, self.weights, self.data, STEPS,
                                f"--trace={trace}", "--quiet")
        self.losses = [step["loss"] for step in metrics]
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        self.operations = [
            [event["cat"] for event in sorted(
                (e for e in events if e.get("pid") == rank and
                 e.get("cat") in ("collective", "transfer")),
                key=lambda e: e["ts"])]
            for rank in range(RANKS)]

    def cases(self):
        """(transport, kind, rank, what, number of the operation)"""
        for transport in harness.TRANSPORTS:
            for rank in range(RANKS):
                for what in ("collective", "transfer"):
                    places = [i + 1 for i, one in
                              enumerate(self.operations[rank]) if one == what]
                    for kind in KINDS:
                        for place in (places[0], places[len(places) // 2],
                                      places[-1]):
                            yield transport, kind, rank, what, place
        for kind in ("SIGKILL", "SIGSTOP"):
            for rank in range(RANKS):
                for what in ("process", "supervisor"):
                    if (kind, what) != ("SIGSTOP", "supervisor"):
                        yield "mpi", kind, rank, what, 0

    def command(self, transport, data, *options):
        arguments = [harness.tool("pmrun"), self.bundle,
                     f"--weights={self.weights}", f"--data={data}", "--quiet",
                     f"--deadline={DEADLINE_S}s", *options]
        if transport == "threads":
            return arguments
        # Each process has its own folder for temporary files where that is asked.
        wrapper = ["sh", "-c", 'export TMPDIR="$1/$OMPI_COMM_WORLD_RANK"; '
                   'mkdir -p "$TMPDIR"; shift; exec "$@"', "sh",
                   os.path.join(self.folder, "private")]
        return ["mpirun", "-q", "--oversubscribe", "--bind-to", "none", "-n",
                str(RANKS), *(wrapper if self.private else []), *arguments]

    def processes(self):
        """{pid: environment} of those that run ranks of the bundle."""
        found = {}
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                with open(folder + "/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if self.bundle.encode() not in words or \
                        not words[0].endswith(b"pmrun"):
                    continue
                with open(folder + "/environ", "rb") as file:
                    found[int(os.path.basename(folder))] = \
                        file.read().split(b"\0")
            except OSError:
                continue  # it has ended
        return found

    def start(self, command):
        environment = dict(harness.mpirun_environment(), TMPDIR=self.folder)
        return subprocess.Popen(command, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                errors="replace", env=environment)

    def finish(self, job, limit_s):
        """(status, errors), None as the status of a job that had to be ended."""
        try:
            _, errors = job.communicate(timeout=limit_s)
            return job.returncode, errors
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            job.kill()
            return None, job.communicate()[1]

    def left(self):
        end = time.monotonic() + 2
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        return self.processes()

    def run(self, transport, kind, rank, what, place):
        """(problem or "", seconds over the deadline, line)"""
        if kind in ("SIGKILL", "SIGSTOP"):
            return self.run_signal(kind, rank, what)
        name, milliseconds = {"slow": ("slow", ",ms=300"),
                              "late": ("slow", ",ms=60000")}.get(kind, (kind, ""))
        metrics = os.path.join(self.folder, "metrics.jsonl")
        if os.path.exists(metrics):
            os.remove(metrics)
        begin = time.monotonic()
        job = self.start(self.command(
            transport, self.data, f"--steps={STEPS}", f"--metrics={metrics}",
            f"--inject={name}:rank={rank},op={place}{milliseconds}"))
        status, errors = self.finish(job, LIMIT_S)
        over = time.monotonic() - begin - DEADLINE_S
        if kind == "slow":
            losses = [step["loss"] for step in harness.read_metrics(metrics)] \
                if status == 0 else []
            problem = "" if status == 0 and losses == self.losses and \
                not errors else f"status {status}, losses {losses}"
            return self.judge(problem, 0, errors)
        expected = {"kill": [KILLED] if transport == "mpi" else [LATE],
                    "stall": [LATE], "late": [LATE], "wrong-size": [MISMATCH],
                    "skip": [LATE, MISMATCH]}[kind]
        return self.judge(self.problem(status, errors, rank, expected), over,
                          errors)

    def run_signal(self, kind, rank, what):
        metrics = os.path.join(self.folder, "metrics.jsonl")
        if os.path.exists(metrics):
            os.remove(metrics)
        job = self.start(self.command("mpi", self.long_data,
                                      f"--metrics={metrics}"))
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(metrics) or not os.path.getsize(metrics):
            if time.monotonic() > end or job.poll() is not None:
                return f"did not begin: {self.finish(job, 0)}", 0, ""
            time.sleep(0.02)
        own = f"OMPI_COMM_WORLD_RANK={rank}".encode()
        ranks = {pid for pid, environment in self.processes().items()
                 if own in environment}
        child = next(pid for pid in ranks if parent_of(pid) in ranks)
        begin = time.monotonic()
        os.kill(child if what == "process" else parent_of(child),
                getattr(signal, kind))
        status, errors = self.finish(job, LIMIT_S)
        over = time.monotonic() - begin - DEADLINE_S
        # mpirun has a status of its own where it sees the signal itself.
        expected = [KILLED] if kind == "SIGKILL" else [LATE]
        return self.judge(self.problem(status, errors, rank, expected), over,
                          errors)

    def problem(self, status, errors, rank, expected):
        lines = [line for line in errors.splitlines()
                 if line.startswith("pmrun: error: ")]
        if status is None:
            return f"hangs; {errors}"
        if status not in expected:
            return f"status {status} is not in {expected}; {errors}"
        if len(lines) != 1:
            return f"{len(lines)} lines; {errors}"
        if f"rank {rank} " not in lines[0] and f"rank {rank}:" not in lines[0] \
                and f"rank {rank}," not in lines[0]:
            return f"rank {rank} is not named; {lines[0]}"
        return ""

    def judge(self, problem, over, errors):
        left = self.left()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if left:
            problem += f"; left processes: {len(left)}"
        if over > GRACE_S:
            problem += f"; {over:.1f} s over the deadline"
        return problem, over, errors.strip().replace("\n", " | ")


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--private", action="store_true")
    options = parser.parse_args()
    done = {}
    if options.log and os.path.exists(options.log):
        with open(options.log, newline="") as file:
            done = {row[0]: row for row in csv.reader(file)}
    counts, longest, failures = collections.Counter(), 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(folder, options.private)
        for case in faults.cases():
            name = "{} {}:rank={},{}={}".format(*case)
            if options.only not in name:
                continue
            if name not in done:
                row = [name, *map(str, faults.run(*case))]
                done[name] = row
                if options.log:
                    with open(options.log, "a", newline="") as file:
                        csv.writer(file).writerow(row)
            _, problem, over, line = done[name]
            counts[case[0], case[1], "failed" if problem else "passed"] += 1
            longest = max(longest, float(over))
            if problem:
                failures.append(name)
                print(f"{name}: {problem}", flush=True)
    for (transport, kind, result), count in sorted(counts.items()):
        print(f"{transport:8} {kind:12} {result} {count}")
    print(f"{sum(counts.values())} faults, {len(failures)} failed; at most "
          f"{longest:.1f} s over the deadline, the start included")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
