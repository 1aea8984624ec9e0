//===- TraceBenchmark.cpp - Time to check the calls of a run --------------===//
//
// Four ranks of two stages, by the number of steps: reading and proving the
// traces.
//
//===----------------------------------------------------------------------===//

#include "TraceMaker.h"

#include <chrono>
#include <cstdio>

using namespace pipemesh;
using namespace pipemesh::trace::test;

int main() {
  for (uint32_t steps : {50u, 200u, 800u}) {
    SampleOptions options = proof::test::sampleOf("1f1b", 2, 0, 8);
    options.dp = 2;
    options.operations = 12;
    SampleProgram program(options);
    MakeOptions make;
    make.steps = steps;
    MadeTrace made(program, make);
    Folder folder;
    made.write(folder.path());
    size_t calls = 0;
    for (const auto &lines : made.ranks)
      calls += lines.size();
    std::vector<const pmrt_role *> roles;
    for (const pmrt_role &role : program.tables)
      roles.push_back(&role);
    trace::Refusals refusals;
    auto begin = std::chrono::steady_clock::now();
    trace::proveTrace(folder.path(), made.manifest, roles, refusals);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    std::printf("%8zu calls of %zu ranks: %.2f s, %.2f s a million%s\n", calls,
                made.ranks.size(), seconds.count(),
                seconds.count() / calls * 1e6,
                refusals.empty() ? "" : ", refused");
  }
}
