//===- ScheduleBenchmark.cpp - time to make and check schedules -----------===//
//
// Of each schedule on 16 ranks, over the number of micro-batches: milliseconds
// of one core to generate and validate it, to put it into one total order with
// its transfers, and to simulate it. With an argument, the number of ranks.
//
//===----------------------------------------------------------------------===//

#include "pipemesh/Schedule/Generate.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <ctime>

using namespace pipemesh::schedule;

template <typename Run> static double milliseconds(Run run) {
  std::clock_t begin = std::clock();
  run();
  return 1000.0 * double(std::clock() - begin) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
  int64_t ranks = argc > 1 ? std::atoi(argv[1]) : 16;
  llvm::outs() << "schedule          ranks chunks micro-batches   actions "
                  "generate_ms order_ms simulate_ms\n";
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t microBatches : {32, 64, 128, 256, 512, 1024}) {
      Request request;
      request.name = name.str();
      request.ranks = ranks;
      if (name == "interleaved-1f1b" || name == "looped-bfs")
        request.chunks = 8;
      request.microBatches = microBatches;
      // zb-auto fits to costs that differ.
      cantFail(request.costs.parseTimes("29.7,29.4,19.9,0.5"));
      cantFail(request.costs.parseMemory("1,0.43"));
      request.memoryLimit = 2 * ranks;
      std::optional<Schedule> schedule;
      double generated = milliseconds([&] {
        llvm::Expected<Schedule> made = generate(request);
        if (made)
          schedule = std::move(*made);
        else
          llvm::errs() << toString(made.takeError()) << "\n";
      });
      if (!schedule)
        return 1;
      double ordered = milliseconds([&] { cantFail(getTransfers(*schedule)); });
      double simulated =
          milliseconds([&] { cantFail(simulate(*schedule, request.costs)); });
      llvm::outs() << llvm::format(
          "%-17s %5d %6d %13d %9d %11.1f %8.1f %11.1f\n", name.str().c_str(),
          int(ranks), int(schedule->getNumStages() / ranks), int(microBatches),
          int(schedule->getNumItems()), generated, ordered, simulated);
    }
  return 0;
}
