//===- ProofBenchmark.cpp - time to schedule and prove a program ----------===//
//
// Of a training step on 16 pipeline ranks with 8 chunks each, over the number of
// micro-batches: milliseconds of one core to make the schedule, to write the
// tables of all roles, and to prove them. With arguments: ranks, chunks.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace pipemesh;

template <typename Run> static double milliseconds(Run run) {
  std::clock_t begin = std::clock();
  run();
  return 1000.0 * double(std::clock() - begin) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
  int64_t ranks = argc > 1 ? std::atoi(argv[1]) : 16;
  int64_t chunks = argc > 2 ? std::atoi(argv[2]) : 8;
  std::printf("schedule          ranks chunks micro-batches  actions transfers "
              "schedule_ms tables_ms proof_ms\n");
  for (const char *name : {"interleaved-1f1b", "looped-bfs"})
    for (int64_t microBatches : {32, 64, 128, 256, 512, 1024}) {
      schedule::Request request;
      request.name = name;
      request.ranks = ranks;
      request.chunks = chunks;
      request.microBatches = microBatches;
      proof::test::SampleOptions options;
      options.dp = options.tp = 2;
      options.spanning = true;
      double scheduled = milliseconds([&] {
        options.schedule = llvm::cantFail(schedule::generate(request));
      });
      std::unique_ptr<proof::test::SampleProgram> program;
      double written = milliseconds([&] {
        program = std::make_unique<proof::test::SampleProgram>(options);
      });
      proof::Proof result;
      double proved = milliseconds([&] { result = program->prove(); });
      std::printf("%-17s %5ld %6ld %13ld %8lu %9lu %11.1f %9.1f %8.1f\n", name,
                  long(ranks), long(chunks), long(microBatches),
                  (unsigned long)result.actions,
                  (unsigned long)result.transfers, scheduled, written, proved);
    }
  return 0;
}
