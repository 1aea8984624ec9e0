"""What tools/python/cuda_toolkit.py says of folders that are toolkits, or nearly."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "tools/python/cuda_toolkit.py")


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


class Toolkit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = os.path.join(self.folder.name, "cuda")
        for program in ("nvcc", "ptxas", "cuobjdump"):
            self.write(f"bin/{program}", "", 0o755)
        self.write("include/cuda.h", "#define CUDA_VERSION 13000\n")
        self.write("include/nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR 32\n")
        for header in ("cuda_runtime.h", "cublasLt.h", "cudnn.h"):
            self.write(f"include/{header}", "")
        for library in ("cudart", "cublasLt", "cudnn", "nccl"):
            self.write(f"lib64/lib{library}.so.1", "")
        self.write("nvvm/libdevice/libdevice.10.bc", "")

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def lacks(self):
        return run("--lacks", self.root).stdout

    def test_a_whole_one_is_found_with_its_versions(self):
        self.assertEqual(self.lacks(), "")
        result = run("--find", self.folder.name + "/nowhere", self.root)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split("\n")[1:3], ["13.0", "2.32"])

    def test_what_is_missing_is_named(self):
        os.remove(os.path.join(self.root, "bin/cuobjdump"))
        os.remove(os.path.join(self.root, "nvvm/libdevice/libdevice.10.bc"))
        self.assertEqual(self.lacks(), "it has no cuobjdump, libdevice")
        result = run("--find", self.root)
        self.assertEqual(result.returncode, 1)
        self.assertIn("it has no cuobjdump, libdevice", result.stderr)

    def test_another_release_is_refused(self):
        self.write("include/cuda.h", "#define CUDA_VERSION 12080\n")
        self.assertEqual(self.lacks(), "it is CUDA 12.8, where 13.x is needed")

    def test_an_old_nccl_is_refused(self):
        self.write("include/nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR 27\n")
        self.assertEqual(self.lacks(),
                         "its NCCL is 2.27, where 2.30 or later is needed")

    def test_wheels_become_a_toolkit(self):
        packages = os.path.join(self.folder.name, "venv/lib/python3.11/site-packages")
        nvidia = os.path.join(packages, "nvidia")
        os.makedirs(nvidia)
        for part, moved in (("cudnn", ["include/cudnn.h", "lib/libcudnn.so.9"]),
                            ("nccl", ["include/nccl.h", "lib/libnccl.so.2"])):
            for name in moved:
                source = name.replace("lib/", "lib64/").replace(".so.9", ".so.1") \
                    .replace(".so.2", ".so.1")
                target = os.path.join(nvidia, part, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(os.path.join(self.root, source), target)
        os.rename(os.path.join(self.root, "lib64"), os.path.join(self.root, "lib"))
        os.rename(self.root, os.path.join(nvidia, "cu13"))
        result = run("--gather", self.folder.name + "/venv", self.root)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.lacks(), "")
        for library in ("cudart", "cublasLt", "cudnn", "nccl"):
            self.assertTrue(os.path.exists(
                os.path.join(self.root, f"lib64/lib{library}.so")))


if __name__ == "__main__":
    unittest.main()
