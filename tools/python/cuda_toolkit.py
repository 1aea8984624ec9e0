"""Finds a whole CUDA toolkit, says what one lacks, and makes one of wheels.

tools/setup and CMake call it. A toolkit is whole when everything that the CUDA
backend is built and tested with is there: compiler, assembler and disassembler, the
device library, headers and libraries of driver and runtime, cuBLASLt, cuDNN and NCCL.
"""

import argparse
import glob
import os
import re
import shutil
import sys

MAJOR = 13
NCCL_AT_LEAST = (2, 30)
PROGRAMS = ["nvcc", "ptxas", "cuobjdump"]
HEADERS = ["cuda.h", "cuda_runtime.h", "cublasLt.h", "cudnn.h", "nccl.h"]
LIBRARIES = ["libcudart.so", "libcublasLt.so", "libcudnn.so", "libnccl.so"]
# Debian's own packages of cuDNN and NCCL lie outside of the toolkit.
SYSTEM_HEADERS = ["/usr/include", "/usr/include/x86_64-linux-gnu"]
SYSTEM_LIBRARIES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"]


def find_header(root, name):
    folders = [os.path.join(root, "include"),
               os.path.join(root, "targets/x86_64-linux/include"), *SYSTEM_HEADERS]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def find_library(root, name):
    """The library, or the file with its version in the name."""
    folders = [os.path.join(root, part) for part in
               ("lib64", "lib", "targets/x86_64-linux/lib")]
    for folder in folders + SYSTEM_LIBRARIES:
        for path in [os.path.join(folder, name),
                     *sorted(glob.glob(os.path.join(folder, name + ".*")))]:
            if os.path.exists(path):
                return path
    return None


def find_device_library(root):
    found = sorted(glob.glob(os.path.join(root, "nvvm/libdevice/libdevice*.bc")))
    return found[-1] if found else None


def read_define(path, name):
    with open(path, errors="replace") as file:
        match = re.search(rf"^#define\s+{name}\s+(\d+)", file.read(), re.MULTILINE)
    return int(match.group(1)) if match else 0


def get_version(root):
    """(major, minor) of the toolkit, or None."""
    header = find_header(root, "cuda.h")
    number = read_define(header, "CUDA_VERSION") if header else 0
    return (number // 1000, number % 1000 // 10) if number else None


def get_nccl_version(root):
    header = find_header(root, "nccl.h")
    return (read_define(header, "NCCL_MAJOR"), read_define(header, "NCCL_MINOR")) \
        if header else None


def list_lacks(root):
    """What keeps a toolkit from being whole; empty where nothing does."""
    version = get_version(root)
    if version and version[0] != MAJOR:
        return [f"it is CUDA {version[0]}.{version[1]}, where {MAJOR}.x is needed"]
    missing = [name for name in PROGRAMS
               if not os.access(os.path.join(root, "bin", name), os.X_OK)]
    missing += [name for name in HEADERS if not find_header(root, name)]
    missing += [name for name in LIBRARIES if not find_library(root, name)]
    if not find_device_library(root):
        missing.append("libdevice")
    lacks = ["it has no " + ", ".join(missing)] if missing else []
    nccl = get_nccl_version(root)
    if nccl and nccl < NCCL_AT_LEAST:
        lacks.append("its NCCL is {}.{}, where {}.{} or later is needed".format(
            *nccl, *NCCL_AT_LEAST))
    return lacks


def gather(environment, target):
    """Moves what wheels installed in an environment into one folder of the shape
    that a toolkit has."""
    packages = glob.glob(os.path.join(environment, "lib/python3*/site-packages"))[0]
    made = target + ".gathering"
    shutil.rmtree(made, ignore_errors=True)
    os.rename(os.path.join(packages, "nvidia", f"cu{MAJOR}"), made)
    for part in ("cudnn", "nccl"):
        shutil.copytree(os.path.join(packages, "nvidia", part), made,
                        dirs_exist_ok=True, copy_function=shutil.move)
    for info in glob.glob(os.path.join(packages, "nvidia_*.dist-info")):
        shutil.move(info, os.path.join(made, "wheels", os.path.basename(info)))
    # The names that linkers look for.
    libraries = os.path.join(made, "lib")
    for path in glob.glob(os.path.join(libraries, "*.so.*")):
        short = path[:path.index(".so.") + 3]
        if not os.path.exists(short):
            os.symlink(os.path.basename(path), short)
    if not os.path.exists(os.path.join(made, "lib64")):
        os.symlink("lib", os.path.join(made, "lib64"))
    for program in glob.glob(os.path.join(made, "bin", "*")) + \
            glob.glob(os.path.join(made, "nvvm", "bin", "*")):
        if os.path.isfile(program):
            os.chmod(program, os.stat(program).st_mode | 0o111)
    os.rename(made, target)


def main():
    parser = argparse.ArgumentParser(
        prog="cuda_toolkit.py", description="Finds a whole CUDA toolkit.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python3 tools/python/cuda_toolkit.py --find build/cuda /usr/local/cuda\n"
        "  python3 tools/python/cuda_toolkit.py --lacks /usr/local/cuda\n")
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--find", nargs="+", metavar="FOLDER",
                        help="print root, version, NCCL's version and the device "
                        "library of the first that is whole, one a line")
    choice.add_argument("--lacks", metavar="FOLDER",
                        help="print what a toolkit lacks, or nothing")
    choice.add_argument("--gather", nargs=2, metavar=("ENVIRONMENT", "FOLDER"),
                        help="make a toolkit of what wheels installed")
    args = parser.parse_args()
    if args.gather:
        gather(*args.gather)
        return 0
    if args.lacks:
        print("; ".join(list_lacks(args.lacks)), end="")
        return 0
    for root in args.find:
        if not os.path.isdir(root):
            continue
        lacks = list_lacks(root)
        if lacks:
            print(f"{root}: {'; '.join(lacks)}", file=sys.stderr)
            continue
        print(os.path.realpath(root))
        print("{}.{}".format(*get_version(root)))
        print("{}.{}".format(*get_nccl_version(root)))
        print(find_device_library(root))
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
