"""count_slots.py RUNTIME.mlir: of each role, how many buffers have a slot for each
micro-batch in flight, and how many slots they have together."""

import re
import sys

role, counts = None, {}
for line in open(sys.argv[1]):
    found = re.search(r"pmrt\.role @(\w+)", line)
    if found:
        role = found.group(1)
        counts[role] = [0, 0]
    found = re.search(r"pmrt\.buffer @((?:saved|again)\.\S+) .*slots (\d+)", line)
    if found:
        counts[role][0] += 1
        counts[role][1] += int(found.group(2))
for role, (buffers, slots) in counts.items():
    print(f"{role}: {buffers} buffers of micro-batches, {slots} slots")
