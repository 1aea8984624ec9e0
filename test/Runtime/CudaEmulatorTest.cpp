// What the emulator of GPU kernels finds wrong, on kernels written by hand.
#include "cuda/emulate/Emulator.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace pmrt::ptx;

namespace {

/// A kernel of 64 threads with one buffer of 64 words and as many shared ones;
/// %rd1 is the thread's word in the buffer, %rd2 in shared memory.
std::string kernelOf(const std::string &body) {
  return R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 4 k_param_0
)
.maxntid 64, 1, 1
{
	.reg .pred %p<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	.shared .align 16 .b8 words[256];
	ld.param.b64 %rd0, [k_param_0];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd3, %r0, 4;
	add.s64 %rd1, %rd0, %rd3;
	mov.b64 %rd4, words;
	add.s64 %rd2, %rd4, %rd3;
)" + body + "\n	ret;\n}\n";
}

class CudaEmulator : public ::testing::TestWithParam<bool> {
protected:
  std::vector<int> words = std::vector<int>(64);

  std::string run(const std::string &body) {
    std::iota(words.begin(), words.end(), 0);
    std::string problem;
    Emulator emulator(kernelOf(body), problem);
    if (!problem.empty())
      return problem;
    Launch launch;
    launch.threads = 64;
    launch.isReversed = GetParam();
    launch.parameters = {{words.data(), words.size() * sizeof(int)}};
    return emulator.run("k", launch);
  }

  void expectProblem(const std::string &body, const std::string &text) {
    std::string problem = run(body);
    EXPECT_NE(problem.find(text), std::string::npos) << problem;
  }
};

TEST_P(CudaEmulator, ABarrierOrdersWhatThreadsWrote) {
  EXPECT_EQ(run(R"(
	ld.global.b32 %r1, [%rd1];
	st.shared.b32 [%rd2], %r1;
	bar.sync 0;
	xor.b64 %rd5, %rd3, 252;
	add.s64 %rd5, %rd4, %rd5;
	ld.shared.b32 %r2, [%rd5];
	st.global.b32 [%rd1], %r2;)"),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], 63 - i);
}

TEST_P(CudaEmulator, PairsOfBrainFloatsAreRoundedToEvenAndReadBack) {
  // Thread i holds 256 + i, of which bfloat16 has every second one, and 1.
  EXPECT_EQ(run(R"(
	ld.global.b32 %r1, [%rd1];
	add.s32 %r1, %r1, 256;
	cvt.rn.f32.s32 %r2, %r1;
	mov.b32 %r3, 0f3F800000;
	cvt.rn.bf16x2.f32 %r4, %r2, %r3;
	and.b32 %r5, %r4, -65536;
	shl.b32 %r6, %r4, 16;
	add.rn.f32 %r7, %r5, %r6;
	cvt.rzi.s32.f32 %r7, %r7;
	st.global.b32 [%rd1], %r7;)"),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], 257 + i + (i % 4 == 3) - (i % 4 == 1)) << i;
}

TEST_P(CudaEmulator, NarrowNumbersKeepTheirSign) {
  EXPECT_EQ(run(R"(
	ld.global.b32 %r1, [%rd1];
	add.s32 %r2, %r1, 100;
	cvt.s8.s32 %r3, %r2;
	st.global.b32 [%rd1], %r3;)"),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], static_cast<int8_t>(100 + i));
  EXPECT_EQ(run(R"(
	ld.global.b32 %r1, [%rd1];
	bfe.s32 %r2, %r1, 2, 3;
	st.global.b32 [%rd1], %r2;)"),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], (i >> 2 & 7) - ((i >> 2 & 4) ? 8 : 0));
}

TEST_P(CudaEmulator, WarpsExchange) {
  EXPECT_EQ(run(R"(
	ld.global.b32 %r1, [%rd1];
	shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
	add.s32 %r2, %r2, %r1;
	st.global.b32 [%rd1], %r2;)"),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], i + (i ^ 1));
}

TEST_P(CudaEmulator, ARaceBetweenWarpsIsFound) {
  const char *body = R"(
	st.shared.b32 [%rd2], %r0;
	bar.warp.sync -1;
	xor.b64 %rd5, %rd3, 128;
	add.s64 %rd5, %rd4, %rd5;
	ld.shared.b32 %r2, [%rd5];)";
  // Who comes first reads what nothing wrote yet.
  expectProblem(body, "shared memory");
}

TEST_P(CudaEmulator, AWarpsBarrierOrdersItsThreads) {
  const char *body = R"(
	st.shared.b32 [%rd2], %r0;
	BARRIER
	xor.b64 %rd5, %rd3, 4;
	add.s64 %rd5, %rd4, %rd5;
	ld.shared.b32 %r2, [%rd5];
	st.global.b32 [%rd1], %r2;)";
  std::string good = body, bad = body;
  good.replace(good.find("BARRIER"), 7, "bar.warp.sync -1;");
  bad.replace(bad.find("BARRIER"), 7, "");
  EXPECT_EQ(run(good), "");
  expectProblem(bad, "shared memory");
}

TEST_P(CudaEmulator, AWriteAfterAReadOfAnotherThreadIsFound) {
  expectProblem(R"(
	st.shared.b32 [%rd2], %r0;
	bar.sync 0;
	ld.shared.b32 %r2, [words];
	st.shared.b32 [%rd2], %r2;)",
                "races with thread");
}

TEST_P(CudaEmulator, AccessesOutsideOfBuffersAreFound) {
  expectProblem("	ld.global.b32 %r1, [%rd1+256];", "reads outside of all buffers");
  expectProblem("	st.global.b32 [%rd1+4], %r0;", "writes outside of all buffers");
  expectProblem("	ld.global.b64 %rd5, [%rd0+4];", "not aligned");
  expectProblem("	st.shared.b32 [%rd2+256], %r0;", "outside of what the kernel has");
}

TEST_P(CudaEmulator, WaitsThatNeverEndAreFound) {
  const char *body = R"(
	setp.lt.u32 %p0, %r0, LIMIT;
	@%p0 bra $L1;
	WAIT
$L1:)";
  auto with = [&](const char *limit, const char *wait) {
    std::string text = body;
    text.replace(text.find("LIMIT"), 5, limit);
    return text.replace(text.find("WAIT"), 4, wait);
  };
  expectProblem(with("5", "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;"),
                "waits for threads of its warp that do not come");
  // Whole warps may end before a barrier of the others.
  EXPECT_EQ(run(with("32", "bar.sync 0;")), "");
}

TEST_P(CudaEmulator, UnknownTextIsRefusedByName) {
  expectProblem("	tex.2d.v4.f32.s32 %r1, %r0;",
                "instruction 'tex.2d.v4.f32.s32' is not known");
  expectProblem("	bra $nowhere;", "no label '$nowhere'");
}

INSTANTIATE_TEST_SUITE_P(Orders, CudaEmulator, ::testing::Bool());

} // namespace
