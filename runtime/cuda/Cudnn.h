//===- Cudnn.h - cuDNN, opened where a role needs it ----------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_CUDNN_H
#define PIPEMESH_RUNTIME_CUDA_CUDNN_H

#include "core/Error.h"
#include "cuda/CudnnApi.h"

#include <string>
#include <utility>
#include <vector>

namespace pipemesh::cuda {

using runtime::cat;
using runtime::fail;

/// The entry points of CudnnApi.h under their own names.
class Cudnn {
public:
  /// Opens it as the system finds it, or from the folder that PIPEMESH_CUDA_LIBRARIES
  /// names. Throws an Error that says what is missing, and the way out.
  Cudnn();
  Cudnn(const Cudnn &) = delete;
  Cudnn &operator=(const Cudnn &) = delete;

#define PIPEMESH_DECLARE(name, parameters) int(*name) parameters = nullptr;
  PIPEMESH_CUDNN(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
#define PIPEMESH_DECLARE(type, name, parameters) type(*name) parameters = nullptr;
  PIPEMESH_CUDNN_TEXTS(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE

  /// "9.24.1".
  std::string version() const;

  /// What a status says, with the library's last message.
  std::string textOf(cudnnStatus_t status) const;

  template <typename... Args>
  void check(cudnnStatus_t status, const Args &...what) const {
    if (status != CUDNN_STATUS_SUCCESS)
      fail(cat(what...), ": ", textOf(status));
  }
};

/// The attribute's type of a C++ value.
template <typename T> constexpr int cudnnTypeOf();
template <> constexpr int cudnnTypeOf<int64_t>() { return CUDNN_TYPE_INT64; }
template <> constexpr int cudnnTypeOf<bool>() { return CUDNN_TYPE_BOOLEAN; }
template <> constexpr int cudnnTypeOf<void *>() { return CUDNN_TYPE_VOID_PTR; }
template <> constexpr int cudnnTypeOf<cudnnHandle_t>() { return CUDNN_TYPE_HANDLE; }

/// A descriptor of the library, which owns it.
class Descriptor {
public:
  Descriptor(const Cudnn &cudnn, int type);
  ~Descriptor();
  Descriptor(Descriptor &&other) noexcept
      : cudnn(other.cudnn), handle(std::exchange(other.handle, nullptr)) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  cudnnBackendDescriptor_t get() const { return handle; }

  /// `type` is that of the attribute where the value's own does not say it.
  template <typename T> void set(int name, const T &value) {
    set(name, cudnnTypeOf<T>(), 1, &value);
  }
  template <typename T> void set(int name, const std::vector<T> &values) {
    set(name, cudnnTypeOf<T>(), static_cast<int64_t>(values.size()), values.data());
  }
  void set(int name, int type, int value) { set(name, type, 1, &value); }
  void set(int name, const Descriptor &value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle);
  }
  void set(int name, int type, int64_t count, const void *values);

  /// The number of values, at most `most` of which are filled in.
  int64_t get(int name, int type, int64_t most, void *values) const;

  void finalize(const char *what) {
    cudnn.check(tryFinalize(), "cudnnBackendFinalize of ", what);
  }
  cudnnStatus_t tryFinalize() { return cudnn.cudnnBackendFinalize(handle); }

private:
  const Cudnn &cudnn;
  cudnnBackendDescriptor_t handle = nullptr;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_CUDNN_H
