// Capture of streams into graphs, and what it refuses.
#include "StandinFixture.h"

namespace pipemesh::cuda {

namespace {

struct Streams {
  CUstream first = nullptr, second = nullptr;
  CUevent fork = nullptr, join = nullptr;

  explicit Streams(const Library &api) {
    api.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
    api.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
    api.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
    api.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
  }
};

Variables ordered(int seed) {
  return {{"PMRT_STANDIN", "compute"}, {"PMRT_STANDIN_ORDER", std::to_string(seed)}};
}

TEST(StandinCapture, AGraphKeepsWhatItsStreamsWaitedFor) {
  for (int seed = 0; seed < 8; ++seed)
    onRank(ordered(seed), [](const Library &api) {
      Streams on(api);
      CUfunction addition = kernel(api, "addition"), doubling = kernel(api, "doubling");
      CUdeviceptr words = onDevice(api, std::vector<int>(64, 1));
      CUdeviceptr result = onDevice(api, std::vector<int>(64, 0));
      EXPECT_EQ(
          api.cuStreamBeginCapture_v2(on.first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          CUDA_SUCCESS);
      EXPECT_EQ(launch(api, addition, {words}, on.first), CUDA_SUCCESS);
      EXPECT_EQ(api.cuEventRecord(on.fork, on.first), CUDA_SUCCESS);
      EXPECT_EQ(api.cuStreamWaitEvent(on.second, on.fork, 0), CUDA_SUCCESS);
      EXPECT_EQ(launch(api, doubling, {words, result}, on.second), CUDA_SUCCESS);
      EXPECT_EQ(api.cuEventRecord(on.join, on.second), CUDA_SUCCESS);
      EXPECT_EQ(api.cuStreamWaitEvent(on.first, on.join, 0), CUDA_SUCCESS);
      EXPECT_EQ(launch(api, addition, {words}, on.first), CUDA_SUCCESS);
      CUgraph graph = nullptr;
      CUgraphExec executable = nullptr;
      EXPECT_EQ(api.cuStreamEndCapture(on.first, &graph), CUDA_SUCCESS);
      EXPECT_EQ(api.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
      // Nothing has run yet, and the streams are free.
      EXPECT_EQ(api.cuStreamQuery(on.second), CUDA_SUCCESS);
      EXPECT_EQ(fromDevice<int>(api, words, 64), std::vector<int>(64, 1));
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(api.cuGraphLaunch(executable, on.first), CUDA_SUCCESS);
      EXPECT_EQ(poll(api, on.first), CUDA_SUCCESS);
      EXPECT_EQ(fromDevice<int>(api, words, 64), std::vector<int>(64, 5));
      EXPECT_EQ(fromDevice<int>(api, result, 64), std::vector<int>(64, 8));
      EXPECT_EQ(api.cuGraphExecDestroy(executable), CUDA_SUCCESS);
      EXPECT_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
    });
}

TEST(StandinCapture, AStreamThatDoesNotComeBackIsRefused) {
  onRank(ordered(0), [](const Library &api) {
    Streams on(api);
    CUdeviceptr words = onDevice(api, std::vector<int>(64, 1));
    api.cuStreamBeginCapture_v2(on.first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    api.cuEventRecord(on.fork, on.first);
    api.cuStreamWaitEvent(on.second, on.fork, 0);
    EXPECT_EQ(api.cuMemsetD8Async(words, 0, 4, on.second), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(api.cuStreamEndCapture(on.first, &graph), 904);
    EXPECT_EQ(graph, nullptr);
    // The streams can be used again.
    EXPECT_EQ(api.cuStreamQuery(on.second), CUDA_SUCCESS);
  });
}

TEST(StandinCapture, WhatIsForbiddenEndsIt) {
  onRank(ordered(0), [](const Library &api) {
    Streams on(api);
    CUdeviceptr words = onDevice(api, std::vector<int>(64, 1)), more = 0;
    api.cuEventRecord(on.join, on.second);
    auto refused = [&](int error, const std::function<int()> &call) {
      EXPECT_EQ(
          api.cuStreamBeginCapture_v2(on.first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          CUDA_SUCCESS);
      EXPECT_EQ(call(), error);
      EXPECT_EQ(api.cuMemsetD8Async(words, 0, 4, on.first),
                CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      CUgraph graph = nullptr;
      EXPECT_EQ(api.cuStreamEndCapture(on.first, &graph),
                CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    };
    refused(900, [&] { return api.cuStreamSynchronize(on.first); });
    refused(900, [&] { return api.cuStreamQuery(on.first); });
    refused(900, [&] { return api.cuMemAlloc_v2(&more, 64); });
    refused(900, [&] { return api.cuMemcpyHtoD_v2(words, "abcd", 4); });
    // An event of work that is not captured.
    EXPECT_EQ(api.cuMemsetD8Async(words, 0, 4, on.second), CUDA_SUCCESS);
    api.cuEventRecord(on.join, on.second);
    refused(905, [&] { return api.cuStreamWaitEvent(on.first, on.join, 0); });
    // An event that is captured cannot be asked.
    refused(907, [&] {
      api.cuEventRecord(on.fork, on.first);
      return api.cuEventQuery(on.fork);
    });
    // A copy from memory that the device cannot reach.
    refused(900, [&] {
      int word = 0;
      return api.cuMemcpyHtoDAsync_v2(words, &word, 4, on.first);
    });
  });
}

} // namespace

} // namespace pipemesh::cuda
