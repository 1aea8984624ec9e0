"""An install tree: a project outside builds against it, its tools run, and
nothing in it links MLIR twice."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PIPEMESH_BUILD", os.path.join(ROOT, "build"))
HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER_TOOLS = ["pmopt", "pmimport", "pmc", "pmcheck"]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=900,
                          **options)


def needed(path):
    """The shared libraries that a program names."""
    result = run("readelf", "-d", path)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", result.stdout)


class InstallTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.prefix = os.path.join(scratch.name, "prefix")
        cls.scratch = scratch.name
        result = run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        if result.returncode != 0:
            raise AssertionError(result.stdout)

    def tool(self, name):
        return os.path.join(self.prefix, "bin", name)

    def succeed(self, *command, **options):
        result = run(*command, **options)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_headers_generated_headers_and_definitions_are_installed(self):
        found = set()
        include = os.path.join(self.prefix, "include")
        for folder, _, files in os.walk(include):
            found.update(os.path.splitext(file)[1] for file in files)
        self.assertLessEqual({".h", ".td", ".inc"}, found)
        self.assertTrue(os.path.exists(os.path.join(include, "pmrt", "pmrt.h")))

    def test_runtime_header_compiles_as_c(self):
        source = os.path.join(self.scratch, "role.c")
        with open(source, "w") as file:
            file.write("#include <pmrt/pmrt.h>\n"
                       "int main(void) { return sizeof(pmrt_role) == 0; }\n")
        self.succeed("clang-22", "-std=c11", "-Wall", "-Werror", "-fsyntax-only",
                     "-I", os.path.join(self.prefix, "include"), source)

    def test_project_outside_parses_and_prints_a_module(self):
        build = os.path.join(self.scratch, "project")
        self.succeed("cmake", "-G", "Ninja", "-S", os.path.join(HERE, "project"),
                     "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     "-DCMAKE_CXX_COMPILER=clang++-22",
                     "-DCMAKE_C_COMPILER=clang-22",
                     "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")
        self.succeed("ninja", "-C", build)
        program = os.path.join(build, "print-module")
        module = os.path.join(HERE, "module.mlir")
        printed = self.succeed(program, module)
        self.assertIn("stablehlo.add", printed)
        self.assertIn("pm.mesh", printed)
        libraries = needed(program)
        self.assertEqual(
            sum(name.startswith("libMLIR") for name in libraries), 1, libraries)

    def test_tools_run_from_the_install_tree(self):
        for name in COMPILER_TOOLS + ["pmrun"]:
            with self.subTest(name):
                self.assertIn(name, self.succeed(self.tool(name), "--help"))

    def test_compiler_tools_link_the_shared_mlir_and_no_part_of_it(self):
        for name in COMPILER_TOOLS:
            with self.subTest(name):
                libraries = needed(self.tool(name))
                mlir = [lib for lib in libraries if lib.startswith("libMLIR")]
                self.assertEqual(len(mlir), 1, libraries)
                # A copy from the static archives would bring the registry's
                # own symbols along.
                symbols = run("nm", "-C", "--defined-only", self.tool(name)).stdout
                self.assertNotIn(" T mlir::MLIRContext::MLIRContext", symbols)

    def test_pmrun_links_no_mlir(self):
        libraries = needed(self.tool("pmrun"))
        self.assertFalse([lib for lib in libraries
                          if "MLIR" in lib or "LLVM" in lib], libraries)

    def test_model_trains_from_the_install_tree(self):
        sys.path.insert(0, os.path.join(ROOT, "test", "EndToEnd"))
        import harness
        reference = harness.Reference("llama")
        data = reference.write_data(os.path.join(self.scratch, "d.safetensors"))
        bundle = os.path.join(self.scratch, "bundle")
        metrics = os.path.join(self.scratch, "metrics.jsonl")
        self.succeed(self.tool("pmc"), reference.directory, "--task=train",
                     "--batch=8", "--sequence=20", "--strategy=dp=2,mb=2",
                     "-o", bundle)
        self.succeed(self.tool("pmrun"), bundle,
                     f"--weights={reference.directory}", f"--data={data}",
                     "--steps=1", f"--metrics={metrics}")
        with open(metrics) as file:
            loss = float(re.search(r'"loss":\s*([0-9.e+-]+)', file.read()).group(1))
        self.assertAlmostEqual(loss, reference.numbers["step0"]["loss"], delta=1e-5)


if __name__ == "__main__":
    unittest.main()
