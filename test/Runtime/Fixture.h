//===- Fixture.h - Bundles, weights and data for tests --------------------===//

#ifndef PIPEMESH_TEST_RUNTIME_FIXTURE_H
#define PIPEMESH_TEST_RUNTIME_FIXTURE_H

#include "core/Error.h"
#include "launch/Session.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pipemesh::runtime::test {

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const {
    return (path / name).string();
  }
  std::filesystem::path path;
};

void writeFile(const std::string &path, const std::string &content);
std::string readFile(const std::string &path);

/// The text of the Error that `function` throws; empty when it throws none.
template <typename Function> std::string errorOf(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Expects an Error that contains each of the texts, in one line.
#define EXPECT_ERROR(STATEMENT, ...)                                           \
  do {                                                                         \
    std::string text = ::pipemesh::runtime::test::errorOf([&] { STATEMENT; }); \
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;                     \
    for (const std::string &part : std::vector<std::string>{__VA_ARGS__})      \
      EXPECT_NE(text.find(part), std::string::npos)                            \
          << "got '" << text << "', wanted '" << part << "'";                  \
  } while (false)

// Sizes of Inputs/linear_model.c.
inline constexpr int64_t batch = 8, sequence = 4, vocabulary = 16, width = 8;

/// The manifest of a role of Inputs/linear_model.c.
nlohmann::ordered_json linearManifest(int64_t dp, int64_t mb);

/// Proves a bundle and writes its certificate; one with a mistake gets none. Proved
/// is a copy: a role that was loaded once stays loaded under its path.
void certifyBundle(const std::string &folder);

/// Writes a bundle folder; the role is the one compiled for (dp, mb, fault).
void writeBundle(
    const std::string &folder, int64_t dp, int64_t mb, int fault = 0,
    const std::function<void(nlohmann::ordered_json &)> &change =
        [](nlohmann::ordered_json &) {});

/// Values that look random but are the same everywhere, in [-1, 1].
std::vector<float> noise(int64_t count, uint32_t seed);

/// Writes config.json and model.safetensors of the linear model.
void writeWeights(const std::string &folder, const std::vector<float> &embed,
                  const std::vector<float> &head);
void writeWeights(const std::string &folder);

/// Writes .safetensors data of `steps` batches, some labels not counted.
void writeData(const std::string &path, int64_t steps);

/// The linear model in double precision.
struct Reference {
  std::vector<double> embed, head, moment1, moment2, gradient;
  double loss = 0, gradNorm = 0;
  int64_t steps = 0;
  Reference();
  void step(const Batch &batch, const Recipe &recipe);
};

/// Output and exit status of a command run by a shell.
struct CommandResult {
  int status = 0;
  std::string output; ///< stdout and stderr
};
CommandResult runCommand(const std::string &command);

/// Runs pmrun with the given arguments.
CommandResult pmrun(const std::string &arguments);

} // namespace pipemesh::runtime::test

#endif // PIPEMESH_TEST_RUNTIME_FIXTURE_H
