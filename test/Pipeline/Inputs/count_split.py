"""count_split.py SCHEDULED.mlir RUNTIME.mlir: of each fragment the matrix products; of
each pair of roles how often a value of a micro-batch is sent; of each role the slots of
the buffers that W reads and of those of the forward that only I reads."""

import collections
import re
import sys

products, reads, name = collections.Counter(), collections.defaultdict(set), None
sends, role = collections.Counter(), None
for line in open(sys.argv[1]):
    found = re.search(r"func\.func (?:private )?@(\w+)\(", line)
    if found:
        name = found.group(1)
        products[name] += 0
        # Arguments stand in front of the results.
        reads[name] = set(re.findall(r"pm\.buffer = @([^,}\s]+)",
                                     line.split(") -> ")[0]))
    products[name] += "stablehlo.dot_general" in line
    found = re.search(r"pm\.role (\d+)", line)
    if found:
        role = found.group(1)
    found = re.search(r"pm\.send @saved\S* to (\d+)", line)
    if found:
        sends[role, found.group(1)] += 1
for name, count in products.items():
    if name and count:
        print(f"{name}: {count} products")
for (sender, receiver), count in sorted(sends.items()):
    print(f"role {sender} to {receiver}: {count} values of micro-batches")
role, slots = None, collections.defaultdict(lambda: {"W": [], "I": []})
for line in open(sys.argv[2]):
    found = re.search(r"pmrt\.role @role_(\d+)", line)
    if found:
        role = found.group(1)
    found = re.search(r"pmrt\.buffer @((?:saved|again)\.\S+) .*slots (\d+)", line)
    if found:
        buffer, count = found.group(1), int(found.group(2))
        if buffer in reads[f"stage{role}_weight_gradient"]:
            slots[role]["W"].append(count)
        elif buffer in reads[f"stage{role}_input_gradient"]:
            slots[role]["I"].append(count)
for role, kinds in sorted(slots.items()):
    print(f"role {role}: slots of what W reads {sorted(set(kinds['W']))}, of what "
          f"only I reads {sorted(set(kinds['I']))}")
