"""Runs `pmcheck equiv` on every public function of two files: equiv_all.py A B."""

import re
import subprocess
import sys


def main():
    whole, partitioned = sys.argv[1:]
    with open(whole) as file:
        names = re.findall(r"^  func\.func (?:public )?@(\w+)", file.read(), re.M)
    wrong = 0
    for name in names:
        result = subprocess.run(
            ["pmcheck", "equiv", whole, partitioned, "--partitioned=b",
             f"--function={name}"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        if result.returncode != 0:
            wrong += 1
            print(f"{name}:\n{result.stdout}")
    print(f"{len(names)} functions, {wrong} wrong")
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
