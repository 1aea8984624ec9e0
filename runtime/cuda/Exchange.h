//===- Exchange.h - The calls that ranks meet by --------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_EXCHANGE_H
#define PIPEMESH_RUNTIME_CUDA_EXCHANGE_H

#include "cuda/StridedCopy.h"

namespace pipemesh::cuda {

/// One call of NCCL, or of the driver to pack and unpack what NCCL moves.
struct ExchangeCall {
  enum Kind {
    Clear, ///< `count` bytes
    Copy,
    GroupStart,
    GroupEnd,
    AllReduce,
    AllGather,
    ReduceScatter,
    Send,
    Receive
  };

  Kind kind;
  CUdeviceptr from = 0, to = 0;
  uint64_t count = 0; ///< as the call takes it
  int type = 0;       ///< ncclDataType_t
  int reduction = 0;  ///< ncclRedOp_t
  int peer = 0;       ///< in the communicator
  StridedCopy copy{};
};

/// The calls of a collective, in their order, of member `index` of `members`.
/// Blocks that do not lie as NCCL wants them are packed in the workspace of the
/// stream. Throws where NCCL has no such operation.
std::vector<ExchangeCall> callsOf(const pmrt_instruction &instruction,
                                  const CUdeviceptr *operands,
                                  CUdeviceptr workspace, int64_t members,
                                  int64_t index);

/// The call of a transfer; the sender is rank 0 of the pair.
ExchangeCall callOf(const pmrt_buffer &buffer, bool isSend, CUdeviceptr place);

/// How NCCL calls the elements of a type: its number, and how many of them an
/// element is. Throws where a reduction of it is not among NCCL's.
struct NcclType {
  int type;
  uint64_t count;
};
NcclType ncclTypeOf(uint32_t dtype, bool isReduced);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_EXCHANGE_H
