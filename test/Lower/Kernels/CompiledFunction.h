//===- CompiledFunction.h - runs a function's kernels -----------*- C++ -*-===//
//
// Compiles a function of the partitioned level to kernels, runs them on this
// machine and compares with the reference interpreter. With PIPEMESH_TEST_CUDA they
// are kernels for GPUs, and an emulator runs them.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_TEST_LOWER_KERNELS_COMPILEDFUNCTION_H
#define PIPEMESH_TEST_LOWER_KERNELS_COMPILEDFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "pipemesh/Lower/Kernels/KernelBuilder.h"
#ifdef PIPEMESH_TEST_CUDA
#include "cuda/emulate/Emulator.h"
#include "pipemesh/Lower/Cuda/GpuKernelBuilder.h"
#include "pipemesh/Lower/Cuda/GpuTarget.h"
#endif
#include <map>
#include <string>
#include <vector>

namespace pipemesh::test {

/// How a kernel's iterations are divided over calls.
enum class Split { Whole, Single, Uneven };

using Bytes = std::vector<char>;

class CompiledFunction {
public:
  /// Parses, forms kernels and loads them. Failures are test failures.
  CompiledFunction(const std::string &text, unsigned vectorWidth = 0);
  ~CompiledFunction();

#ifdef PIPEMESH_TEST_CUDA
  bool isValid() const { return emulator != nullptr; }
#else
  bool isValid() const { return library != nullptr; }
#endif
  unsigned getNumKernels() const { return kernels.size(); }
  const std::vector<KernelInfo> &getKernels() const { return kernels; }

  /// Random arguments: float32 of about unit size, integers of
  /// [test.low, test.high) as the argument's attributes say.
  std::vector<Bytes> makeArguments(unsigned seed) const;

  /// Runs the kernels. Results start poisoned; with `inPlace` a result that may
  /// take over an operand's buffer does.
  std::vector<Bytes> run(const std::vector<Bytes> &arguments, Split split,
                         bool inPlace);

  /// Runs in all ways of splitting and of placing the results, expects the same
  /// bits, and compares with the interpreter: the difference of any element is
  /// at most `tolerance` of the result's largest element.
  void check(double tolerance = 2e-6, unsigned seed = 1);

  /// The fastest of several runs of the first kernel on one thread, in seconds,
  /// results in place where they may be.
  double measure(unsigned repeats);

  mlir::func::FuncOp getReference();

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> reference, fused;
  std::vector<KernelInfo> kernels;
  std::map<mlir::Operation *, KernelInfo> kernelOf;
  std::string directory;
  void *library = nullptr;
#ifdef PIPEMESH_TEST_CUDA
  std::map<mlir::Operation *, GpuKernelInfo> gpuKernelOf;
  std::unique_ptr<::pmrt::ptx::Emulator> emulator;

  void loadGpuKernels(const std::string &text);
  void runGpuKernel(pmrt::FusedOp op, const std::vector<void *> &operands,
                    Split split);
#endif

  void runKernel(pmrt::FusedOp op, const std::vector<void *> &operands,
                 Split split);
};

/// Compiles and checks.
void checkKernels(const std::string &text, double tolerance = 2e-6);

} // namespace pipemesh::test

#endif // PIPEMESH_TEST_LOWER_KERNELS_COMPILEDFUNCTION_H
