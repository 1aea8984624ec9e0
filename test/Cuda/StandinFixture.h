//===- StandinFixture.h - the stand-ins in a process of their own ---------===//

#ifndef PIPEMESH_TEST_CUDA_STANDINFIXTURE_H
#define PIPEMESH_TEST_CUDA_STANDINFIXTURE_H

#include "cuda/Api.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pipemesh::cuda {

/// The entry points, by dlopen and dlsym.
struct Library {
#define POINTER(name, parameters) int(*name) parameters = nullptr;
#define TEXT_POINTER(name, parameters) const char *(*name)parameters = nullptr;
  PIPEMESH_CUDA_DRIVER(POINTER)
  PIPEMESH_CUBLASLT(POINTER)
  PIPEMESH_NCCL(POINTER)
  PIPEMESH_NCCL_TEXTS(TEXT_POINTER)
#undef POINTER
#undef TEXT_POINTER

  /// Opens the three libraries. What is missing is in `problem`.
  bool open(std::string &problem);
};

using Variables = std::map<std::string, std::string>;

/// Runs `check` in a child process with these variables, as the libraries read them
/// once; the child's failed expectations fail the test.
void inChild(const Variables &variables,
             const std::function<void(const Library &)> &check);

/// The same, on threads named after `ranks` ranks, each with a context of its own
/// device current.
void onRanks(const Library &api, int ranks, const std::function<void(int)> &run);
/// For a test of one rank.
void onRank(const Variables &variables,
            const std::function<void(const Library &)> &run);

/// Polls without blocking until the stream is done; its error, or -1 after a second.
int poll(const Library &api, CUstream stream);
/// Polls until the communicator is no longer in progress.
int settle(const Library &api, ncclComm_t comm);

/// An empty folder for a trace.
std::string traceFolder();
std::vector<nlohmann::json> readTrace(const std::string &folder,
                                      const std::string &name);

/// Memory of the device with these values.
template <typename T>
CUdeviceptr onDevice(const Library &api, const std::vector<T> &values) {
  CUdeviceptr address = 0;
  EXPECT_EQ(api.cuMemAlloc_v2(&address, values.size() * sizeof(T)), CUDA_SUCCESS);
  EXPECT_EQ(api.cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)),
            CUDA_SUCCESS);
  return address;
}
template <typename T>
std::vector<T> fromDevice(const Library &api, CUdeviceptr address, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(api.cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)),
            CUDA_SUCCESS);
  return values;
}

/// `addition` adds 1 to each of 64 words; `doubling` writes twice the words of its
/// first buffer to its second; `race` and `outside` are wrong.
extern const char *const kKernels;

CUfunction kernel(const Library &api, const char *name);
int launch(const Library &api, CUfunction function, std::vector<CUdeviceptr> parameters,
           CUstream stream);

} // namespace pipemesh::cuda

#endif // PIPEMESH_TEST_CUDA_STANDINFIXTURE_H
