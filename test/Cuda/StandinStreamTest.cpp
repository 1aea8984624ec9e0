// Memory, kernels, streams and events of the stand-ins.
#include "StandinFixture.h"

#include <thread>

namespace pipemesh::cuda {

namespace {

const Variables kCompute = {{"PMRT_STANDIN", "compute"}};

Variables ordered(int seed) {
  return {{"PMRT_STANDIN", "compute"}, {"PMRT_STANDIN_ORDER", std::to_string(seed)}};
}

/// What the second stream's kernel makes of the first one's, 1 becoming 2 becoming 4,
/// with an event between the streams or without one.
int chain(int seed, bool hasEvent) {
  int value = 0;
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  onRank(ordered(seed), [&](const Library &api) {
    CUstream first = nullptr, second = nullptr;
    CUevent event = nullptr;
    api.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
    api.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
    api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    CUdeviceptr words = onDevice(api, std::vector<int>(64, 1));
    CUdeviceptr result = onDevice(api, std::vector<int>(64, 0));
    EXPECT_EQ(launch(api, kernel(api, "addition"), {words}, first), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventRecord(event, first), CUDA_SUCCESS);
    if (hasEvent)
      EXPECT_EQ(api.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch(api, kernel(api, "doubling"), {words, result}, second),
              CUDA_SUCCESS);
    EXPECT_EQ(poll(api, second), CUDA_SUCCESS);
    EXPECT_EQ(poll(api, first), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_SUCCESS);
    int seen = fromDevice<int>(api, result, 64)[63];
    EXPECT_EQ(write(pipes[1], &seen, sizeof(seen)), ssize_t(sizeof(seen)));
  });
  close(pipes[1]);
  EXPECT_EQ(read(pipes[0], &value, sizeof(value)), ssize_t(sizeof(value)));
  close(pipes[0]);
  return value;
}

TEST(Standin, WorkIsDoneLateAndInItsStreamsOrder) {
  onRank(kCompute, [](const Library &api) {
    CUstream stream = nullptr;
    api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    CUdeviceptr words = onDevice(api, std::vector<int>(64, 5));
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(launch(api, kernel(api, "addition"), {words}, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
    EXPECT_EQ(fromDevice<int>(api, words, 64), std::vector<int>(64, 8));
  });
}

TEST(Standin, AMissingEventGivesAWrongValueForSomeSeed) {
  std::map<int, int> values;
  for (int seed = 0; seed < 8; ++seed)
    ++values[chain(seed, false)];
  EXPECT_GT(values[4], 0);
  EXPECT_GT(values[2], 0);
}

TEST(Standin, WithTheEventTheValueIsRightForEverySeed) {
  for (int seed = 0; seed < 8; ++seed)
    EXPECT_EQ(chain(seed, true), 4) << seed;
}

TEST(Standin, AKernelThatIsWrongFailsItsStreamAndWhatWaitsForIt) {
  for (const char *name : {"race", "outside"})
    onRank(kCompute, [&](const Library &api) {
      CUstream stream = nullptr, other = nullptr;
      CUevent event = nullptr;
      api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      api.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
      api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
      CUdeviceptr words = onDevice(api, std::vector<int>(64, 5));
      EXPECT_EQ(launch(api, kernel(api, name), {words}, stream), CUDA_SUCCESS);
      api.cuEventRecord(event, stream);
      api.cuStreamWaitEvent(other, event, 0);
      EXPECT_EQ(api.cuMemsetD8Async(words, 0, 4, other), CUDA_SUCCESS);
      EXPECT_EQ(poll(api, stream), CUDA_ERROR_LAUNCH_FAILED);
      EXPECT_EQ(api.cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
      EXPECT_EQ(poll(api, other), CUDA_ERROR_LAUNCH_FAILED);
    });
}

TEST(Standin, CopiesOfRowsAndSets) {
  onRank(kCompute, [](const Library &api) {
    CUstream stream = nullptr;
    api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    std::vector<int> counted(24);
    for (int i = 0; i < 24; ++i)
      counted[i] = i;
    CUdeviceptr from = onDevice(api, counted);
    CUdeviceptr to = onDevice(api, std::vector<int>(24, -1));
    // Columns 1 and 2 of a 6 x 4 matrix, from row 2 on, to the front of a 3 x 2 one.
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = from;
    rows.srcXInBytes = 4;
    rows.srcY = 2;
    rows.srcPitch = 16;
    rows.dstDevice = to;
    rows.dstPitch = 8;
    rows.WidthInBytes = 8;
    rows.Height = 3;
    EXPECT_EQ(api.cuMemcpy2DAsync_v2(&rows, stream), CUDA_SUCCESS);
    // Of 2 x 3 x 4, the last column of each plane's last two rows.
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = from;
    box.srcXInBytes = 12;
    box.srcY = 1;
    box.srcPitch = 16;
    box.srcHeight = 3;
    box.dstDevice = to + 24;
    box.dstPitch = 4;
    box.dstHeight = 2;
    box.WidthInBytes = 4;
    box.Height = 2;
    box.Depth = 2;
    EXPECT_EQ(api.cuMemcpy3DAsync_v2(&box, stream), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemsetD8Async(to + 40, 0, 8, stream), CUDA_SUCCESS);
    std::vector<int> seen(13);
    EXPECT_EQ(api.cuMemcpyDtoHAsync_v2(seen.data(), to, 52, stream), CUDA_SUCCESS);
    EXPECT_EQ(seen, (std::vector<int>{9, 10, 13, 14, 17, 18, 7, 11, 19, 23, 0, 0, -1}));
    // One byte outside of the allocation.
    EXPECT_EQ(api.cuMemsetD8Async(to, 0, 97, stream), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Standin, TheDeviceWritesProgressToTheHost) {
  for (const char *mode : {"record", "compute"})
    onRank({{"PMRT_STANDIN", mode}}, [](const Library &api) {
      CUstream stream = nullptr;
      void *host = nullptr;
      CUdeviceptr device = 0;
      api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      EXPECT_EQ(api.cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP),
                CUDA_SUCCESS);
      EXPECT_EQ(api.cuMemHostGetDevicePointer_v2(&device, host, 0), CUDA_SUCCESS);
      EXPECT_EQ(api.cuStreamWriteValue32_v2(stream, device + 4, 77, 0), CUDA_SUCCESS);
      EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
      EXPECT_EQ(static_cast<uint32_t *>(host)[1], 77u);
    });
}

TEST(Standin, DevicesMemoryAndModulesAreRefusedAsTheDriverDoes) {
  onRank({{"PMRT_STANDIN_DEVICES", "2"},
          {"PMRT_STANDIN_MEMORY", "1048576"},
          {"PMRT_STANDIN_CAPABILITY", "80"},
          {"PMRT_STANDIN_LINKS", "pci"}},
         [](const Library &api) {
           int value = 0;
           CUdevice device = 0;
           EXPECT_EQ(api.cuDeviceGetCount(&value), CUDA_SUCCESS);
           EXPECT_EQ(value, 2);
           EXPECT_EQ(api.cuDeviceGet(&device, 2), 101);
           api.cuDeviceGetAttribute(&value,
                                    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
           EXPECT_EQ(value, 8);
           api.cuDeviceGetP2PAttribute(
               &value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1);
           EXPECT_EQ(value, 0);
           CUdeviceptr address = 0;
           EXPECT_EQ(api.cuMemAlloc_v2(&address, 1 << 20), CUDA_SUCCESS);
           EXPECT_EQ(api.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
           CUmodule module = nullptr;
           CUfunction function = nullptr;
           EXPECT_EQ(api.cuModuleLoadData(&module, "neither"),
                     CUDA_ERROR_INVALID_IMAGE);
           EXPECT_EQ(api.cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
           EXPECT_EQ(api.cuModuleGetFunction(&function, module, "add"),
                     CUDA_ERROR_NOT_FOUND);
           const char *text = nullptr;
           api.cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text);
           EXPECT_STREQ(text, "CUDA_ERROR_NOT_FOUND");
         });
}

} // namespace

} // namespace pipemesh::cuda
