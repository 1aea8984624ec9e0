//===- Samples.h - Schedules for programs in memory -----------------------===//

#ifndef PIPEMESH_TEST_CHECK_SAMPLES_H
#define PIPEMESH_TEST_CHECK_SAMPLES_H

#include "SampleProgram.h"

#include <gtest/gtest.h>

namespace pipemesh::proof::test {

/// A schedule by name; none where it does not exist for these sizes.
inline std::optional<schedule::Schedule>
scheduleOf(const std::string &name, int64_t ranks, int64_t chunks,
           int64_t microBatches) {
  schedule::Request request;
  request.name = name;
  request.ranks = ranks;
  request.chunks = chunks;
  request.microBatches = microBatches;
  llvm::Expected<schedule::Schedule> made = schedule::generate(request);
  if (made)
    return std::move(*made);
  llvm::consumeError(made.takeError());
  return std::nullopt;
}

/// Options of a program with an existing schedule.
inline SampleOptions sampleOf(const std::string &name, int64_t ranks,
                              int64_t chunks, int64_t microBatches) {
  SampleOptions options;
  options.schedule = *scheduleOf(name, ranks, chunks, microBatches);
  return options;
}

/// Expects a refusal that contains each of the texts.
inline void expectRefusal(const SampleProgram &program,
                          const std::vector<std::string> &texts) {
  std::string text = program.refusal();
  for (const std::string &part : texts)
    EXPECT_NE(text.find(part), std::string::npos)
        << "got '" << text << "', wanted '" << part << "'";
}

} // namespace pipemesh::proof::test

#endif // PIPEMESH_TEST_CHECK_SAMPLES_H
