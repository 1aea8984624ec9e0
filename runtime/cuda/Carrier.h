//===- Carrier.h - What moves data between ranks' GPUs --------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_CARRIER_H
#define PIPEMESH_RUNTIME_CUDA_CARRIER_H

#include "cuda/Device.h"
#include "cuda/Plan.h"

#include <functional>

namespace pipemesh::cuda {

/// A transfer as a rank sees it.
struct Transfer {
  uint32_t lane;   ///< of the plan
  int64_t peer;    ///< rank
  uint32_t action; ///< of the role's order
  bool isSend;
  CUdeviceptr place;
};

/// The ranks that a rank meets, and how. Launches never wait for other ranks unless
/// `waitsForHost` says so.
class Carrier {
public:
  virtual ~Carrier() = default;

  /// Launches a collective on a stream; `workspace` is that stream's.
  virtual void run(const pmrt_instruction &instruction, const CUdeviceptr *operands,
                   CUdeviceptr workspace, CUstream stream) = 0;

  /// Launches transfers of one lane at once.
  virtual void run(const std::vector<Transfer> &transfers, CUstream stream) = 0;

  /// Whether data goes through the host, which waits for the streams.
  virtual bool waitsForHost() const = 0;

  /// What has gone wrong in a communicator by now, or nothing.
  virtual std::string problem() { return ""; }

  /// Ends all that is launched, also what never would. Any thread may call it, once.
  virtual void abort() {}
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_CARRIER_H
