//===- Entries.h - the entry points, declared as Api.h has them -----------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_ENTRIES_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_ENTRIES_H

#include "cuda/CudnnApi.h"

namespace pipemesh::cuda {

#define DECLARE(name, parameters)                                                      \
  __attribute__((visibility("default"))) int name parameters;
#define DECLARE_TEXT(name, parameters)                                                 \
  __attribute__((visibility("default"))) const char *name parameters;
#define DECLARE_TYPED(type, name, parameters)                                          \
  __attribute__((visibility("default"))) type name parameters;
extern "C" {
PIPEMESH_CUDA_DRIVER(DECLARE)
PIPEMESH_CUBLASLT(DECLARE)
PIPEMESH_NCCL(DECLARE)
PIPEMESH_NCCL_TEXTS(DECLARE_TEXT)
PIPEMESH_CUDNN(DECLARE)
PIPEMESH_CUDNN_TEXTS(DECLARE_TYPED)
}
#undef DECLARE
#undef DECLARE_TEXT
#undef DECLARE_TYPED

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_ENTRIES_H
