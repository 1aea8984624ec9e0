"""What is said when a process of a running job is killed or stopped from outside,
and that nothing is left of the job."""

import array
import glob
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

import harness

DEADLINE_S = 2
# Of the promise: the end comes within so much of the deadline.
GRACE_S = 5 * float(os.environ.get("PIPEMESH_TEST_SLOWNESS", 1))


def processes_of(bundle):
    """{pid: environment} of the processes that run ranks of the bundle."""
    found = {}
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(folder + "/cmdline", "rb") as file:
                if bundle.encode() not in file.read().split(b"\0"):
                    continue
            with open(folder + "/environ", "rb") as file:
                found[int(os.path.basename(folder))] = file.read().split(b"\0")
        except OSError:
            continue  # it has ended
    return found


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def process_of_rank(bundle, rank):
    """The process that computes, which another one supervises."""
    own = f"OMPI_COMM_WORLD_RANK={rank}".encode()
    ranks = {pid for pid, environment in processes_of(bundle).items()
             if own in environment}
    return next(pid for pid in ranks if parent_of(pid) in ranks)


class Watch(harness.EndToEndTest):
    @classmethod
    def setUpClass(cls):
        harness.needs("mpi")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.weights = harness.Reference("llama").directory
        cls.bundle = harness.compile_bundle(
            cls.weights, os.path.join(folder.name, "bundle"), "pp=2,tp=2,mb=2",
            harness.plain_recipe())

    def start(self, deadline, private=False):
        """With `private`, each process has a folder of its own for temporary files,
        as on machines that share none."""
        data = self.path("data.u16")
        tokens = random.Random(0)
        with open(data, "wb") as file:
            array.array("H", (tokens.randrange(250)
                              for _ in range(2000000))).tofile(file)
        self.metrics = self.path("metrics.jsonl")
        command = [harness.tool("pmrun"), self.bundle,
                   f"--weights={self.weights}", f"--data={data}",
                   "--transport=mpi", f"--deadline={deadline}s",
                   f"--metrics={self.metrics}", "--quiet"]
        if private:
            command = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none",
                       "-n", "4", "sh", "-c",
                       'export TMPDIR="$1/own-$OMPI_COMM_WORLD_RANK"; '
                       'mkdir "$TMPDIR"; shift; exec "$@"', "sh",
                       self.path("")] + command
        self.job = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(harness.mpirun_environment(), TMPDIR=self.path("")))
        self.addCleanup(self.end_job)
        end = time.monotonic() + 60
        while not os.path.exists(self.metrics) or \
                not os.path.getsize(self.metrics):
            self.assertLess(time.monotonic(), end, "the job does not begin")
            self.assertIsNone(self.job.poll(), "the job has ended")
            time.sleep(0.05)

    def end_job(self):
        for pid in processes_of(self.bundle):
            os.kill(pid, signal.SIGKILL)
        self.job.kill()
        self.job.communicate()

    def signal_rank(self, rank, number):
        """The line of the job's end, once it has ended by itself."""
        os.kill(process_of_rank(self.bundle, rank), number)
        _, errors = self.job.communicate(timeout=DEADLINE_S + GRACE_S)
        self.assertNotEqual(self.job.returncode, 0)
        end = time.monotonic() + GRACE_S
        while processes_of(self.bundle) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(list(processes_of(self.bundle)), [])
        lines = [line for line in errors.splitlines()
                 if line.startswith("pmrun: error: ")]
        self.assertEqual(len(lines), 1, errors)
        return lines[0]

    def assert_flight_is_shown(self, line):
        folder = line.split("--read-flight=")[1].split()[0]
        text = harness.succeed("pmrun", f"--read-flight={folder}")
        for rank in range(4):
            self.assertIn(f"rank {rank} (dp=0, pp={rank // 2}, tp={rank % 2}): ",
                          text)
        self.assertIn("all-reduce #", text)

    def test_kill(self):
        # The end of a process is seen at once; nobody waits for the deadline.
        self.start(60)
        line = self.signal_rank(2, signal.SIGKILL)
        self.assertIn("the process of rank 2 (dp=0, pp=1, tp=0) was killed by signal 9 "
                      "(SIGKILL) in step ", line)
        self.assertRegex(line, r"its last was (receive|send|all-reduce) #\d+ ")
        self.assert_flight_is_shown(line)

    def test_stop(self):
        self.start(DEADLINE_S)
        line = self.signal_rank(2, signal.SIGSTOP)
        self.assertIn("longer than --deadline", line)
        self.assertIn("rank 2 (dp=0, pp=1, tp=0), which ", line)
        self.assertIn("its process is stopped", line)
        self.assertRegex(line, r"its last was (receive|send|all-reduce) #\d+ ")
        self.assertEqual(self.job.returncode, 3)
        self.assert_flight_is_shown(line)

    def test_kill_of_rank_0_whose_files_nobody_sees(self):
        self.start(60, private=True)
        line = self.signal_rank(0, signal.SIGKILL)
        self.assertIn("the process of rank 0 (dp=0, pp=0, tp=0) was killed by signal 9 "
                      "(SIGKILL) in step ", line)
        self.assertEqual(self.job.returncode, 128 + signal.SIGKILL)
        self.assertIn("/own-0/", line)
        self.assert_flight_is_shown(line)

    def test_stop_of_a_rank_whose_files_nobody_sees(self):
        self.start(DEADLINE_S, private=True)
        line = self.signal_rank(3, signal.SIGSTOP)
        self.assertIn("longer than --deadline", line)
        self.assertRegex(line, r"rank 3 \(dp=0, pp=1, tp=1\), which (?!cannot be seen)")
        self.assertIn("its process is stopped", line)
        self.assertEqual(self.job.returncode, 3)
        self.assertIn("/own-0/", line)
        self.assert_flight_is_shown(line)


if __name__ == "__main__":
    unittest.main()
