# The lit suite: one .mlir or .test file a case, with RUN lines.
#
# The tools of build/bin and FileCheck, not, count and split-file are on PATH.
# %inputs is test/Inputs, %source the checkout, %build the build directory.
import os
import sys

import lit.formats
import lit.util

config.name = "Pipemesh"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "EndToEnd", "Install", "Benchmark"]
config.test_source_root = os.path.join(config.pipemesh_source, "test")
config.test_exec_root = os.path.join(config.pipemesh_build, "test")

path = [os.path.join(config.pipemesh_build, "bin"), config.llvm_tools_dir,
        config.environment.get("PATH", os.environ.get("PATH", ""))]
config.environment["PATH"] = os.pathsep.join(path)

config.substitutions.append(("%inputs",
                             os.path.join(config.test_source_root, "Inputs")))
config.substitutions.append(("%source", config.pipemesh_source))
config.substitutions.append(("%build", config.pipemesh_build))
config.substitutions.append(("%python", sys.executable))

# Reference data beside the checkout, for tests that say `REQUIRES: shared`.
shared = os.path.join(os.path.dirname(config.pipemesh_source), "shared")
shared = os.environ.get("PIPEMESH_SHARED", shared)
if os.path.isdir(shared):
    config.available_features.add("shared")
    config.substitutions.append(("%shared", shared))

# A CUDA toolkit, for tests that say `REQUIRES: cuda`.
if config.cuda_root:
    config.available_features.add("cuda")
    config.substitutions.append(("%cuda", config.cuda_root))

# `--param roundtrip=1`: every module that pmopt handles is also printed and
# parsed again, and must come out the same.
if lit_config.params.get("roundtrip"):
    config.substitutions.append((r"\bpmopt\b", "pmopt --verify-roundtrip"))
