//===- TrainingTest.cpp - Whole steps of a small model --------------------===//

#include "Fixture.h"

#include "core/Safetensors.h"
#include "launch/Report.h"
#include "launch/SaveModel.h"

#include <cstring>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

struct MeshSize {
  int64_t dp, mb;
};

class Training : public testing::TestWithParam<MeshSize> {
protected:
  void SetUp() override {
    writeBundle(folder / "bundle", GetParam().dp, GetParam().mb);
    writeWeights(folder / "model");
    writeData(folder / "data.safetensors", 4);
    options.bundle = folder / "bundle";
    options.weights = folder / "model";
  }

  std::unique_ptr<TokenData> data(const Session &session) {
    return openTokenData(folder / "data.safetensors", session.batchShape());
  }

  TemporaryFolder folder;
  Options options;
};

std::string meshName(const testing::TestParamInfo<MeshSize> &info) {
  return cat("dp", info.param.dp, "mb", info.param.mb);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Training,
                         testing::Values(MeshSize{1, 1}, MeshSize{2, 1},
                                         MeshSize{8, 1}, MeshSize{1, 2},
                                         MeshSize{1, 4}, MeshSize{2, 2},
                                         MeshSize{2, 4}),
                         meshName);

TEST_P(Training, StepsMatchTheModelInDoublePrecision) {
  Session session(options, nullptr);
  auto batches = data(session);
  Reference reference;
  for (int64_t step = 0; step < batches->steps(); ++step) {
    Batch batch = batches->read(step);
    StepResult result = session.run(batch);
    reference.step(batch, session.recipe());
    EXPECT_NEAR(result.loss, reference.loss, 2e-6) << "step " << step;
    EXPECT_NEAR(*result.gradNorm, reference.gradNorm, 2e-6);
    EXPECT_EQ(result.countedTokens, batch.countedTokens);
    EXPECT_EQ(*result.learningRate, 0.01);
  }
  std::vector<float> head;
  session.getJob().gather("head", head);
  for (size_t i = 0; i < head.size(); ++i)
    EXPECT_NEAR(head[i], reference.head[i], 1e-5);
}

TEST_P(Training, GradientsAndLogitsAreThoseOfTheWholeBatch) {
  Session session(options, nullptr);
  Batch batch = data(session)->read(0);
  std::vector<float> logits;
  session.captureLogits();
  session.run(batch);
  session.takeLogits(logits);
  session.saveGradients(folder / "gradients.safetensors");
  Reference reference;
  std::vector<double> head = reference.head;
  reference.step(batch, session.recipe());

  SafetensorsFile file(folder / "gradients.safetensors", "gradients");
  EXPECT_EQ(file.tensors().size(), 1u);
  const StoredTensor *gradient = file.find("head.weight");
  ASSERT_NE(gradient, nullptr);
  std::vector<float> values(vocabulary * width);
  convertToF32(*gradient, 0, values.size(), values.data());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], reference.gradient[i], 1e-6);

  ASSERT_EQ(logits.size(), size_t(batch.inputIds.size() * vocabulary));
  for (size_t row = 0; row < batch.inputIds.size(); ++row)
    for (int64_t v = 0; v < vocabulary; ++v) {
      double expected = 0;
      for (int64_t d = 0; d < width; ++d)
        expected += reference.embed[batch.inputIds[row] * width + d] *
                    head[v * width + d];
      EXPECT_NEAR(logits[row * vocabulary + v], expected, 1e-5);
    }
}

TEST_P(Training, RepeatsAndThreadsGiveTheSameBits) {
  auto train = [&](int threads, bool poison) {
    options.threads = threads;
    options.poison = poison;
    Session session(options, nullptr);
    auto batches = data(session);
    std::vector<float> result;
    for (int64_t step = 0; step < batches->steps(); ++step)
      result.push_back(session.run(batches->read(step)).loss);
    std::vector<float> head;
    session.getJob().gather("head", head);
    result.insert(result.end(), head.begin(), head.end());
    return result;
  };
  std::vector<float> first = train(1, false);
  for (auto [threads, poison] :
       {std::pair(1, false), std::pair(3, false), std::pair(1, true)}) {
    std::vector<float> again = train(threads, poison);
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * 4), 0)
        << threads << " threads, poison " << poison;
  }
}

TEST_P(Training, SavedModelGoesOnWhereItStopped) {
  std::vector<float> straight, resumed;
  {
    Session session(options, nullptr);
    auto batches = data(session);
    for (int64_t step = 0; step < 4; ++step) {
      session.run(batches->read(step));
      if (step == 1)
        session.save(folder / "saved");
    }
    session.getJob().gather("head", straight);
  }
  options.weights = folder / "saved";
  options.resume = true;
  Session session(options, nullptr);
  EXPECT_EQ(session.step(), 2);
  auto batches = data(session);
  for (int64_t step = session.step(); step < 4; ++step)
    session.run(batches->read(step));
  session.getJob().gather("head", resumed);
  EXPECT_EQ(std::memcmp(straight.data(), resumed.data(), straight.size() * 4),
            0);
}

TEST_P(Training, NoStepSavesTheWeightsBitForBit) {
  Session session(options, nullptr);
  session.save(folder / "saved");
  SafetensorsFile before(folder / "model/model.safetensors", "weights");
  SafetensorsFile after(folder / "saved/model.safetensors", "weights");
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (auto &[name, tensor] : before.tensors()) {
    const StoredTensor *saved = after.find(name);
    ASSERT_NE(saved, nullptr);
    EXPECT_EQ(saved->shape, tensor.shape);
    EXPECT_EQ(std::memcmp(saved->data, tensor.data, tensor.bytes), 0);
  }
  EXPECT_EQ(after.metadata().at("format"), "pt");
  auto config = nlohmann::json::parse(readFile(folder / "saved/config.json"));
  EXPECT_EQ(config["model_type"], "linear");
  EXPECT_EQ(config["torch_dtype"], "float32");
}

TEST_P(Training, TraceHasAProcessForEachRankAndSpansWithLocations) {
  options.trace = folder / "trace.json";
  Session session(options, nullptr);
  session.run(data(session)->read(0));
  writeTrace(session.getJob(), options.trace);
  auto trace = nlohmann::json::parse(readFile(options.trace));
  std::set<int64_t> processes;
  int64_t actions = 0, located = 0;
  for (auto &event : trace["traceEvents"]) {
    processes.insert(event["pid"].get<int64_t>());
    actions += event.value("cat", "") == "action";
    located +=
        event.contains("args") && event["args"].value("location", "") == "head";
  }
  auto [dp, mb] = GetParam();
  EXPECT_EQ(int64_t(processes.size()), dp);
  EXPECT_EQ(actions, dp * (2 + 2 * mb));
  EXPECT_EQ(located, dp * (2 * mb + 2));
}

} // namespace
