#!/usr/bin/env python3
"""Runs the test of each case with a fault in the partitioner: it must fail.

case_faults.py [--matrix] [CASE...]: for each file of ../Cases, its RUN lines with
pmopt replaced by `pmcheck passes --seed-fault` and the fault of the table below; one
of them must fail, and all pass without a fault. --matrix tries every fault, and
prints which make the case fail. The tools are found on the PATH.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent.parent / "Cases"

# What is planted, of lib/Shard/SeededFaults.h.
FAULTS = {
    "a2a-grad-crash": "dropped-sum",
    "argmax-allreduce-sum": "local-iota",
    "argmax-sharded": "local-iota",
    "concat-4-12": "local-move",
    "cumsum-sharded": "local-running",
    "dynamic-slice-clamp": "off-by-one-block",
    "full-remat-3d": "whole-reshards",
    "index-put-owner": "off-by-one-block",
    "max-of-partial": "partial-nonlinear",
    "mean-uneven": "dropped-mask",
    "mesh-shard-2d": "whole-reshards",
    "mesh-shard-uneven": "floor-blocks",
    "mesh-unused-arg": "stray-cut",
    "pad-no-strategy": "local-move",
    "partial-nonlinear": "partial-nonlinear",
    "partial-plus-scalar": "partial-product",
    "pp-exchange": "dropped-permute",
    "psum-grad": "dropped-sum",
    "psum-inside-grad": "dropped-sum",
    "replica-groups": "dropped-sum",
    "reshape-grad-accum": "whole-carry",
    "reshape-grad-accum-one-exchange": "whole-reshards",
    "rmsnorm-bwd-frozen": "no-rule",
    "scatter-add-order": "off-by-one-block",
    "uneven-col-row": "dropped-mask",
    "uneven-roundtrip": "off-by-one-block",
    "view-nonfirst-flatten": "torn-reshape",
    "view-nonfirst-flatten-two-axes": "torn-reshape",
    "vocab-parallel-padding": "unmasked-lookup",
}


def run_lines(path):
    text = path.read_text()
    return re.findall(r"^// RUN: (.*)$", text, re.M)


def with_fault(line, fault):
    """pmopt's passes by `pmcheck passes` with the fault."""
    def change(found):
        words = found.group(0).split()
        passes = [word[2:] for word in words if word.startswith("--pm-")]
        file = words[1]
        output = words[words.index("-o") + 1] if "-o" in words else "-"
        planted = f"--seed-fault={fault} " if fault else ""
        return (f"pmcheck passes {file} {','.join(passes)} {planted}"
                f"--output={output}")
    return re.sub(r"^pmopt [^|]*", change, line)


def passes(path, fault):
    """Whether all RUN lines succeed."""
    with tempfile.TemporaryDirectory() as folder:
        for line in run_lines(path):
            if "--split-input-file" in line:
                continue
            line = with_fault(line, fault)
            line = line.replace("%s", str(path)).replace("%t", f"{folder}/t")
            run = subprocess.run(["bash", "-o", "pipefail", "-c", line],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            if run.returncode:
                return False
    return True


def names_of_faults():
    run = subprocess.run(["pmcheck", "random", "--seed-fault=?"],
                         stderr=subprocess.PIPE, text=True)
    return run.stderr.split("there are ")[1].strip().split(", ")


def matrix(path):
    found = [fault for fault in names_of_faults() if not passes(path, fault)]
    return f"{path.stem}: {', '.join(found) or 'none'}"


def check(path):
    name = path.stem
    if name not in FAULTS:
        return f"{name}: no fault is named for this case"
    if not passes(path, None):
        return f"{name}: does not pass without a fault"
    if passes(path, FAULTS[name]):
        return f"{name}: passes with the fault {FAULTS[name]}"
    return ""


def main():
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    paths = [path for path in sorted(CASES.glob("*.mlir"))
             if (not wanted or path.stem in wanted)
             and "XFAIL" not in path.read_text()]
    what = matrix if "--matrix" in sys.argv else check
    lines = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(what, paths):
            if line:
                lines.append(line)
                print(line, flush=True)
    if what is check:
        print(f"{len(paths) - len(lines)} of {len(paths)} cases fail with their "
              "faults")
        return 1 if lines else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
