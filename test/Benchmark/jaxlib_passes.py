"""CPU seconds that jaxlib takes to parse a StableHLO module and to propagate its
shardings (Shardy's sdy-propagation-pipeline, without MLIR's verifier between the
passes), the fewest of some rounds.

usage: jaxlib_passes.py MODULE.mlir [ROUNDS]
"""

import sys
import time

from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager


def measure(text):
    context = mlir.make_ir_context()
    start = time.process_time()
    module = ir.Module.parse(text, context)
    parsed = time.process_time()
    passes = passmanager.PassManager.parse(
        "builtin.module(sdy-propagation-pipeline)", context)
    passes.enable_verifier(False)
    before = time.process_time()
    passes.run(module.operation)
    return parsed - start, time.process_time() - before


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    rounds = [measure(text) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2
                                           else 3)]
    print("parse %.3f propagate %.3f" % tuple(map(min, zip(*rounds))))


if __name__ == "__main__":
    main()
