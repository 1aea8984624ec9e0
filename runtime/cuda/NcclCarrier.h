//===- NcclCarrier.h - Collectives and transfers by NCCL ------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H
#define PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H

#include "cuda/Communicators.h"

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

  void allReduce(const pmrt_instruction &instruction, const CUdeviceptr *operands,
                 CUstream stream);
  void gather(const pmrt_instruction &instruction, const CUdeviceptr *operands,
              CUdeviceptr workspace, CUstream stream);
  void scatter(const pmrt_instruction &instruction, const CUdeviceptr *operands,
               CUdeviceptr workspace, CUstream stream);
  void allToAll(const pmrt_instruction &instruction, const CUdeviceptr *operands,
                CUdeviceptr workspace, CUstream stream);
  void permute(const pmrt_instruction &instruction, const CUdeviceptr *operands,
               CUstream stream);
  /// Copies the pieces of all members between the rows of a whole and blocks that lie
  /// one behind the other.
  void copyPieces(const pmrt_collective &collective, const Own &own, CUdeviceptr whole,
                  CUdeviceptr packed, bool pack, CUstream stream);
  void check(ncclResult_t result, const Own &own, const char *call,
             const pmrt_instruction &instruction);
  void begin();
  void end(const Own &own, const pmrt_instruction &instruction);

  const Libraries &libraries;
  std::unique_ptr<Communicators> communicators;
  const pmrt_role &role;
  std::vector<Own> owns;                   ///< of each communicator of the role
  std::vector<ncclComm_t> lanes;           ///< of each lane of the plan
};

/// How NCCL calls the elements of a type: its number, and how many of them an element
/// is. Throws where a reduction of it is not among NCCL's.
struct NcclType {
  int type;
  uint64_t count;
};
NcclType ncclTypeOf(uint32_t dtype, bool isReduced);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_NCCLCARRIER_H
