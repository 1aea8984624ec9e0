// Collectives and transfers between threads that are ranks.
#include "StandinFixture.h"

#include <cmath>

namespace pipemesh::cuda {

namespace {

const Variables kCompute = {{"PMRT_STANDIN", "compute"}};

/// Makes a communicator of all ranks without blocking, then runs.
void onCommunicator(
    const Variables &variables, int ranks,
    const std::function<void(const Library &, int, ncclComm_t, CUstream)> &run) {
  inChild(variables, [&](const Library &api) {
    ncclUniqueId id;
    EXPECT_EQ(api.ncclGetUniqueId(&id), ncclSuccess);
    onRanks(api, ranks, [&](int rank) {
      ncclComm_t comm = nullptr;
      ncclConfig_t config;
      config.blocking = 0;
      EXPECT_EQ(api.ncclCommInitRankConfig(&comm, ranks, id, rank, &config),
                ncclInProgress);
      EXPECT_EQ(settle(api, comm), ncclSuccess);
      CUstream stream = nullptr;
      api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      run(api, rank, comm, stream);
    });
  });
}

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

template <typename T> void checkReductions(int type) {
  onCommunicator(
      kCompute, 4, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        std::vector<T> mine(8), sums(8), maxima(8), minima(8), all(32);
        for (int i = 0; i < 8; ++i) {
          auto value = [&](int of) { return T((of * 7 + i * 3) % 11); };
          mine[i] = value(rank);
          maxima[i] = minima[i] = value(0);
          for (int of = 0; of < 4; ++of) {
            sums[i] = T(sums[i] + value(of));
            maxima[i] = value(of) > maxima[i] ? value(of) : maxima[i];
            minima[i] = value(of) < minima[i] ? value(of) : minima[i];
            all[of * 8 + i] = value(of);
          }
        }
        CUdeviceptr from = onDevice(api, mine), to = onDevice(api, std::vector<T>(32));
        const std::vector<std::pair<int, const std::vector<T> *>> cases = {
            {ncclSum, &sums}, {ncclMax, &maxima}, {ncclMin, &minima}};
        for (auto [reduction, wanted] : cases) {
          EXPECT_EQ(api.ncclAllReduce(pointer(from), pointer(to), 8, type, reduction,
                                      comm, stream),
                    ncclSuccess);
          EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
          EXPECT_EQ(fromDevice<T>(api, to, 8), *wanted);
          EXPECT_EQ(api.ncclReduceScatter(pointer(from), pointer(to), 2, type,
                                          reduction, comm, stream),
                    ncclSuccess);
          EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
          EXPECT_EQ(fromDevice<T>(api, to, 2),
                    std::vector<T>(wanted->begin() + 2 * rank,
                                   wanted->begin() + 2 * rank + 2));
        }
        EXPECT_EQ(api.ncclAllGather(pointer(from), pointer(to), 8, type, comm, stream),
                  ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
        EXPECT_EQ(fromDevice<T>(api, to, 32), all);
        // In place.
        EXPECT_EQ(api.ncclAllReduce(pointer(from), pointer(from), 8, type, ncclSum,
                                    comm, stream),
                  ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
        EXPECT_EQ(fromDevice<T>(api, from, 8), sums);
      });
}

TEST(StandinCollectives, AllTypesAndReductions) {
  checkReductions<int8_t>(ncclInt8);
  checkReductions<uint8_t>(ncclUint8);
  checkReductions<int32_t>(ncclInt32);
  checkReductions<uint32_t>(ncclUint32);
  checkReductions<int64_t>(ncclInt64);
  checkReductions<uint64_t>(ncclUint64);
  checkReductions<_Float16>(ncclFloat16);
  checkReductions<float>(ncclFloat32);
  checkReductions<double>(ncclFloat64);
}

TEST(StandinCollectives, BrainFloatsAreAddedAsFloat32) {
  onCommunicator(
      kCompute, 4, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        // 256 + 1 + 1 + 1 is 259; bfloat16 has 8 bits, so each single sum would stay
        // 256.
        CUdeviceptr word =
            onDevice(api, std::vector<uint16_t>{uint16_t(rank ? 0x3f80 : 0x4380)});
        EXPECT_EQ(api.ncclAllReduce(pointer(word), pointer(word), 1, ncclBfloat16,
                                    ncclSum, comm, stream),
                  ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
        EXPECT_EQ(fromDevice<uint16_t>(api, word, 1)[0], 0x4382); // 260
      });
}

TEST(StandinCollectives, AGroupOfTransfersGoesRound) {
  onCommunicator(
      kCompute, 4, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        CUdeviceptr mine = onDevice(api, std::vector<int>{rank, 10 + rank});
        CUdeviceptr theirs = onDevice(api, std::vector<int>{-1, -1});
        EXPECT_EQ(api.ncclGroupStart(), ncclSuccess);
        EXPECT_EQ(
            api.ncclSend(pointer(mine), 2, ncclInt32, (rank + 1) % 4, comm, stream),
            ncclSuccess);
        EXPECT_EQ(
            api.ncclRecv(pointer(theirs), 2, ncclInt32, (rank + 3) % 4, comm, stream),
            ncclSuccess);
        EXPECT_EQ(api.ncclGroupEnd(), ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
        int from = (rank + 3) % 4;
        EXPECT_EQ(fromDevice<int>(api, theirs, 2), (std::vector<int>{from, 10 + from}));
      });
}

TEST(StandinCollectives, ASendEndsOnlyWhenItIsReceived) {
  onCommunicator(
      kCompute, 2, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        CUdeviceptr mine = onDevice(api, std::vector<int>{rank});
        // Both send first, and neither receives.
        EXPECT_EQ(api.ncclSend(pointer(mine), 1, ncclInt32, 1 - rank, comm, stream),
                  ncclSuccess);
        EXPECT_EQ(api.ncclRecv(pointer(mine), 1, ncclInt32, 1 - rank, comm, stream),
                  ncclSuccess);
        EXPECT_EQ(poll(api, stream), -1);
        EXPECT_EQ(api.ncclCommAbort(comm), ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_ERROR_LAUNCH_FAILED);
      });
}

TEST(StandinCollectives, AMismatchIsAnErrorOfAllMembers) {
  onCommunicator(
      kCompute, 2, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        CUdeviceptr words = onDevice(api, std::vector<int>(8));
        EXPECT_EQ(api.ncclAllReduce(pointer(words), pointer(words), rank ? 4 : 5,
                                    ncclInt32, ncclSum, comm, stream),
                  ncclSuccess);
        EXPECT_EQ(poll(api, stream), -1);
        EXPECT_EQ(settle(api, comm), ncclInvalidUsage);
        std::string text = api.ncclGetLastError(comm);
        EXPECT_NE(
            text.find("collective 0 of the communicator differs between its members"),
            std::string::npos)
            << text;
        EXPECT_NE(text.find("rank 0 has ncclAllReduce of 5 of type 2"),
                  std::string::npos)
            << text;
        EXPECT_EQ(api.ncclCommAbort(comm), ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_ERROR_LAUNCH_FAILED);
      });
}

TEST(StandinCollectives, ASplitMakesPartsInTheOrderOfTheKeys) {
  onCommunicator(
      kCompute, 4, [&](const Library &api, int rank, ncclComm_t comm, CUstream stream) {
        ncclComm_t part = nullptr;
        // Ranks 0 and 2, rank 2 first; rank 3 is in none.
        int color = rank == 3 ? NCCL_SPLIT_NOCOLOR : rank % 2;
        EXPECT_EQ(api.ncclCommSplit(comm, color, 4 - rank, &part, nullptr),
                  ncclInProgress);
        EXPECT_EQ(settle(api, comm), ncclSuccess);
        EXPECT_EQ(part == nullptr, rank == 3);
        if (!part)
          return;
        EXPECT_EQ(settle(api, part), ncclSuccess);
        CUdeviceptr mine = onDevice(api, std::vector<int>{rank});
        CUdeviceptr all = onDevice(api, std::vector<int>{-1, -1});
        EXPECT_EQ(
            api.ncclAllGather(pointer(mine), pointer(all), 1, ncclInt32, part, stream),
            ncclSuccess);
        EXPECT_EQ(poll(api, stream), CUDA_SUCCESS);
        EXPECT_EQ(fromDevice<int>(api, all, 2),
                  rank == 1 ? (std::vector<int>{1, -1}) : (std::vector<int>{2, 0}));
      });
}

} // namespace

} // namespace pipemesh::cuda
