//===- CollectiveTest.cpp - Reductions between ranks ----------------------===//

#include "CollectiveCases.h"
#include "Fixture.h"

#include "host/Collective.h"
#include "host/Reduce.h"
#include "host/ThreadTransport.h"

#include <cmath>
#include <cstring>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

/// Runs one all-reduce of two operands on `members` threads.
void allReduce(std::vector<std::vector<float>> &first,
               std::vector<std::vector<float>> &second, int threads) {
  int64_t members = first.size();
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < members; ++i)
    ranks.push_back(i);
  ThreadGroup group(ranks, 0);
  uint64_t counts[] = {first[0].size(), second[0].size()};
  pmrt_collective collective = {0, PMRT_F32, PMRT_SUM, 0, counts, 1};
  pmrt_instruction instruction = {};
  instruction.opcode = PMRT_OP_ALL_REDUCE;
  instruction.num_operands = 2;
  instruction.descriptor = &collective;
  std::vector<std::thread> running;
  for (int64_t i = 0; i < members; ++i)
    running.emplace_back([&, i] {
      ThreadPool pool(threads, 0);
      void *pointers[] = {first[i].data(), second[i].data()};
      for (int repeat = 0; repeat < 3; ++repeat)
        group.run(i, 1, instruction, pointers, pool, {});
    });
  for (std::thread &thread : running)
    thread.join();
}

TEST(AllReduce, SumsInTheOrderOfTheRanks) {
  for (int64_t members : {2, 3, 8})
    for (int64_t count : {1, 17, 5000, 300000})
      for (int threads : {1, 2}) {
        std::vector<std::vector<float>> first, second;
        for (int64_t i = 0; i < members; ++i) {
          first.push_back(noise(count, 10 + i));
          second.push_back(noise(37, 50 + i));
        }
        std::vector<std::vector<float>> expected = {first[0], second[0]};
        for (int repeat = 0; repeat < 3; ++repeat) {
          for (size_t which : {0, 1}) {
            auto &own = which ? second : first;
            std::vector<float> &sum = expected[which];
            // After a round all members hold the same.
            std::vector<float> previous = sum;
            if (repeat == 0)
              sum = own[0];
            for (int64_t i = 1; i < members; ++i)
              for (size_t j = 0; j < sum.size(); ++j)
                sum[j] += repeat ? previous[j] : own[i][j];
          }
        }
        allReduce(first, second, threads);
        for (int64_t i = 0; i < members; ++i) {
          EXPECT_EQ(std::memcmp(first[i].data(), expected[0].data(),
                                count * sizeof(float)),
                    0)
              << members << " members, " << count << " elements";
          EXPECT_EQ(std::memcmp(second[i].data(), expected[1].data(),
                                37 * sizeof(float)),
                    0);
        }
      }
}

TEST(AllReduce, RefusesMembersThatMeetWithDifferentCounts) {
  ThreadGroup group({0, 1}, 0);
  uint64_t counts[2][1] = {{8}, {9}};
  std::string errors[2];
  pmrt_collective collectives[2];
  pmrt_instruction instructions[2] = {};
  std::vector<std::thread> running;
  for (int64_t i = 0; i < 2; ++i)
    running.emplace_back([&, i] {
      pmrt_collective &collective = collectives[i];
      collective = {0, PMRT_F32, PMRT_SUM, 0, counts[i], 1};
      pmrt_instruction &instruction = instructions[i];
      instruction.opcode = PMRT_OP_ALL_REDUCE;
      instruction.num_operands = 1;
      instruction.descriptor = &collective;
      instruction.location = "model.norm";
      float values[9] = {};
      void *pointers[] = {values};
      ThreadPool pool(1, 0);
      errors[i] = errorOf([&] {
        try {
          group.run(i, 1, instruction, pointers, pool, {});
        } catch (const Aborted &) {
        } catch (...) {
          group.sync().abort();
          throw;
        }
      });
    });
  for (std::thread &thread : running)
    thread.join();
  // The one that is first lets the other go.
  std::string error = errors[0].empty() ? errors[1] : errors[0];
  EXPECT_NE(error.find("rank 1 comes with all-reduce at model.norm (9 elements "
                       "against 8), where rank 0 comes with"),
            std::string::npos)
      << error;
}

TEST(Collectives, HaveTheBitsOfTheOrderOfRanks) {
  for (int64_t members : {1, 2, 3, 8})
    for (int threads : {1, 3}) {
      std::vector<int64_t> ranks;
      for (int64_t i = 0; i < members; ++i)
        ranks.push_back(i);
      ThreadGroup group(ranks, 0);
      std::vector<CollectiveCase> cases = collectiveCases(members);
      std::vector<std::string> problems(members);
      std::vector<std::thread> running;
      for (int64_t i = 0; i < members; ++i)
        running.emplace_back([&, i] {
          for (const CollectiveCase &which : cases)
            problems[i] += runCase(which, group, i, threads);
        });
      for (std::thread &thread : running)
        thread.join();
      for (const std::string &problem : problems)
        EXPECT_EQ(problem, "") << members << " members";
    }
}

TEST(Collectives, SendWhatTheUsualAlgorithmsSend) {
  auto bytesOf = [](const CollectiveCase &which, int64_t members,
                    int64_t member = 0) {
    pmrt_collective collective = {
        0, PMRT_F32, PMRT_SUM, 0, which.counts.data(), which.outer};
    pmrt_permute permute = {0, PMRT_F32, 0, uint32_t(members),
                            which.counts[0], which.sources.data(),
                            uint64_t(which.parts)};
    pmrt_instruction instruction = {};
    instruction.opcode = which.opcode;
    instruction.num_operands = which.operands[0].size();
    instruction.descriptor = &collective;
    if (which.opcode == PMRT_OP_ALL_TO_ALL)
      instruction.descriptor = &which.exchange;
    if (which.opcode == PMRT_OP_PERMUTE)
      instruction.descriptor = &permute;
    return wireBytes(instruction, members, member);
  };
  EXPECT_EQ(bytesOf(allReduceCase(4, {10, 6}), 4), 2 * 3 * 16);
  EXPECT_EQ(bytesOf(allGatherCase(4, 5, 17, 2), 4), 3 * 40);
  // Short pieces count as whole ones.
  EXPECT_EQ(bytesOf(reduceScatterCase(4, 5, 17, 2), 4), 3 * 40);
  EXPECT_EQ(bytesOf(allToAllCase(4, true, 7, 5, 2, 1, 3), 4),
            3 * 4 * (2 * 3 * 2 * 2));
  // Member 1 sends to member 0; member 0 would to member 3, which gets zero. With
  // two parts member 2 sends to 0 and 1.
  EXPECT_EQ(bytesOf(permuteCase(4, 1, 10), 4, 1), 40);
  EXPECT_EQ(bytesOf(permuteCase(4, 1, 10), 4, 0), 0);
  EXPECT_EQ(bytesOf(permuteCase(4, 1, 10, 2), 4, 2), 40);
  EXPECT_EQ(bytesOf(permuteCase(4, 1, 10, 2), 4, 1), 20);
}

TEST(Collectives, RefuseOtherSources) {
  CollectiveCase a = permuteCase(3, 1, 8), b = permuteCase(3, 2, 8);
  pmrt_permute first = {0, PMRT_F32, 0, 3, 8, a.sources.data(), 1},
               second = {0, PMRT_F32, 0, 3, 8, b.sources.data(), 1};
  pmrt_instruction one = {}, other = {};
  one.opcode = other.opcode = PMRT_OP_PERMUTE;
  one.num_operands = other.num_operands = 2;
  one.descriptor = &first;
  other.descriptor = &second;
  EXPECT_EQ(mismatch(signatureOf(one, 1), signatureOf(other, 1)), "other sources");
  EXPECT_EQ(mismatch(signatureOf(one, 1), signatureOf(one, 1)), "");
}

TEST(Reduce, KnowsTypesAndReductions) {
  int64_t a[] = {5, -3, 7}, b[] = {1, 9, 7};
  void *arrays[] = {a, b};
  reduceInPlace(arrays, 2, 0, 2, PMRT_I64, PMRT_MAX);
  EXPECT_EQ(a[0], 5);
  EXPECT_EQ(b[1], 9);
  EXPECT_EQ(a[2], 7);
  uint8_t some[] = {0, 1, 0}, others[] = {1, 1, 0};
  void *booleans[] = {some, others};
  reduceInPlace(booleans, 2, 0, 3, PMRT_I1, PMRT_MAX);
  EXPECT_EQ(some[0], 1);
  EXPECT_EQ(others[2], 0);
  float x[] = {1, NAN, 3}, y[] = {NAN, 2, 1};
  void *floats[] = {x, y};
  reduceInPlace(floats, 2, 0, 3, PMRT_F32, PMRT_MIN);
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[1]));
  EXPECT_EQ(x[2], 1);
}

} // namespace
