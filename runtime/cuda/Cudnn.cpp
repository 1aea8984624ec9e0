//===- Cudnn.cpp - cuDNN, opened where a role needs it --------------------===//

#include "cuda/Cudnn.h"

#include "cuda/Loading.h"

namespace pipemesh::cuda {

Cudnn::Cudnn() {
  std::string problem;
  // Never closed: threads of the library may outlive the last call.
  void *library = openLibrary({"libcudnn.so.9", "libcudnn.so"}, problem);
  if (!library)
    fail("this bundle's attention is cuDNN's, which cannot be loaded (", problem,
         "); install cuDNN 9, or compile with --attention=own");
#define PIPEMESH_RESOLVE(name, parameters)                                           \
  resolveSymbol(library, #name, "cuDNN", name);
  PIPEMESH_CUDNN(PIPEMESH_RESOLVE)
#undef PIPEMESH_RESOLVE
#define PIPEMESH_RESOLVE(type, name, parameters)                                     \
  resolveSymbol(library, #name, "cuDNN", name);
  PIPEMESH_CUDNN_TEXTS(PIPEMESH_RESOLVE)
#undef PIPEMESH_RESOLVE
  if (size_t number = cudnnGetVersion(); number < 90000)
    fail("this bundle's attention needs cuDNN 9, but version ", number,
         " was found; install a newer one, or compile with --attention=own");
}

std::string Cudnn::version() const {
  size_t number = cudnnGetVersion();
  return cat(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

std::string Cudnn::textOf(cudnnStatus_t status) const {
  const char *name = cudnnGetErrorString(status);
  char last[512] = "";
  cudnnGetLastErrorString(last, sizeof(last));
  last[sizeof(last) - 1] = 0;
  return cat(name ? name : "unknown status", *last ? cat(" (", last, ")") : "");
}

Descriptor::Descriptor(const Cudnn &cudnn, int type) : cudnn(cudnn) {
  cudnn.check(cudnn.cudnnBackendCreateDescriptor(type, &handle),
              "cudnnBackendCreateDescriptor of type ", type);
}

Descriptor::~Descriptor() {
  if (handle)
    cudnn.cudnnBackendDestroyDescriptor(handle);
}

void Descriptor::set(int name, int type, int64_t count, const void *values) {
  cudnn.check(cudnn.cudnnBackendSetAttribute(handle, name, type, count, values),
              "cudnnBackendSetAttribute of attribute ", name);
}

int64_t Descriptor::get(int name, int type, int64_t most, void *values) const {
  int64_t count = 0;
  cudnn.check(
      cudnn.cudnnBackendGetAttribute(handle, name, type, most, &count, values),
      "cudnnBackendGetAttribute of attribute ", name);
  return count;
}

} // namespace pipemesh::cuda
