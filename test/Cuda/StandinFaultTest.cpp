// Calls that go wrong on purpose, and traces.
#include "StandinFixture.h"

namespace pipemesh::cuda {

namespace {

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// A communicator of one rank.
ncclComm_t alone(const Library &api) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(api.ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(api.ncclCommInitRankConfig(&comm, 1, id, 0, nullptr), ncclSuccess);
  return comm;
}

class StandinFaults : public ::testing::TestWithParam<const char *> {
protected:
  Variables with(const std::string &fault) {
    return {{"PMRT_STANDIN", GetParam()}, {"PMRT_STANDIN_FAULT", fault}};
  }
};

TEST_P(StandinFaults, ACallReturnsAnError) {
  onRank(with("cuMemAlloc_v2:2:rank=0:error=2,cuMemAlloc_v2:1:rank=1:error=2"),
         [](const Library &api) {
           CUdeviceptr address = 0;
           EXPECT_EQ(api.cuMemAlloc_v2(&address, 64), CUDA_SUCCESS);
           EXPECT_EQ(api.cuMemAlloc_v2(&address, 64), CUDA_ERROR_OUT_OF_MEMORY);
           EXPECT_EQ(api.cuMemAlloc_v2(&address, 64), CUDA_SUCCESS);
         });
}

TEST_P(StandinFaults, ACollectiveIsAcceptedAndFailsLater) {
  onRank(with("ncclAllReduce:2:async=6"), [](const Library &api) {
    ncclComm_t comm = alone(api);
    CUstream stream = nullptr;
    api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = onDevice(api, std::vector<int>{1});
    auto reduce = [&] {
      return api.ncclAllReduce(pointer(word), pointer(word), 1, ncclInt32, ncclSum,
                               comm, stream);
    };
    EXPECT_EQ(reduce(), ncclSuccess);
    EXPECT_EQ(settle(api, comm), ncclSuccess);
    EXPECT_EQ(reduce(), ncclSuccess);
    EXPECT_EQ(settle(api, comm), ncclRemoteError);
    EXPECT_EQ(api.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.ncclCommAbort(comm), ncclSuccess);
    EXPECT_EQ(poll(api, stream), CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_P(StandinFaults, ACollectiveIsStuckUntilItIsAborted) {
  onRank(with("ncclAllReduce:1:stuck"), [](const Library &api) {
    ncclComm_t comm = alone(api);
    CUstream stream = nullptr, other = nullptr, free = nullptr;
    CUevent event = nullptr;
    api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    api.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    api.cuStreamCreate(&free, CU_STREAM_NON_BLOCKING);
    api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    CUdeviceptr word = onDevice(api, std::vector<int>{1});
    EXPECT_EQ(api.ncclAllReduce(pointer(word), pointer(word), 1, ncclInt32, ncclSum,
                                comm, stream),
              ncclSuccess);
    api.cuEventRecord(event, stream);
    api.cuStreamWaitEvent(other, event, 0);
    api.cuMemsetD8Async(word, 0, 4, other);
    api.cuMemsetD8Async(word, 0, 4, free);
    EXPECT_EQ(poll(api, free), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(api.cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(settle(api, comm), ncclSuccess);
    EXPECT_EQ(api.ncclCommAbort(comm), ncclSuccess);
    EXPECT_EQ(poll(api, stream), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(poll(api, other), CUDA_ERROR_LAUNCH_FAILED);
  });
}

INSTANTIATE_TEST_SUITE_P(, StandinFaults, ::testing::Values("record", "compute"));

} // namespace

} // namespace pipemesh::cuda
