//===- SlicesTest.cpp - Live bytes are followed as a step runs ------------===//

#include "host/Slices.h"

#include <cstring>
#include <gtest/gtest.h>

namespace pipemesh::runtime::test {
namespace {

void noKernel(void *const *, int64_t, int64_t, void *,
              const pmrt_kernel_context *) {}

/// Two micro-batches of a forward that saves 256 bytes, by way of 512 in the
/// scratch region, a backward that adds to a gradient of 128 bytes, and an update,
/// in the order F0 B0 F1 B1 U. The input has 64 bytes a micro-batch, the state 128,
/// the result 4.
struct Step {
  enum Buffer { Input, Saved, Gradient, State, Loss };

  /// `lateReader`: the update reads what the forwards have saved, too.
  explicit Step(bool lateReader) {
    auto buffer = [&](const char *name, BufferKind kind, uint64_t bytes,
                      uint32_t slots) {
      BufferInfo about;
      about.name = name;
      about.kind = kind;
      about.dtype = "f32";
      about.bytes = bytes;
      about.slots = slots;
      if (kind == BufferKind::Accumulator)
        about.init = BufferInit::Zero;
      info.buffers.push_back(about);
      buffers.push_back({name, arena, bytes, bytes, slots, PMRT_F32});
      arena += bytes * slots + 64;
    };
    buffer("input", BufferKind::Input, 64, 2);
    buffer("saved", BufferKind::Activation, 256, 2);
    buffer("gradient", BufferKind::Accumulator, 128, 1);
    buffer("state", BufferKind::State, 128, 1);
    buffer("loss", BufferKind::Output, 4, 1);
    auto instruction = [](std::vector<pmrt_operand> &operands) {
      return pmrt_instruction{PMRT_OP_KERNEL,  0, uint32_t(operands.size()), 0,
                              operands.data(), &kernel, "here"};
    };
    lists = {{{Input, PMRT_READ, 0, 64}, {PMRT_SCRATCH, PMRT_WRITE, 0, 512}},
             {{PMRT_SCRATCH, PMRT_READ, 0, 512}, {Saved, PMRT_WRITE, 0, 256}},
             {{Saved, PMRT_READ, 0, 256},
              {Gradient, PMRT_READ | PMRT_WRITE, 0, 128}},
             {{Gradient, PMRT_READ, 0, 128},
              {State, PMRT_READ | PMRT_WRITE, 0, 128},
              {Loss, PMRT_WRITE, 0, 4}}};
    if (lateReader)
      lists[3].push_back({Saved, PMRT_READ, 0, 512});
    for (auto &list : lists)
      instructions.push_back(instruction(list));
    bodies = {{"forward", PMRT_FORWARD, 0, 2, &instructions[0]},
              {"backward", PMRT_BACKWARD, 0, 1, &instructions[2]},
              {"update", PMRT_UPDATE, 0, 1, &instructions[3]}};
    for (auto [body, microBatch] :
         {std::pair(0u, 0u), {1u, 0u}, {0u, 1u}, {1u, 1u}, {2u, 0u}})
      actions.push_back({PMRT_RUN, body, microBatch, 0, 0, 0});
    role = {};
    role.abi_version = PMRT_ABI_VERSION;
    role.scratch_offset = arena;
    role.scratch_bytes = 512;
    role.arena_bytes = arena + 512;
    role.num_buffers = uint32_t(buffers.size());
    role.buffers = buffers.data();
    role.num_kernels = 1;
    role.kernels = &kernel;
    role.num_bodies = uint32_t(bodies.size());
    role.bodies = bodies.data();
    role.num_actions = actions.size();
    role.actions = actions.data();
    program = std::make_unique<Program>(role, info);
  }

  /// Walks over the step with the last reads of another one; memory begins with
  /// ones.
  uint64_t markWith(const LastReads &reads, std::vector<std::byte> &memory) {
    memory.assign(role.arena_bytes, std::byte(1));
    Slices slices(reads, *program, memory.data());
    slices.beginStep();
    for (uint64_t a = 0; a < actions.size(); ++a) {
      slices.beginAction(a);
      for (uint64_t i = 0; i < bodies[actions[a].index].num_instructions; ++i) {
        slices.beginInstruction(i, kernel.scratch_bytes);
        slices.endInstruction(i, i + 1);
      }
    }
    slices.endStep();
    place = slices.markPlace();
    return slices.mark();
  }

  static constexpr pmrt_kernel kernel = {"kernel", noKernel, 1, 1, 100, 0, 0};
  uint64_t arena = 0;
  RoleInfo info;
  std::vector<pmrt_buffer> buffers;
  std::vector<std::vector<pmrt_operand>> lists;
  std::vector<pmrt_instruction> instructions;
  std::vector<pmrt_body> bodies;
  std::vector<pmrt_action> actions;
  pmrt_role role;
  std::unique_ptr<Program> program;
  std::string place;
};

TEST(Slices, MarkIsThatOfTheStep) {
  Step step(false);
  std::vector<std::byte> memory;
  LastReads reads(*step.program);
  // Inputs, state and gradient, one saved value and the scratch for the other.
  EXPECT_EQ(step.markWith(reads, memory), 2 * 64 + 128 + 128 + 256 + 512 + 100);
  EXPECT_EQ(step.place,
            "'forward' of micro-batch 0, kernel 'kernel' at here");
  auto filled = [&](int buffer) {
    uint64_t begin = step.buffers[buffer].offset;
    return memory[begin] == std::byte(0xff) &&
           memory[begin + step.buffers[buffer].bytes - 1] == std::byte(0xff);
  };
  EXPECT_TRUE(filled(Step::Saved) && filled(Step::Gradient));
  EXPECT_FALSE(filled(Step::Input) || filled(Step::State) || filled(Step::Loss));
}

TEST(Slices, AValueThatIsFreedLateRaisesTheMark) {
  Step step(false), late(true);
  std::vector<std::byte> memory;
  LastReads reads(*step.program), lateReads(*late.program);
  EXPECT_EQ(step.markWith(lateReads, memory),
            step.markWith(reads, memory) + step.buffers[Step::Saved].bytes);
}

TEST(Slices, AValueThatIsFreedEarlyIsMissed) {
  Step step(false), late(true);
  std::vector<std::byte> memory;
  LastReads reads(*step.program);
  try {
    late.markWith(reads, memory);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(
                  "--poison=free: kernel 'kernel' at here reads bytes ["),
              std::string::npos)
        << error.what();
  }
}

TEST(Slices, SetsOfBytes) {
  ByteSet set;
  set.add(10, 20);
  set.add(30, 40);
  set.add(20, 30);
  EXPECT_EQ(set.size(), 30u);
  EXPECT_TRUE(set.contains(10, 40));
  set.remove(15, 18);
  EXPECT_EQ(set.size(), 27u);
  EXPECT_FALSE(set.contains(14, 16));
  EXPECT_TRUE(set.contains(18, 40));
  set.add(12, 17);
  EXPECT_EQ(set.size(), 29u);
  set.remove(0, 100);
  EXPECT_EQ(set.size(), 0u);
  EXPECT_EQ(set, ByteSet());
}

} // namespace
} // namespace pipemesh::runtime::test
