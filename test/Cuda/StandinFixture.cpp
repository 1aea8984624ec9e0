//===- StandinFixture.cpp - the stand-ins in a process of their own -------===//

#include "StandinFixture.h"

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pipemesh::cuda {

const char *const kKernels = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry addition(
	.param .u64 .ptr .global .align 16 p0
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd0, [p0];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd1, %r0, 4;
	add.s64 %rd2, %rd0, %rd1;
	ld.global.b32 %r1, [%rd2];
	add.s32 %r1, %r1, 1;
	st.global.b32 [%rd2], %r1;
	ret;
}
.visible .entry doubling(
	.param .u64 .ptr .global .align 16 p0,
	.param .u64 .ptr .global .align 16 p1
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<6>;
	ld.param.b64 %rd0, [p0];
	ld.param.b64 %rd1, [p1];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd2, %r0, 4;
	add.s64 %rd3, %rd0, %rd2;
	add.s64 %rd4, %rd1, %rd2;
	ld.global.b32 %r1, [%rd3];
	add.s32 %r1, %r1, %r1;
	st.global.b32 [%rd4], %r1;
	ret;
}
.visible .entry race(
	.param .u64 .ptr .global .align 16 p0
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 words[4];
	mov.u32 %r0, %tid.x;
	mov.b64 %rd0, words;
	st.shared.b32 [%rd0], %r0;
	ret;
}
.visible .entry outside(
	.param .u64 .ptr .global .align 16 p0
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd0, [p0];
	ld.global.b32 %r1, [%rd0+65536];
	ret;
}
)";

bool Library::open(std::string &problem) {
  const std::string folder = PIPEMESH_STANDIN_DIR;
  void *handle = nullptr;
  auto load = [&](const char *file) {
    handle = dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      problem = dlerror();
    return handle != nullptr;
  };
#define FIND(name, parameters)                                                         \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));                       \
  if (!name)                                                                           \
    problem = #name;
  if (!load("libcuda.so.1"))
    return false;
  PIPEMESH_CUDA_DRIVER(FIND)
  if (!load("libcublasLt.so.13"))
    return false;
  PIPEMESH_CUBLASLT(FIND)
  if (!load("libnccl.so.2"))
    return false;
  PIPEMESH_NCCL(FIND)
  PIPEMESH_NCCL_TEXTS(FIND)
#undef FIND
  return problem.empty();
}

void inChild(const Variables &variables,
             const std::function<void(const Library &)> &check) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    for (const auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
    Library api;
    std::string problem;
    if (!api.open(problem))
      ADD_FAILURE() << problem;
    else
      check(api);
    fflush(nullptr);
    // With what is done at exit, as the traces are written then.
    std::exit(::testing::Test::HasFailure());
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

void onRanks(const Library &api, int ranks, const std::function<void(int)> &run) {
  std::vector<std::thread> threads;
  api.cuInit(0);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      pthread_setname_np(pthread_self(), ("rank " + std::to_string(rank)).c_str());
      CUcontext context = nullptr;
      EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&context, rank), CUDA_SUCCESS);
      EXPECT_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
      run(rank);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void onRank(const Variables &variables,
            const std::function<void(const Library &)> &run) {
  inChild(variables,
          [&](const Library &api) { onRanks(api, 1, [&](int) { run(api); }); });
}

int poll(const Library &api, CUstream stream) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    int status = api.cuStreamQuery(stream);
    if (status != CUDA_ERROR_NOT_READY)
      return status;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return -1;
}

int settle(const Library &api, ncclComm_t comm) {
  while (true) {
    int error = 0;
    EXPECT_EQ(api.ncclCommGetAsyncError(comm, &error), ncclSuccess);
    if (error != ncclInProgress)
      return error;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

std::string traceFolder() {
  std::string folder = ::testing::TempDir() + "/standin-" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  return folder;
}

std::vector<nlohmann::json> readTrace(const std::string &folder,
                                      const std::string &name) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(folder + "/" + name + ".jsonl");
  EXPECT_TRUE(file.good()) << folder << "/" << name;
  for (std::string line; std::getline(file, line);)
    lines.push_back(nlohmann::json::parse(line));
  std::filesystem::remove_all(folder);
  return lines;
}

CUfunction kernel(const Library &api, const char *name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(api.cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
  EXPECT_EQ(api.cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
  return function;
}

int launch(const Library &api, CUfunction function, std::vector<CUdeviceptr> parameters,
           CUstream stream) {
  std::vector<void *> pointers;
  for (CUdeviceptr &parameter : parameters)
    pointers.push_back(&parameter);
  return api.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, pointers.data(),
                            nullptr);
}

} // namespace pipemesh::cuda
