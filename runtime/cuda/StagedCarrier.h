//===- StagedCarrier.h - Collectives and transfers through the host -------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STAGEDCARRIER_H
#define PIPEMESH_RUNTIME_CUDA_STAGEDCARRIER_H

#include "cuda/Carrier.h"
#include "host/ThreadPool.h"
#include "host/Transport.h"

namespace pipemesh::cuda {

/// Copies operands to the host, meets the other ranks there as ranks without GPUs do,
/// and copies results back. For several ranks on one GPU where NCCL refuses that, and
/// for machines without NCCL.
class StagedCarrier : public Carrier {
public:
  /// What a carrier through the host takes of the rank.
  struct Host {
    const pmrt_role &role;
    int64_t rank;
    runtime::Transport &transport;
    const std::vector<runtime::Group *> &groups; ///< of each communicator
    const std::vector<int64_t> &memberIndex;
    const runtime::Patience &patience;
    std::function<int64_t()> step; ///< the number of the one that runs
  };

  StagedCarrier(Device &device, const Host &host);

  void run(const pmrt_instruction &instruction, const CUdeviceptr *operands,
           CUdeviceptr workspace, CUstream stream) override;
  void run(const std::vector<Transfer> &transfers, CUstream stream) override;
  bool waitsForHost() const override { return true; }

private:
  void fetch(std::byte *to, CUdeviceptr from, uint64_t bytes, CUstream stream);
  void store(CUdeviceptr to, const std::byte *from, uint64_t bytes, CUstream stream);

  Device &device;
  const Host host;
  std::byte *staging; ///< for the largest instruction or transfer
  std::vector<uint64_t> counts; ///< collectives so far, of each communicator
  runtime::ThreadPool pool{1, 0};
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STAGEDCARRIER_H
