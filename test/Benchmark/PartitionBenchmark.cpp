//===- PartitionBenchmark.cpp - what partitioning a module costs ----------===//
//
// Reads a StableHLO module with shardings and brings it to the partitioned
// level, several times over. Prints the fewest seconds of CPU time of the
// process for each step, and the largest resident memory:
//
//   partition-benchmark MODULE.mlir [ROUNDS]
//   parse 0.30 verify 0.10 import 0.03 propagate 0.31 partition 0.16 MB 240
//
// CPU time, because other work on the machine does not count in it. The passes
// run without MLIR's verifier between them (as XLA's do); it is timed by itself.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pipemesh/Import/Passes.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Shard/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <array>
#include <ctime>
#include <sys/resource.h>

using namespace mlir;
using namespace pipemesh;

namespace {
enum Step { Parse, Verify, Import, Propagate, Partition, NumSteps };
constexpr const char *kNames[NumSteps] = {"parse", "verify", "import",
                                          "propagate", "partition"};
using Times = std::array<double, NumSteps>;

double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

template <typename Function>
LogicalResult measure(double &seconds, Function function) {
  double start = cpuSeconds();
  LogicalResult result = function();
  seconds = cpuSeconds() - start;
  return result;
}

LogicalResult runOnce(const llvm::MemoryBuffer &text, Times &times) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module;
  auto parse = [&]() -> LogicalResult {
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBuffer(text.getMemBufferRef()), SMLoc());
    module = parseSourceFile<ModuleOp>(sources, config);
    return success(bool(module));
  };
  auto runPasses = [&](auto add) {
    PassManager manager(&context);
    manager.enableVerifier(false);
    add(manager);
    return manager.run(*module);
  };
  auto import = [](PassManager &manager) {
    manager.addPass(createImportStableHLOPass());
  };
  auto propagate = [](PassManager &manager) {
    manager.addPass(createRefineMeshPass());
    manager.addPass(createPropagatePass());
  };
  auto partition = [](PassManager &manager) {
    CombineCollectivesPassOptions options;
    options.bucketBytes = 32 << 20;
    manager.addPass(createPartitionPass());
    manager.addPass(createCombineCollectivesPass(options));
  };
  return success(
      succeeded(measure(times[Parse], parse)) &&
      succeeded(measure(times[Verify], [&] { return verify(*module); })) &&
      succeeded(measure(times[Import], [&] { return runPasses(import); })) &&
      succeeded(
          measure(times[Propagate], [&] { return runPasses(propagate); })) &&
      succeeded(
          measure(times[Partition], [&] { return runPasses(partition); })));
}
} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: partition-benchmark MODULE.mlir [ROUNDS]\n");
    return 2;
  }
  auto text = llvm::MemoryBuffer::getFile(argv[1]);
  if (!text) {
    fprintf(stderr, "partition-benchmark: cannot read '%s': %s\n", argv[1],
            text.getError().message().c_str());
    return 1;
  }
  int rounds = argc == 3 ? std::max(1, atoi(argv[2])) : 3;
  Times best;
  best.fill(1e9);
  for (int round = 0; round < rounds; ++round) {
    Times times{};
    if (failed(runOnce(**text, times)))
      return 1;
    for (int step = 0; step < NumSteps; ++step)
      best[step] = std::min(best[step], times[step]);
  }
  for (int step = 0; step < NumSteps; ++step)
    printf("%s %.3f ", kNames[step], best[step]);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("MB %ld\n", usage.ru_maxrss / 1024);
  return 0;
}
