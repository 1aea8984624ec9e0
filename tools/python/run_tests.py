"""Runs the test suites of a build and counts what they say.

The last line is "N passed, N failed, N skipped" over all of them, and the exit
status is not zero where one failed. tools/check calls it after the build.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITES = ["lit", "unit", "tools", "install", "end-to-end"]
PYTHON_FOLDERS = {"tools": "Tools", "install": "Install",
                  "end-to-end": "EndToEnd"}
MODULE_LIMIT_S = 1500


class Count:
    """Passed, failed and skipped tests, those that only --all runs, and how many of
    the passed ones need the CUDA toolkit."""

    def __init__(self, passed=0, failed=0, skipped=0, left=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.left = left
        self.cuda = 0

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.left += other.left
        self.cuda += other.cuda
        return self

    def __str__(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped")


def is_cuda(name):
    """Whether a test is one of the CUDA backend, by the name of its folder, file or
    program."""
    return "cuda" in name.lower()


def say(text):
    print(f"check: {text}", flush=True)


def find_lit(build):
    """The lit that CMake found, from the build's cache."""
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        for line in file:
            match = re.match(r"PIPEMESH_LIT:\w+=(.*)", line)
            if match:
                return match.group(1)
    return None


def has_toolkit(build):
    """Whether the build was configured with a CUDA toolkit."""
    with open(os.path.join(build, "test", "lit.site.cfg.py")) as file:
        return 'cuda_root = ""' not in file.read()


def describe_cuda(build, count):
    text = f"{count.cuda} tests of the CUDA backend passed"
    if not has_toolkit(build):
        text += "; this build has no CUDA toolkit (tools/setup --cuda fetches one), " \
            "so no kernel was assembled, and what needs one was skipped"
    return text


def run_lit(build, results, label="lit", extra=()):
    output = os.path.join(results, f"{label}.json")
    if os.path.exists(output):
        os.remove(output)
    subprocess.run([find_lit(build), "-sv", "--output", output, *extra,
                    os.path.join(build, "test")])
    if not os.path.exists(output):
        say(f"{label}: lit did not finish")
        return Count(failed=1)
    with open(output) as file:
        tests = json.load(file)["tests"]
    count = Count()
    for test in tests:
        if test["code"] in ("PASS", "FLAKYPASS"):
            count.passed += 1
            count.cuda += is_cuda(test["name"])
        elif test["code"] == "XFAIL":
            say(f"{label}: {test['name']}: a known shortfall, counted as skipped")
            count.skipped += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            count.skipped += 1
        else:
            count.failed += 1
    return count


def run_unit(build, results):
    count = Count()
    for path in sorted(glob.glob(os.path.join(build, "test", "unit", "*"))):
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        name = os.path.basename(path)
        output = os.path.join(results, f"{name}.json")
        if os.path.exists(output):
            os.remove(output)
        started = time.monotonic()
        try:
            run = subprocess.run([path, "--gtest_brief=1",
                                  f"--gtest_output=json:{output}"], timeout=900)
            status = f"ended with status {run.returncode}"
        except subprocess.TimeoutExpired:
            status = "did not end within 900 s"
        if not os.path.exists(output):  # crashed, hung, or no test in it
            say(f"unit: {name} {status}")
            count.failed += 1
            continue
        with open(output) as file:
            report = json.load(file)
        part = Count()
        for group in report["testsuites"]:
            for test in group["testsuite"]:
                if test.get("failures"):
                    part.failed += 1
                elif test.get("result") in ("SKIPPED", "SUPPRESSED"):
                    part.skipped += 1
                else:
                    part.passed += 1
        if run.returncode != 0 and part.failed == 0:
            part.failed += 1  # the failure was outside of any test
        part.cuda = part.passed if is_cuda(name) else 0
        say(f"unit: {name}: {part} ({time.monotonic() - started:.1f} s)")
        count += part
    return count


def run_module(path, build):
    """One Python test file in a process of its own; returns count and log."""
    environment = dict(os.environ, PIPEMESH_BUILD=build)
    command = [sys.executable, os.path.abspath(__file__), "--module", path]
    started = time.monotonic()
    try:
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             errors="replace", timeout=MODULE_LIMIT_S)
        log = run.stdout
    except subprocess.TimeoutExpired as error:
        text = error.stdout or b""
        log = text.decode(errors="replace") if isinstance(text, bytes) else text
        log += f"\nnot finished within {MODULE_LIMIT_S} s\n"
    match = re.search(r"^module: (\d+) passed, (\d+) failed, (\d+) skipped, "
                      r"(\d+) left to --all$", log, re.MULTILINE)
    count = Count(*map(int, match.groups())) if match else Count(failed=1)
    return count, log, time.monotonic() - started


def run_python(suite, build):
    folder = os.path.join(ROOT, "test", PYTHON_FOLDERS[suite])
    files = sorted(glob.glob(os.path.join(folder, "test_*.py")))
    total = Count()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {pool.submit(run_module, path, build): path for path in files}
        for job in concurrent.futures.as_completed(jobs):
            count, log, seconds = job.result()
            name = os.path.relpath(jobs[job], os.path.join(ROOT, "test"))
            count.cuda = count.passed if is_cuda(name) else 0
            if count.failed:
                print(log, flush=True)
            elif count.skipped:
                for line in log.splitlines():
                    if " ... skipped " in line or \
                            line.endswith(" ... expected failure"):
                        print(line, flush=True)
            say(f"{suite}: {name}: {count} ({seconds:.1f} s)")
            total += count
    return total


def run_as_module(path):
    """Inside of the process that run_module starts."""
    folder, name = os.path.split(os.path.abspath(path))
    sys.path[:0] = [folder, os.path.dirname(os.path.abspath(__file__))]
    name = name[:-len(".py")]
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    # A class whose set-up fails or skips counts as one test.
    failed = len(result.failures) + len(result.errors) + \
        len(result.unexpectedSuccesses)
    # A known shortfall has not passed.
    skipped = len(result.skipped) + len(result.expectedFailures)
    passed = max(0, result.testsRun - failed - skipped)
    # A module that has more tests under --all says how many.
    left = getattr(sys.modules.get(name), "LEFT_TO_ALL", 0)
    print(f"module: {passed} passed, {failed} failed, {skipped} skipped, "
          f"{left} left to --all")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(
        prog="run_tests.py", description="Runs the test suites of a build.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python3 tools/python/run_tests.py --build build-dev\n"
        "  python3 tools/python/run_tests.py --only end-to-end --all\n")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"),
                        help="build directory (default: build/)")
    parser.add_argument("--only", choices=SUITES, help="run one suite")
    parser.add_argument("--all", action="store_true",
                        help="also the lit suite with every module printed and "
                        "parsed again, and every case of the end-to-end matrix")
    parser.add_argument("--cuda", action="store_true",
                        help="fail when no test of the CUDA backend ran")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.module:
        return run_as_module(args.module)

    build = os.path.abspath(args.build)
    if not os.path.exists(os.path.join(build, "CMakeCache.txt")):
        print(f"run_tests.py: nothing is built in {build}; run tools/build",
              file=sys.stderr)
        return 2
    results = os.path.join(build, "check")
    os.makedirs(results, exist_ok=True)
    if args.all:
        os.environ["PIPEMESH_LONG_TESTS"] = "1"

    total = Count()
    started = time.monotonic()
    for suite in SUITES:
        if args.only not in (None, suite):
            continue
        say(f"running the {suite} tests")
        if suite == "lit":
            count = run_lit(build, results)
            if args.all:
                count += run_lit(build, results, "lit-roundtrip",
                                 ["--param", "roundtrip=1"])
        elif suite == "unit":
            count = run_unit(build, results)
        else:
            count = run_python(suite, build)
        say(f"{suite}: {count}; {time.monotonic() - started:.0f} s so far")
        total += count
    if total.left:
        say(f"a covering set of the end-to-end matrix ran; {total.left} more of its "
            "cases run with --all")
    say(describe_cuda(build, total))
    if args.cuda and not has_toolkit(build):
        total.failed += 1
    elif total.cuda == 0 and (args.cuda or not args.only):
        say("no test of the CUDA backend ran")
        total.failed += 1
    print(total, flush=True)
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
