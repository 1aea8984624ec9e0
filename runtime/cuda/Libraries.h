//===- Libraries.h - NVIDIA's libraries, opened when a job runs -----------===//

#ifndef PIPEMESH_RUNTIME_CUDA_LIBRARIES_H
#define PIPEMESH_RUNTIME_CUDA_LIBRARIES_H

#include "core/Error.h"
#include "cuda/Api.h"
#include "cuda/Cudnn.h"

#include <memory>
#include <mutex>
#include <string>

namespace pipemesh::cuda {

/// The entry points of Api.h under their own names.
class Libraries {
public:
  /// Opens them as the system finds them, or from the folder that
  /// PIPEMESH_CUDA_LIBRARIES names. Throws an Error that names the library or the
  /// symbol that is missing, and what is needed.
  Libraries();
  ~Libraries();
  Libraries(const Libraries &) = delete;
  Libraries &operator=(const Libraries &) = delete;

#define PIPEMESH_DECLARE(name, parameters) int(*name) parameters = nullptr;
  PIPEMESH_CUDA_DRIVER(PIPEMESH_DECLARE)
  PIPEMESH_CUBLASLT(PIPEMESH_DECLARE)
  PIPEMESH_NCCL(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
#define PIPEMESH_DECLARE(name, parameters) const char *(*name)parameters = nullptr;
  PIPEMESH_NCCL_TEXTS(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE

  /// Where NCCL is missing, why; ranks then meet through the host.
  std::string ncclProblem;
  bool hasNccl() const { return ncclProblem.empty(); }

  /// cuDNN, which is opened when it is first asked for. Throws an Error where it is
  /// missing.
  const Cudnn &cudnn() const;

  /// Throws where a call of the driver has failed: "cuMemAlloc_v2 of 3 bytes: out of
  /// memory (CUDA_ERROR_OUT_OF_MEMORY)".
  template <typename... Args>
  void check(CUresult result, const Args &...what) const {
    if (result != CUDA_SUCCESS)
      fail(cat(what...), ": ", textOf(result));
  }
  template <typename... Args>
  void checkBlas(cublasStatus_t status, const Args &...what) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      fail(cat(what...), ": cuBLASLt's status ", status,
           status == CUBLAS_STATUS_NOT_SUPPORTED ? " (not supported)" : "");
  }
  /// `communicator` may be null.
  template <typename... Args>
  void checkNccl(ncclResult_t result, ncclComm_t communicator,
                 const Args &...what) const {
    if (result != ncclSuccess && result != ncclInProgress)
      fail(cat(what...), ": ", ncclText(result, communicator));
  }

  std::string textOf(CUresult result) const;
  std::string ncclText(ncclResult_t result, ncclComm_t communicator) const;

private:
  struct Closer {
    void operator()(void *library) const;
  };
  using Handle = std::unique_ptr<void, Closer>;
  Handle driver, blas, nccl;
  mutable std::mutex opening;
  mutable std::unique_ptr<Cudnn> dnn;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_LIBRARIES_H
