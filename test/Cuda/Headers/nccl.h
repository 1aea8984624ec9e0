//===- nccl.h - Stands in for NVIDIA's header -----------------------------===//

#ifndef PIPEMESH_TEST_NCCL_H
#define PIPEMESH_TEST_NCCL_H

#include "cuda.h"

namespace pipemesh::cuda {
extern "C" {
#define PIPEMESH_DECLARE(name, parameters) ncclResult_t name parameters;
PIPEMESH_NCCL(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
#define PIPEMESH_DECLARE(name, parameters) const char *name parameters;
PIPEMESH_NCCL_TEXTS(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
}
} // namespace pipemesh::cuda

#define NCCL_CONFIG_INITIALIZER {}

#endif // PIPEMESH_TEST_NCCL_H
