"""Draws a number of pipeline stages, and stages for some or all forward ops of a
sharded training step: later ops are on no earlier stage.

    random_stages.py SEED < sharded.mlir > drawn.mlir
"""

import random
import re
import sys

OP = re.compile(r"\s+%.* = (stablehlo|pm)\.")


def main():
    rng = random.Random(int(sys.argv[1]))
    stages = rng.choice([2, 3, 4])
    share = rng.choice([0, 0.3, 1])
    text = sys.stdin.read().replace('<"mb", temporal',
                                    f'<"pp", stage = {stages}>, <"mb", temporal')
    lines = text.split("\n")
    forward = [i for i, line in enumerate(lines)
               if OP.match(line) and 'pm.phase = "forward"' in line]
    cuts = sorted(rng.sample(range(1, len(forward)), stages - 1))
    for place, i in enumerate(forward):
        stage = sum(place >= cut for cut in cuts)
        if rng.random() < share:
            lines[i] = lines[i].replace(
                "pm.phase", f"pm.stage = {stage} : i64, pm.phase", 1)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
