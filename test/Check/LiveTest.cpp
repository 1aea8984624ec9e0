//===- LiveTest.cpp - The peak of live bytes, against a walk over each byte ===//

#include "Samples.h"

#include <map>
#include <set>

namespace pipemesh::proof::test {
namespace {

using runtime::BufferInfo;
using runtime::BufferInit;
using runtime::BufferKind;

struct Touch {
  uint64_t begin, end; ///< in the arena
  bool reads, writes;
};

struct Moment {
  std::vector<Touch> touches;
  uint64_t kernelScratch = 0;
};

/// All instructions and transfers of a step of a role, one after the other; bodies
/// without jumps.
std::vector<Moment> momentsOf(const pmrt_role &role) {
  std::vector<Moment> moments;
  std::map<uint32_t, std::vector<Touch>> started;
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    auto placeOf = [&](uint32_t buffer, uint64_t microBatch) {
      const pmrt_buffer &of = role.buffers[buffer];
      return of.offset + microBatch % of.slots * of.slot_stride;
    };
    if (action.kind != PMRT_RUN) {
      uint64_t at = placeOf(action.index, action.micro_batch);
      bool sends = action.kind == PMRT_SEND;
      moments.push_back(
          {{{at, at + role.buffers[action.index].bytes, sends, !sends}}});
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      Moment &moment = moments.emplace_back();
      if (instruction.opcode == PMRT_OP_KERNEL)
        moment.kernelScratch =
            static_cast<const pmrt_kernel *>(instruction.descriptor)
                ->scratch_bytes;
      for (uint32_t o = 0; o < instruction.num_operands; ++o) {
        const pmrt_operand &operand = instruction.operands[o];
        uint64_t at = operand.offset +
                      (operand.buffer == PMRT_SCRATCH
                           ? role.scratch_offset
                           : placeOf(operand.buffer,
                                     runsOnce(body) ? 0 : action.micro_batch));
        moment.touches.push_back({at, at + operand.bytes,
                                  (operand.access & PMRT_READ) != 0,
                                  (operand.access & PMRT_WRITE) != 0});
      }
      // The operands of a start are its own up to the wait.
      if (instruction.opcode == PMRT_OP_WAIT) {
        for (Touch touch : started[instruction.event])
          moment.touches.push_back({touch.begin, touch.end, true, false});
      } else if (instruction.event) {
        started[instruction.event] = moment.touches;
      }
    }
  }
  return moments;
}

/// Looks at each piece of the arena by itself.
uint64_t walkOverBytes(const pmrt_role &role, const runtime::RoleInfo &info) {
  std::vector<Moment> moments = momentsOf(role);
  std::set<uint64_t> edges;
  struct Filled {
    uint64_t begin, end;
    BufferKind kind;
    bool zeroed;
  };
  std::vector<Filled> filled;
  for (uint32_t i = 0; i < role.num_buffers; ++i)
    for (uint32_t s = 0; s < role.buffers[i].slots; ++s) {
      uint64_t begin = role.buffers[i].offset + s * role.buffers[i].slot_stride;
      const BufferInfo &buffer = info.buffers[i];
      filled.push_back({begin, begin + role.buffers[i].bytes, buffer.kind,
                        buffer.kind == BufferKind::Accumulator &&
                            buffer.init == BufferInit::Zero});
      edges.insert({begin, filled.back().end});
    }
  for (const Moment &moment : moments)
    for (const Touch &touch : moment.touches)
      edges.insert({touch.begin, touch.end});
  // Moment 0 is the beginning of the step.
  std::vector<uint64_t> live(moments.size() + 1);
  for (auto edge = edges.begin(); edge != edges.end() && std::next(edge) != edges.end();
       ++edge) {
    uint64_t begin = *edge, bytes = *std::next(edge) - begin;
    auto isIn = [&](auto &range) {
      return range.begin <= begin && begin < range.end;
    };
    bool kept = false, output = false, zeroed = false;
    for (const Filled &range : filled)
      if (isIn(range)) {
        kept |= range.kind == BufferKind::State || range.kind == BufferKind::Input;
        output |= range.kind == BufferKind::Output;
        zeroed |= range.zeroed;
      }
    bool needed = kept || output;
    for (size_t m = moments.size(); m-- > 0;) {
      bool reads = false, writes = false;
      for (const Touch &touch : moments[m].touches)
        if (isIn(touch)) {
          reads |= touch.reads;
          writes |= touch.writes;
        }
      if (needed || reads || writes)
        live[m + 1] += bytes;
      needed = kept || reads || (needed && !writes);
    }
    if (needed || zeroed)
      live[0] += bytes;
  }
  uint64_t most = live[0];
  for (size_t m = 0; m < moments.size(); ++m)
    most = std::max(most, live[m + 1] + moments[m].kernelScratch);
  return most;
}

TEST(Live, EqualsAWalkOverEachByte) {
  int compared = 0;
  uint32_t seed = 0;
  for (const char *name : {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs",
                           "zb-h1", "zb-h2", "zb-v", "dualpipe-v"})
    for (int64_t ranks : {1, 2, 4})
      for (int64_t microBatches : {1, 3, 8}) {
        bool plain = std::string(name) == "gpipe" || std::string(name) == "1f1b" ||
                     std::string(name).substr(0, 4) == "zb-h";
        auto schedule = scheduleOf(name, ranks, plain ? 0 : 2, microBatches);
        if (!schedule)
          continue;
        SampleOptions options;
        options.schedule = *schedule;
        options.tp = 2;
        options.operations = 1 + seed % 5;
        options.starts = seed % 2;
        options.dp = 1 + seed % 2;
        options.seed = seed++;
        SampleProgram program(options);
        proof::Proof proof = program.prove();
        for (size_t r = 0; r < program.tables.size(); ++r) {
          EXPECT_EQ(proof.roles[r].live.bytes(),
                    walkOverBytes(program.tables[r], program.manifest.roles[r]))
              << name << ", " << ranks << " ranks, " << microBatches
              << " micro-batches, role " << r;
          EXPECT_LE(proof.roles[r].live.bytes(),
                    proof.roles[r].arena + proof.roles[r].kernelScratch);
          ++compared;
        }
      }
  EXPECT_GT(compared, 80);
}

/// What is written for a reader that never comes is live only while it is
/// written.
TEST(Live, AReaderLessIsAByteLess) {
  SampleProgram program(sampleOf("gpipe", 2, 0, 4));
  proof::Proof before = program.prove();
  // Without the weight gradients nobody reads what the forwards have saved.
  pmrt_role &role = program.tables[0];
  uint64_t actions = role.num_actions;
  auto liveOf = [&](uint64_t count) {
    role.num_actions = count;
    uint64_t bytes = walkOverBytes(role, program.manifest.roles[0]);
    role.num_actions = actions;
    return bytes;
  };
  EXPECT_EQ(liveOf(actions), before.roles[0].live.bytes());
  EXPECT_LT(liveOf(4), before.roles[0].live.bytes());
}

TEST(Live, ThreadsHaveScratchOfTheirOwn) {
  SampleProgram program(sampleOf("gpipe", 2, 0, 4));
  proof::Proof one = program.prove(), four = program.prove({0, 4});
  const RoleProof &role = one.roles[0];
  EXPECT_EQ(four.roles[0].peak(),
            role.peak() + 3 * (role.kernelScratch + role.gemmPacking));
  std::string text = program.refusal({role.peak(), 4});
  EXPECT_NE(text.find("; it has 4 threads"), std::string::npos) << text;
}

} // namespace
} // namespace pipemesh::proof::test
