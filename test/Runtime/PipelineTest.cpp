//===- PipelineTest.cpp - Stages, transfers and their overlap -------------===//

#include "PipelineFixture.h"

#include "core/Safetensors.h"
#include "host/ThreadTransport.h"
#include "launch/Report.h"

#include <cmath>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;
using json = nlohmann::ordered_json;

namespace {

class Pipeline : public testing::Test {
protected:
  void SetUp() override {
    writePipelineWeights(folder / "model");
    writeData(folder / "data.safetensors", 4);
    options.bundle = folder / "bundle";
    options.weights = folder / "model";
  }

  Batch batchOf(const Session &session, int64_t step) {
    return openTokenData(folder / "data.safetensors", session.batchShape())
        ->read(step);
  }

  float weight(Session &session, const char *name) {
    std::vector<float> value;
    session.getJob().gather(name, value);
    return value.at(0);
  }

  TemporaryFolder folder;
  Options options;
};

TEST_F(Pipeline, StepsMatchTheModelInDoublePrecision) {
  for (int64_t dp : {1, 2}) {
    options.bundle = folder / cat("bundle", dp);
    writePipeline(options.bundle, {dp});
    for (bool poison : {false, true}) {
      options.poison = poison;
      Session session(options, nullptr);
      EXPECT_EQ(session.getJob().size(), 2 * dp);
      PipelineReference reference;
      for (int64_t step = 0; step < 4; ++step) {
        Batch batch = batchOf(session, step);
        StepResult result = session.run(batch);
        reference.step(batch, 0.01);
        EXPECT_NEAR(result.loss, reference.loss, 1e-5);
        EXPECT_NEAR(*result.gradNorm, reference.gradNorm, 1e-5);
      }
      EXPECT_NEAR(weight(session, "w0"), reference.w0, 1e-5);
      EXPECT_NEAR(weight(session, "w1"), reference.w1, 1e-5);
    }
  }
}

TEST_F(Pipeline, StagesOverlapInTime) {
  // Forward and backward of four micro-batches on two stages, one after the
  // other: 16 rests. Overlapped, 1 + 8 + 1 remain.
  constexpr int rest = 10000;
  writePipeline(options.bundle, {1, 0, rest});
  Session session(options, nullptr);
  double serial = 16 * rest / 1e3, best = 1e9;
  // Whatever else the machine does only adds: the best of several counts.
  for (int64_t step = 0; step < 20 && best > 0.75 * serial; ++step)
    best = std::min(best, session.run(batchOf(session, step % 4)).milliseconds);
  EXPECT_LE(best, 0.75 * serial);
  EXPECT_GE(best, 0.62 * serial);
}

TEST_F(Pipeline, ALossThatIsNotFiniteKeepsTheStateOfEveryStage) {
  for (int64_t dp : {1, 2}) {
    options.bundle = folder / cat("bundle", dp);
    writePipeline(options.bundle, {dp});
    writePipelineWeights(options.weights, 0.75f, NAN);
    Session session(options, nullptr);
    EXPECT_ERROR(session.run(batchOf(session, 0)), "the loss is nan at step 0",
                 "parameter 'w1' holds nan", "kernel 'forward' at layers.1",
                 "stage1_forward", "nothing is saved");
    // Stage 0 would have subtracted a gradient that is no number.
    EXPECT_EQ(weight(session, "w0"), 0.75f);
    EXPECT_TRUE(std::isnan(weight(session, "w1")));
    // What was sent and not received does not disturb the next step.
    session.getJob().onEveryRank([](Rank &rank) {
      int64_t w1 = rank.getProgram().info.find("w1");
      if (w1 >= 0)
        *reinterpret_cast<float *>(rank.slot(w1, 0)) = -1.25f;
    });
    PipelineReference reference;
    Batch batch = batchOf(session, 0);
    reference.step(batch, 0.01);
    EXPECT_NEAR(session.run(batch).loss, reference.loss, 1e-5);
    EXPECT_NEAR(weight(session, "w0"), reference.w0, 1e-5);
  }
}

TEST_F(Pipeline, SavedModelsHoldTheTensorsOfAllStages) {
  writePipeline(options.bundle, {2});
  Session session(options, nullptr);
  session.run(batchOf(session, 0));
  session.save(folder / "saved");
  session.saveGradients(folder / "gradients.safetensors");
  SafetensorsFile saved(folder / "saved/model.safetensors", "weights");
  float value = 0;
  convertToF32(*saved.find("w0"), 0, 1, &value);
  EXPECT_EQ(value, weight(session, "w0"));
  convertToF32(*saved.find("w1"), 0, 1, &value);
  EXPECT_EQ(value, weight(session, "w1"));
  SafetensorsFile gradients(folder / "gradients.safetensors", "gradients");
  EXPECT_EQ(gradients.tensors().size(), 2u);
}

TEST_F(Pipeline, TheTraceShowsTransfersWithTheirPeers) {
  writePipeline(options.bundle, {2});
  options.trace = folder / "trace.json";
  Session session(options, nullptr);
  session.run(batchOf(session, 0));
  writeTrace(session.getJob(), options.trace);
  int64_t sends = 0, receives = 0, collectives = 0;
  auto trace = nlohmann::json::parse(readFile(options.trace));
  for (auto &event : trace["traceEvents"]) {
    std::string category = event.value("cat", "");
    int64_t rank = event["pid"].get<int64_t>();
    if (category == "transfer") {
      // Ranks are numbered dp, then pp.
      EXPECT_EQ(event["args"]["peer"].get<int64_t>(), rank ^ 1);
      EXPECT_TRUE(event["args"].contains("wait_us"));
      bool send = event["name"].get<std::string>().rfind("send ", 0) == 0;
      (send ? sends : receives) += 1;
    }
    if (category == "collective") {
      ++collectives;
      EXPECT_EQ(event["args"]["peers"], nlohmann::json{rank ^ 2});
    }
  }
  EXPECT_EQ(sends, 2 * (4 + 4 + 2));
  EXPECT_EQ(receives, sends);
  EXPECT_EQ(collectives, 4);
}

TEST_F(Pipeline, TransfersThatDoNotFitAreRefused) {
  auto open = [&](int fault) {
    std::string path = folder / cat("faulty", fault);
    writePipeline(path, {1, fault});
    Bundle bundle(path);
  };
  EXPECT_ERROR(open(1), "channel 1 from role 1 to role 0", "transfer 2",
               "'dh' of micro-batch 2", "micro-batch 3 is received");
  EXPECT_ERROR(open(3), "'h' to or from role 5 of 2");
  writePipeline(options.bundle, {1, 2});
  options.poison = options.noCertificate = true;
  EXPECT_ERROR(Session session(options, nullptr), "sends buffer 'dh'",
               "micro-batch 0", "nothing has written");
}

TEST(MessageQueue, ReusesItsCopiesAndEndsWaits) {
  MessageQueue queue(0);
  Parcel parcel{sizeof(float)};
  for (int round = 0; round < 3; ++round) {
    for (float value : {1.0f, 2.0f, 3.0f})
      queue.send(parcel, &value);
    for (float expected : {1.0f, 2.0f, 3.0f}) {
      float value = 0;
      queue.receive(parcel, &value, 0, {});
      EXPECT_EQ(value, expected);
    }
  }
  std::thread waiting([&] {
    float value;
    EXPECT_THROW(queue.receive(parcel, &value, 0, {}), Aborted);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  queue.abort();
  waiting.join();
  queue.reset();
  float value = 4;
  queue.send(parcel, &value);
  double wide;
  EXPECT_ERROR(queue.receive({sizeof(wide)}, &wide, 7, {}), "what rank 7 sends",
               "4 bytes against 8");
  queue.send({4, /*step=*/2, /*microBatch=*/1}, &value);
  EXPECT_ERROR(queue.receive({4, 2, 0}, &value, 7, {}),
               "micro-batch 1 of step 2 against micro-batch 0 of step 2");
}

} // namespace
