//===- RefusalTest.cpp - What the checker refuses, and how it says so -----===//

#include "Samples.h"

using namespace pipemesh;
using namespace pipemesh::proof::test;

static SampleOptions spanning() {
  SampleOptions options = sampleOf("1f1b", 2, 0, 2);
  options.dp = options.tp = 2;
  options.spanning = true;
  return options;
}

TEST(Refusals, CollectivesOfTwoRolesAreCompared) {
  auto expect = [](auto change, const std::string &text) {
    SampleProgram program(spanning());
    pmrt_instruction &norm =
        program.instruction(1, "stage1_reduce", PMRT_OP_ALL_REDUCE, 1);
    change(program, norm);
    expectRefusal(program, {"collective: ", text, "reduce.2"});
  };
  expect(
      [](SampleProgram &program, pmrt_instruction &norm) {
        program.descriptor<pmrt_collective>(norm).reduction = PMRT_MAX;
      },
      "number 0 over 'pp' is not the same on all: the sum and the max");
  expect(
      [](SampleProgram &program, pmrt_instruction &norm) {
        program.descriptor<pmrt_collective>(norm).sequence = 9;
      },
      "is not the same on all: sequence 1 and 9");
  expect(
      [](SampleProgram &program, pmrt_instruction &norm) {
        // Four bytes are one element of f32, or two of f16.
        program.buffer(1, "grad_norm").dtype = PMRT_I32;
        program.manifest.roles[1].buffers[program.manifest.roles[1].find(
            "grad_norm")].dtype = "i32";
        program.descriptor<pmrt_collective>(norm).dtype = PMRT_I32;
      },
      "is not the same on all: f32 and i32");
  expect(
      [](SampleProgram &program, pmrt_instruction &norm) {
        program.descriptor<pmrt_collective>(norm).communicator = 1; // tp
      },
      "over 'pp' is met by no other of role 1, which comes to 0");
}

TEST(Refusals, CollectiveOfCountsThatDifferIsNamed) {
  SampleProgram program(spanning());
  pmrt_instruction &all =
      program.instruction(0, "stage0_reduce", PMRT_OP_ALL_REDUCE, 2);
  program.operand(all, 0).bytes = 4;
  const_cast<uint64_t *>(program.descriptor<pmrt_collective>(all).counts)[0] = 1;
  expectRefusal(program,
                {"collective: number 0 over 'dp', 'pp', 'tp' is not the same on "
                 "all: count 1 and 2",
                 "role 0, 'stage0_reduce', instruction 4 (all-reduce at "
                 "reduce.4) of micro-batch 0",
                 "role 1, 'stage1_reduce', instruction 4 (all-reduce at "
                 "reduce.4) of micro-batch 0"});
}

TEST(Refusals, SizesOfATransferAreCompared) {
  SampleProgram program(sampleOf("gpipe", 2, 0, 2));
  // The sender's own copy has fewer elements, in all that it is used for.
  program.buffer(0, "h0").dtype = PMRT_I32;
  program.manifest.roles[0].buffers[program.manifest.roles[0].find("h0")].dtype =
      "i32";
  expectRefusal(program, {"transfer: role 1, action ",
                          "receive of 'h0' of micro-batch 0",
                          "i32 is sent where f32 is received"});
}

TEST(Refusals, ConditionThatDiffersIsFollowed) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SampleOptions options = sampleOf("gpipe", 1, 0, 2);
    options.dp = 2;
    options.loops = true;
    options.operations = 12;
    options.seed = seed;
    SampleProgram program(options);
    EXPECT_EQ(program.refusal(), "");
    pmrt_body &forward = program.body(0, "stage0_forward");
    bool changed = false;
    int64_t input = program.manifest.roles[0].find("input_ids");
    for (uint64_t i = 0; i < forward.num_instructions; ++i) {
      auto &instruction =
          const_cast<pmrt_instruction &>(forward.instructions[i]);
      // The kernels that compute conditions read four bytes.
      if (instruction.opcode == PMRT_OP_KERNEL &&
          instruction.operands[0].bytes == 4) {
        program.operand(instruction, 0).buffer = static_cast<int32_t>(input);
        program.operand(instruction, 0).offset = 0;
        changed = true;
      }
    }
    std::string text = program.refusal();
    if (changed && !text.empty()) {
      EXPECT_EQ(text.find("condition: role 0, 'stage0_forward', instruction "),
                0u)
          << text;
      EXPECT_NE(text.find("whose operand may differ between the ranks along "
                          "'dp', which meet there"),
                std::string::npos)
          << text;
      return;
    }
  }
  FAIL() << "no program has a collective over dp in a loop";
}

TEST(Refusals, MemoryNamesItsReserves) {
  SampleProgram program(sampleOf("gpipe", 2, 0, 4));
  proof::Proof proof = program.prove();
  uint64_t peak = std::max(proof.roles[0].peak(), proof.roles[1].peak());
  EXPECT_EQ(program.refusal({peak}), "");
  std::string text = program.refusal({peak - 1});
  EXPECT_EQ(text.find("memory: a rank of role "), 0u) << text;
  for (const char *part : {"arena ", "scratch of kernels 256",
                           "matrices packed by oneDNN 22272",
                           "transfers under way "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// A sender runs ahead of a receiver that has nothing to give back yet.
TEST(Refusals, TransfersUnderWayAreCounted) {
  SampleProgram gpipe(sampleOf("gpipe", 2, 0, 4));
  EXPECT_EQ(gpipe.prove().roles[1].inFlight, 4u * 128u);
  SampleProgram alternating(sampleOf("1f1b", 2, 0, 4));
  EXPECT_EQ(alternating.prove().roles[1].inFlight, 2u * 128u);
}

static SampleOptions starting() {
  SampleOptions options = sampleOf("1f1b", 2, 0, 4);
  options.dp = 2;
  options.starts = true;
  return options;
}

/// The instructions of a body with one more in front of number `at`.
static std::vector<pmrt_instruction>
insert(pmrt_body &body, uint64_t at, const pmrt_instruction &more) {
  std::vector<pmrt_instruction> list(body.instructions,
                                     body.instructions + body.num_instructions);
  list.insert(list.begin() + static_cast<int64_t>(at), more);
  return list;
}

static void use(pmrt_body &body, const std::vector<pmrt_instruction> &list) {
  body.instructions = list.data();
  body.num_instructions = list.size();
}

TEST(Refusals, StartThatNothingWaitsForIsNamed) {
  SampleProgram program(starting());
  ASSERT_EQ(program.refusal(), "");
  const pmrt_body &last = program.body(1, "stage1_backward_last");
  const pmrt_instruction *start = last.instructions;
  while (!start->event)
    ++start;
  pmrt_instruction late = *start;
  late.event = 9;
  pmrt_body &update = program.body(1, "stage1_update");
  auto list = insert(update, update.num_instructions, late);
  use(update, list);
  expectRefusal(program,
                {"event: role 1, 'stage1_update', instruction ",
                 "starts event 9, which nothing waits for in the step"});
}

TEST(Refusals, StartInAChoiceIsNamed) {
  SampleProgram program(starting());
  pmrt_body &last = program.body(0, "stage0_backward_last");
  uint64_t at = 0;
  while (!last.instructions[at].event)
    ++at;
  const uint64_t targets[] = {at + 1, at + 2};
  const pmrt_jump jump = {2, PMRT_I1, targets};
  const pmrt_operand index = {
      static_cast<int32_t>(program.manifest.roles[0].find("count")), PMRT_READ, 0,
      1};
  auto list =
      insert(last, at, {PMRT_OP_SWITCH, 0, 1, 0, &index, &jump, "choice"});
  use(last, list);
  expectRefusal(program, {"event: role 0, 'stage0_backward_last', instruction ",
                          "stands in a loop or a choice"});
}

TEST(Refusals, SmallStartIsNamed) {
  SampleProgram program(starting());
  uint32_t number = 0;
  while (!program.instruction(0, "stage0_backward_last", PMRT_OP_ALL_REDUCE, number)
              .event)
    ++number;
  pmrt_instruction &start = program.instruction(0, "stage0_backward_last",
                                                PMRT_OP_ALL_REDUCE, number);
  program.operand(start, 0).buffer =
      static_cast<int32_t>(program.manifest.roles[0].find("count"));
  program.operand(start, 0).bytes = 4;
  const_cast<uint64_t *>(
      program.descriptor<pmrt_collective>(start).counts)[0] = 1;
  expectRefusal(program, {"starts with 'count' of 4 bytes, which the vote before "
                          "the update may read"});
}
