//===- NcclCarrier.h - Collectives and transfers by NCCL ------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H
#define PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H

#include "cuda/Communicators.h"
#include "cuda/Exchange.h"

namespace pipemesh::cuda {

/// Data goes from GPU to GPU. Blocks that do not lie as NCCL wants them are packed in
/// the stream's workspace by strided copies.
class NcclCarrier : public Carrier {
public:
  /// `role` and `plan` are those of the rank; its communicators are taken over.
  NcclCarrier(const Libraries &libraries, std::unique_ptr<Communicators> communicators,
              const std::vector<Division> &divisions, const Mesh &mesh,
              const pmrt_role &role, const Plan &plan, int64_t rank);

  void run(const pmrt_instruction &instruction, const CUdeviceptr *operands,
           CUdeviceptr workspace, CUstream stream) override;
  void run(const std::vector<Transfer> &transfers, CUstream stream) override;
  bool waitsForHost() const override { return false; }
  std::string problem() override { return communicators->problem(); }
  void abort() override { communicators->abort(); }

private:
  /// A communicator of the role as this rank has it.
  struct Own {
    ncclComm_t communicator;
    int64_t members, index;
  };

  void launch(const ExchangeCall &call, ncclComm_t communicator,
              const std::string &what, CUstream stream);
  void copy(const StridedCopy &copy, const std::string &what, CUstream stream);

  const Libraries &libraries;
  std::unique_ptr<Communicators> communicators;
  const pmrt_role &role;
  std::vector<Own> owns;                   ///< of each communicator of the role
  std::vector<ncclComm_t> lanes;           ///< of each lane of the plan
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H
