//===- AttentionTest.cpp - What is refused of attention by cuDNN ----------===//

#include "check/DeviceTables.h"
#include "gtest/gtest.h"

#include <functional>
#include <limits>

using namespace pipemesh::proof;

namespace {

/// The gradient of 2 x 4 heads of 16 elements, 2 of keys, 5 queries and 40 keys.
struct Instruction {
  pmrt_attention attention{};
  pmrt_operand operands[9] = {};
  pmrt_workspace workspaces[3] = {{0, 4096}, {0, 0}, {0, 0}};
  pmrt_device_code device{};
  pmrt_role role{};
  pmrt_instruction instruction{};

  Instruction() {
    pmrt_attention &a = attention;
    a.batch = 2, a.heads = 4, a.key_heads = 2, a.queries = 5, a.keys = 40;
    a.size = 16;
    auto lay = [&](int64_t (&strides)[3], int64_t positions, int64_t heads) {
      strides[0] = positions * heads * 16;
      strides[1] = heads * 16;
      strides[2] = 16;
    };
    lay(a.query_strides, 5, 4);
    lay(a.key_strides, 40, 2);
    lay(a.value_strides, 40, 2);
    lay(a.result_strides, 5, 4);
    a.workspace_bytes = 4096;
    a.scale = 0.25f;
    a.gradient = 1;
    a.dtype = PMRT_BF16;
    for (int o = 0; o < 9; ++o)
      operands[o].bytes = o == 4                                ? 160
                          : o == 1 || o == 2 || o == 7 || o == 8 ? 5120
                                                                 : 1280;
    device.workspaces = workspaces;
    device.num_workspaces = 3;
    role.device = &device;
    instruction = {PMRT_OP_ATTENTION, 0, 9, 0, operands, &attention, ""};
  }
};

void expect(const std::string &text,
            const std::function<void(Instruction &)> &change) {
  Instruction made;
  change(made);
  EXPECT_EQ(attentionProblem(made.role, made.instruction), text);
}

} // namespace

TEST(Attention, WhatHoldsIsTaken) {
  expect("", [](Instruction &) {});
  expect("", [](Instruction &i) { // heads outside of positions
    i.attention.query_strides[1] = 16;
    i.attention.query_strides[2] = 80;
  });
}

TEST(Attention, WhatDoesNotHoldIsNamed) {
  expect("is attention by cuDNN, but the role is for the host",
         [](Instruction &i) { i.role.device = nullptr; });
  expect("is attention in f32, not in bf16 or f16",
         [](Instruction &i) { i.attention.dtype = PMRT_F32; });
  expect("has the flags 2, 1 and 0", [](Instruction &i) { i.attention.causal = 2; });
  expect("has a dimension of 0", [](Instruction &i) { i.attention.batch = 0; });
  expect("has 4 query heads, which is no multiple of 3 key heads",
         [](Instruction &i) { i.attention.key_heads = 3; });
  expect("has heads of 12 elements, which is no multiple of 8 up to 128",
         [](Instruction &i) { i.attention.size = 12; });
  expect("is causal, but has 5 queries and 40 keys",
         [](Instruction &i) { i.attention.causal = 1; });
  expect("has a scale that is not finite", [](Instruction &i) {
    i.attention.scale = std::numeric_limits<float>::infinity();
  });
  expect("has operand 4 of 156 bytes, but its tensor has 160",
         [](Instruction &i) { i.operands[4].bytes = 156; });
  expect("has operand 1 of 5120 bytes, but its tensor has 5280", [](Instruction &i) {
    i.attention.key_strides[0] += 80;
  });
  expect("has a stride of 8 in operand 2, within 16 elements of what lies inside",
         [](Instruction &i) { i.attention.value_strides[2] = 8; });
  expect("has a stride of 0 in operand 0",
         [](Instruction &i) { i.attention.query_strides[0] = 0; });
  expect("may use 8192 bytes of workspace, but needs 160 at least and has 4096",
         [](Instruction &i) { i.attention.workspace_bytes = 8192; });
  expect("may use 100 bytes of workspace, but needs 160 at least and has 4096",
         [](Instruction &i) { i.attention.workspace_bytes = 100; });
}
