//===- SyncTest.cpp - Barriers, thread pools and failing ranks ------------===//

#include "Fixture.h"

#include <chrono>
#include <set>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

TEST(Barrier, KeepsRoundsApart) {
  for (int spin : {0, 1000}) {
    constexpr int members = 5, rounds = 200;
    Barrier barrier(members, spin);
    std::atomic<int> arrivals{0};
    std::atomic<bool> right{true};
    std::vector<std::thread> threads;
    for (int i = 0; i < members; ++i)
      threads.emplace_back([&] {
        for (int round = 1; round <= rounds; ++round) {
          ++arrivals;
          barrier.wait();
          if (arrivals < round * members)
            right = false;
          barrier.wait();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_TRUE(right);
    EXPECT_EQ(arrivals, members * rounds);
  }
}

TEST(Barrier, AbortEndsWaitsUntilReset) {
  Barrier barrier(2, 0);
  std::atomic<bool> ended{false};
  std::thread waiting([&] {
    EXPECT_THROW(barrier.wait(), Aborted);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ended);
  barrier.abort();
  waiting.join();
  EXPECT_THROW(barrier.wait(), Aborted);
  barrier.reset();
  std::thread other([&] { barrier.wait(); });
  barrier.wait();
  other.join();
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads, 0);
    for (int64_t count : {0, 1, 3, 100}) {
      std::vector<std::atomic<int>> runs(count);
      pool.run(count, [&](int64_t task, int thread) {
        EXPECT_LT(thread, threads);
        ++runs[task];
      });
      for (auto &run : runs)
        EXPECT_EQ(run, 1);
    }
  }
}

class Failing : public testing::Test {
protected:
  void SetUp() override {
    writeBundle(folder / "bundle", 8, 1);
    writeWeights(folder / "model");
    writeData(folder / "data.safetensors", 1);
    options.bundle = folder / "bundle";
    options.weights = folder / "model";
  }
  TemporaryFolder folder;
  Options options;
};

TEST_F(Failing, OneRankEndsAllAndIsNamed) {
  Session session(options, nullptr);
  Job &job = session.getJob();
  EXPECT_ERROR(job.stepEveryRank([](Rank &rank) {
    if (rank.number() == 5)
      fail("the disk is on fire");
    rank.runStep(0); // waits for rank 5 in the first all-reduce
  }),
               "rank 5 (dp=5): the disk is on fire");
  // The job can be used again.
  Batch batch =
      openTokenData(folder / "data.safetensors", session.batchShape())->read(0);
  EXPECT_GT(session.run(batch).loss, 0);
}

TEST_F(Failing, TheSecondInterruptEndsAStep) {
  std::atomic<int> interrupts{2};
  Session session(options, &interrupts);
  Batch batch =
      openTokenData(folder / "data.safetensors", session.batchShape())->read(0);
  EXPECT_ERROR(session.run(batch), "interrupted");
}

} // namespace
