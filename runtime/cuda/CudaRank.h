//===- CudaRank.h - One rank on a GPU -------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_CUDARANK_H
#define PIPEMESH_RUNTIME_CUDA_CUDARANK_H

#include "cuda/Attention.h"
#include "cuda/Communicators.h"
#include "cuda/Products.h"
#include "cuda/Progress.h"
#include "host/Rank.h"

#include <deque>
#include <mutex>
#include <thread>

namespace pipemesh::cuda {

struct CudaOptions {
  bool capture = false; ///< launch steps as a graph
  bool staged = false;  ///< meet through the host
  ProductOptions products;
  std::string algorithms; ///< folder that keeps those of products; may be empty
};

/// What the ranks of a process share.
struct CudaJob {
  const Libraries &libraries;
  const std::vector<Division> &divisions;
  const std::vector<Plan> &plans; ///< of each role
  ncclUniqueId id{};
  CudaOptions options;
};

/// Launches a step by its plan, and watches how far the GPU is. Nothing of a step waits
/// on the host but where the data goes through it, or a loop's length is read.
class CudaRank : public runtime::Rank {
public:
  CudaRank(const CudaJob &job, int device, const runtime::Program &program,
           const Mesh &mesh, int64_t rank, runtime::Transport &transport,
           std::vector<runtime::Group *> groups, const runtime::HostOptions &options,
           const std::atomic<bool> &aborted, int spin);
  ~CudaRank() override;

  void allocate() override;
  void settle() override;
  void abandon() override;
  void runStep(int64_t step) override;
  /// Nothing: by the time that a loss is seen, the step is over.
  std::optional<runtime::NonFiniteValue> findNonFinite() override {
    return std::nullopt;
  }
  const std::byte *view(int64_t buffer, int64_t microBatch) const override;
  void edit(int64_t buffer, int64_t microBatch,
            const std::function<void(std::byte *)> &fill) override;

private:
  /// A collective or a transfer that has been launched.
  struct Pending {
    uint32_t launch, sequence;
    runtime::FlightEntry entry;
    runtime::FlightEntry *recorded = nullptr; ///< once the GPU came to it
  };

  CUdeviceptr place(int64_t buffer, int64_t microBatch) const;
  CUdeviceptr place(const pmrt_operand &operand, uint32_t microBatch) const;
  CUdeviceptr workspace(uint32_t stream) const {
    return memory + program.role.device->workspaces[stream].offset;
  }

  /// Chooses what makes the matrix products and attention of the role.
  void prepareMath();
  void launchStep(int64_t step);
  void launchAll();
  /// Launches [first, last), which is one launch or an NCCL group.
  void launch(size_t first, size_t last);
  void launchInstruction(const Launch &launch, const pmrt_instruction &instruction,
                         uint32_t microBatch, CUstream stream);
  void launchLoops(const Launch &launch);
  void zeroAccumulators();
  /// Counts it and lets a fault that is due happen; notes it for the records. False
  /// where it is to be skipped.
  bool beginCommunication(size_t index);
  void waitForEnd(int64_t step);
  void makeGraph();

  /// Brings the records up to what the GPU has done.
  void follow();
  void watch();
  [[noreturn]] void failBehind(CUresult result);
  std::string fragmentText() const;

  const CudaJob &job;
  const Plan &plan;
  const int ordinal;
  std::unique_ptr<Device> device;
  CUdeviceptr memory = 0;
  std::optional<DeviceMemory> layout; ///< of the arena and what is behind it
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
  std::vector<CUfunction> functions; ///< of each kernel
  cublasLtHandle_t blas = nullptr;
  std::map<const void *, std::unique_ptr<Product>> products; ///< by the descriptor
  cudnnHandle_t dnn = nullptr; ///< of the compute stream; null without attention
  std::map<const void *, std::unique_ptr<Attention>> attentions; ///< likewise
  std::unique_ptr<Carrier> carrier;
  std::unique_ptr<Progress> progress;
  CUgraphExec graph = nullptr;
  std::vector<CUdeviceptr> places; ///< operands of the launch
  /// Launches behind which a fragment is done on the compute stream.
  std::vector<bool> endsFragment;
  uint32_t fragmentsLaunched = 0;
  std::vector<uint32_t> fragmentActions; ///< in the order of their ends
  mutable std::vector<std::byte> staging;

  std::mutex followed; ///< of what follows
  std::vector<std::deque<Pending>> pending; ///< of each stream
  std::thread watcher;
  std::atomic<bool> inStep{false}, stopsWatching{false}, isAbandoned{false};
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_CUDARANK_H
