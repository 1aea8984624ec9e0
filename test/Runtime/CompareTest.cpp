//===- CompareTest.cpp - pmrun --compare ----------------------------------===//

#include "PipelineFixture.h"

#include "core/Safetensors.h"

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

class Compare : public testing::Test {
protected:
  void SetUp() override {
    writeWeights(folder / "model");
    writeData(folder / "data.safetensors", 2);
    for (auto [dp, mb] : {std::pair(1, 1), std::pair(2, 2)})
      writeBundle(folder / cat("dp", dp), dp, mb);
    std::vector<float> embed = noise(vocabulary * width, 1);
    embed[13 * width + 5] += 0.25f;
    writeWeights(folder / "changed", embed, noise(vocabulary * width, 2));
  }

  CommandResult compare(const std::string &bundle, const std::string &with,
                        const std::string &weights = "model") {
    return pmrun(cat(folder / bundle, " --weights=", folder / weights,
                     " --data=", folder / "data.safetensors",
                     " --compare=", folder / with));
  }

  void expect(const CommandResult &result, int status,
              std::initializer_list<std::string> texts) {
    EXPECT_EQ(result.status, status) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1)
        << result.output;
    for (const std::string &text : texts)
      EXPECT_NE(result.output.find(text), std::string::npos)
          << "got '" << result.output << "', wanted '" << text << "'";
  }

  TemporaryFolder folder;
};

TEST_F(Compare, BundlesOfOneModelAgree) {
  expect(compare("dp2", "dp1"), 0,
         {"compared with", "2 activations", "1 tensor of logits", "1 loss",
          "1 gradient,", "1 gradient norm", "2 parameters",
          "the largest difference is"});
  expect(compare("dp2", "dp2"), 0, {"all bits agree"});
}

TEST_F(Compare, TheFirstTensorThatDepartsIsNamed) {
  // Token 13 is the fourth id of the first row that has it.
  expect(compare("dp2", cat("dp1 --compare-weights=", folder / "changed")), 1,
         {"pmrun: error: --compare: activation 'x' at [", "rank ",
          "(dp=", "micro-batch ", "kernel 'embed' at embed", " here, but ",
          "nothing before it was compared"});
}

TEST_F(Compare, AReferenceFileIsCompared) {
  ASSERT_EQ(pmrun(cat(folder / "dp1", " --weights=", folder / "model",
                      " --data=", folder / "data.safetensors",
                      " --steps=1 --quiet --save-gradients=",
                      folder / "g.safetensors",
                      " --save-logits=", folder / "l.safetensors"))
                .status,
            0);
  SafetensorsFile gradients(folder / "g.safetensors", "gradients");
  SafetensorsFile logits(folder / "l.safetensors", "logits");
  const StoredTensor *values[] = {logits.find("logits"),
                                  gradients.find("head.weight")};
  writeSafetensors(folder / "reference.safetensors",
                   {{"logits", "F32", values[0]->shape},
                    {"grad.head.weight", "F32", values[1]->shape}},
                   {}, [&](size_t i) { return values[i]->data; });
  expect(compare("dp2", "reference.safetensors"), 0,
         {"1 tensor of logits, 1 gradient", "reference.safetensors"});
  expect(compare("dp2", "reference.safetensors", "changed"), 1,
         {"tensor of logits 'logits' at [", "gemm at head"});
  std::vector<float> changed(vocabulary * width);
  convertToF32(*values[1], 0, vocabulary * width, changed.data());
  changed[3 * width + 2] += 0.5f;
  writeSafetensors(folder / "changed.safetensors",
                   {{"grad.head.weight", "F32", values[1]->shape}}, {},
                   [&](size_t) { return changed.data(); });
  expect(compare("dp2", "changed.safetensors"), 1,
         {"gradient 'head.weight' at [3, 2]", "rank 0 (dp=0)", "gemm at head"});
}

TEST_F(Compare, WhatCannotBeComparedIsRefused) {
  writeFile(folder / "text.txt", "text");
  expect(compare("dp2", "text.txt"), 1,
         {"text.txt", "neither a bundle's folder nor a .safetensors"});
  expect(compare("dp2", "none"), 1, {"none"});
  expect(compare("dp2", "data.safetensors"), 1,
         {"neither 'logits' nor a 'grad.NAME'"});
  writeBundle(folder / "other", 1, 1, 0, [](nlohmann::ordered_json &manifest) {
    manifest["vocabulary"] = vocabulary - 1;
  });
  expect(compare("dp2", "other"), 1, {"a vocabulary of 15", "and 16"});
  expect(compare("dp2", "dp1 --transport=mpi"), 1, {"--transport=threads"});
}

} // namespace
