//===- CudnnPlanTest.cpp - Our graphs of attention in NVIDIA's cuDNN ------===//
//
// cuDNN itself compiles plans for the graphs that the runtime builds, for a GPU that is
// not there, and the plans need what the compiler has reserved. Compiled where a
// toolkit is.
//
//===----------------------------------------------------------------------===//

#include "AttentionDescription.h"
#include "cuda/Attention.h"

#include "gtest/gtest.h"
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace pipemesh::cuda {

namespace {

/// As cuDNN writes the properties of a GPU (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
std::string properties(int version, int processors, int shared, const char *name) {
  return cat(R"({"cudaDeviceId":0,"deviceVer":)", version,
             R"(,"driverVer":13000,"maxGridSize":[2147483647,65535,65535],)"
             R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
             R"("multiProcessorCount":)",
             processors,
             R"(,"smCountOrigin":0,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
             R"("maxSharedMemoryPerBlockOptin":)",
             shared,
             R"(,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
             R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
             R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,)"
             R"("smClockRateKHz":1410000,"memClockRateKHz":1593000,)"
             R"("l2CacheSize":41943040,"totalGlobalMem":85899345920,"deviceName":")",
             name, R"("})");
}

using Shape = AttentionShape;

/// What pmrt.attention reserves for the gradient (lib/Dialect/PMRT), with the scores in
/// memory or with sums of the queries' gradient.
uint64_t reserved(const Shape &s, bool hasScores) {
  auto up = [](uint64_t size, uint64_t to) { return (size + to - 1) / to * to; };
  uint64_t rows = s.batch * s.heads;
  uint64_t sums = up(4 * rows * s.queries, 256),
           spread = s.heads == s.keyHeads ? 0
                                          : 2 * up(2 * rows * s.keys * s.size, 256);
  return sums + spread + 4096 +
         (hasScores ? 2 * rows * up(s.queries, 64) * up(s.keys, 128)
                    : 2 * up(4 * rows * s.queries * s.size, 256));
}

} // namespace

TEST(CudnnPlans, CudnnTakesOurGraphsOfAttention) {
  setenv("PIPEMESH_CUDA_LIBRARIES", PIPEMESH_CUDNN_FOLDER, 1);
  // Compiling needs the driver's names, though nothing is launched.
  if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
    ASSERT_NE(dlopen(PIPEMESH_NO_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  Cudnn cudnn;
  const Shape grouped{1, 8, 2, 512, 512, 64, true}, few{2, 4, 2, 5, 40, 64, false};
  auto plan = [&](const std::string &properties, const Shape &shape, bool isGradient,
                  uint64_t workspace) {
    Descriptor device(cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
               static_cast<int64_t>(properties.size()), properties.data());
    device.finalize("a device");
    pmrt_attention a = describe(shape, isGradient, 0.125f, workspace);
    Attention made(cudnn, nullptr, a, &device);
    EXPECT_LE(made.workspaceBytes(), workspace);
    return made.isDeterministic();
  };
  std::string h100 = properties(900, 132, 232448, "NVIDIA H100"),
              a100 = properties(800, 108, 166912, "NVIDIA A100");
  EXPECT_TRUE(plan(h100, grouped, false, 4096));
  EXPECT_FALSE(plan(h100, grouped, true, reserved(grouped, false)));
  EXPECT_TRUE(plan(h100, few, true, reserved(few, true)));
  EXPECT_FALSE(plan(a100, grouped, true, reserved(grouped, false)));
}

} // namespace pipemesh::cuda
