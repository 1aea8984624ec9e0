//===- CycleTest.cpp - Waits between roles --------------------------------===//

#include "Samples.h"

using namespace pipemesh;
using namespace pipemesh::proof::test;

/// An interleaved pipeline of two ranks with four stages, round robin, whose
/// sends are rendezvous: no cycle of waits, and none where nothing buffers what
/// is sent.
TEST(Cycles, InterleavedPipelineNeedsNoBuffers) {
  SampleProgram program(sampleOf("interleaved-1f1b", 2, 2, 4));
  proof::Proof proof = program.prove();
  EXPECT_TRUE(proof.needsNoBuffers) << proof.cycleWithoutBuffers;
  EXPECT_EQ(proof.transfers, 6u * 4u);
}

/// Where the micro-batches are a multiple of the ranks, or fewer.
TEST(Cycles, SchedulesOfWholeRoundsNeedNoBuffers) {
  for (llvm::StringRef name : schedule::getScheduleNames())
    for (int64_t ranks : {2, 3, 4})
      for (int64_t microBatches : {int64_t(1), ranks, 2 * ranks})
        if (auto made = scheduleOf(name.str(), ranks, 0, microBatches)) {
          SampleOptions options;
          options.schedule = std::move(*made);
          proof::Proof proof = SampleProgram(options).prove();
          EXPECT_TRUE(proof.needsNoBuffers)
              << name.str() << " " << ranks << " " << microBatches << " "
              << proof.cycleWithoutBuffers;
        }
}

/// With a last round that is not whole, two ranks of an interleaved pipeline wait
/// to write what the other has not received: sends have to be copied.
TEST(Cycles, InterleavedPipelineOfUnevenRoundsNeedsBuffers) {
  proof::Proof proof = SampleProgram(sampleOf("interleaved-1f1b", 3, 0, 8)).prove();
  EXPECT_FALSE(proof.needsNoBuffers);
  EXPECT_NE(proof.cycleWithoutBuffers.find(
                "writes a slot that role 2 has not received yet"),
            std::string::npos)
      << proof.cycleWithoutBuffers;
}

/// Index of the first action of a kind on a buffer.
static uint64_t findAction(SampleProgram &program, uint32_t role, uint32_t kind,
                           const std::string &buffer) {
  for (uint64_t a = 0; a < program.tables[role].num_actions; ++a)
    if (program.action(role, a).kind == kind &&
        buffer ==
            program.tables[role].buffers[program.action(role, a).index].name)
      return a;
  throw std::runtime_error("no action on " + buffer);
}

TEST(Cycles, ShortestCycleOfTransfersIsNamed) {
  SampleProgram program(sampleOf("1f1b", 2, 0, 2));
  // Role 0 waits for the gradient before it sends what that is made of.
  uint64_t send = findAction(program, 0, PMRT_SEND, "h0");
  uint64_t receive = findAction(program, 0, PMRT_RECEIVE, "d0");
  pmrt_action moved = program.action(0, receive);
  for (uint64_t a = receive; a > send; --a)
    program.action(0, a) = program.action(0, a - 1);
  program.action(0, send) = moved;
  expectRefusal(program,
                {"cycle: the roles wait for each other",
                 "role 0, action 2: receive of 'd0' of micro-batch 0 from role "
                 "1 on channel 1 waits for role 1",
                 "role 1, action 1: receive of 'h0' of micro-batch 0 from role "
                 "0 on channel 0 waits for role 0"});
}

/// Sums over two communicators that share ranks, in another order on each role: a
/// role that waits in the one never comes to the other.
TEST(Cycles, CycleThroughTwoCommunicatorsIsNamed) {
  SampleOptions options = sampleOf("gpipe", 2, 0, 1);
  options.dp = 2;
  options.spanning = true;
  SampleProgram program(options);
  for (uint32_t role : {0u, 1u}) {
    std::string body = "stage" + std::to_string(role) + "_reduce";
    pmrt_instruction &norm =
        program.instruction(role, body, PMRT_OP_ALL_REDUCE, 1);
    pmrt_instruction &all =
        program.instruction(role, body, PMRT_OP_ALL_REDUCE, 2);
    // Both sum one element of the norm, one after the other.
    all.operands = norm.operands;
    auto &first = program.descriptor<pmrt_collective>(norm);
    auto &second = program.descriptor<pmrt_collective>(all);
    second.counts = first.counts;
    first.sequence = second.sequence = 0;
    if (role == 1)
      std::swap(first.communicator, second.communicator);
  }
  expectRefusal(program, {"cycle: the roles wait for each other",
                          "role 0, action 5: 'stage0_reduce' of micro-batch 0",
                          "over 'pp' waits for role 1",
                          "over 'dp', 'pp', 'tp' waits for role 0"});
}
