"""layers_of_stages.py ASSIGNED.mlir: the layers of each stage, by the products of their
forward: `0 1 | 2 3`."""

import collections
import re
import sys

text = open(sys.argv[1]).read()
names = dict(re.findall(r'^(#loc\d*) = loc\("model\.layers\.(\d+)\.', text, re.M))
stages = collections.defaultdict(set)
for line in text.splitlines():
    found = re.search(r'dot_general .*pm\.phase = "forward".*pm\.stage = (\d+).*'
                      r"loc\((#loc\d+)\)", line)
    if found and found.group(2) in names:
        stages[int(found.group(1))].add(int(names[found.group(2)]))
print(" | ".join(" ".join(map(str, sorted(layers)))
                 for _, layers in sorted(stages.items())))
