//===- RandomProgramsTest.cpp - None of many valid programs is refused ----===//

#include "Samples.h"

#include <cstdlib>

using namespace pipemesh;
using namespace pipemesh::proof::test;

/// A program of random sizes; none where the schedule does not have them.
static std::optional<SampleOptions> drawOptions(uint32_t seed) {
  std::mt19937 random(seed);
  auto draw = [&](uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random);
  };
  llvm::ArrayRef<llvm::StringLiteral> names = schedule::getScheduleNames();
  std::string name =
      names[draw(0, static_cast<uint32_t>(names.size()) - 1)].str();
  std::optional<schedule::Schedule> made =
      scheduleOf(name, draw(1, 4), draw(0, 3), draw(1, 9));
  if (!made)
    return std::nullopt;
  SampleOptions options;
  options.schedule = std::move(*made);
  options.dp = 1u << draw(0, 2);
  options.tp = 1u << draw(0, 2);
  options.operations = draw(0, 8);
  options.loops = draw(0, 1);
  options.spanning = draw(0, 1);
  options.starts = draw(0, 1);
  options.seed = seed;
  return options;
}

/// PIPEMESH_RANDOM_PROGRAMS says how many.
TEST(RandomPrograms, ValidOnesAreProved) {
  const char *given = std::getenv("PIPEMESH_RANDOM_PROGRAMS");
  uint32_t count = given ? static_cast<uint32_t>(std::atoi(given)) : 300;
  uint32_t made = 0, loops = 0;
  uint64_t collectives = 0, transfers = 0;
  for (uint32_t seed = 0; made < count; ++seed) {
    std::optional<SampleOptions> options = drawOptions(seed);
    if (!options)
      continue;
    ++made;
    loops += options->loops;
    SampleProgram program(*options);
    try {
      proof::Proof proof = program.prove();
      collectives += proof.collectives;
      transfers += proof.transfers;
    } catch (const proof::Refused &refused) {
      ADD_FAILURE() << "program " << seed << " ("
                    << options->schedule.name << "): " << refused.what();
      return;
    }
  }
  EXPECT_GT(loops, count / 4);
  std::printf("%u programs, %u with loops, %llu collectives, %llu transfers\n",
              made, loops, static_cast<unsigned long long>(collectives),
              static_cast<unsigned long long>(transfers));
}
