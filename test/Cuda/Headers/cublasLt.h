//===- cublasLt.h - Stands in for NVIDIA's header -------------------------===//

#ifndef PIPEMESH_TEST_CUBLASLT_H
#define PIPEMESH_TEST_CUBLASLT_H

#include "cuda.h"

namespace pipemesh::cuda {
using cudaDataType_t = int;
using cublasComputeType_t = int;
using cublasLtMatmulDescAttributes_t = int;
extern "C" {
#define PIPEMESH_DECLARE(name, parameters) cublasStatus_t name parameters;
PIPEMESH_CUBLASLT(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
}
} // namespace pipemesh::cuda

#endif // PIPEMESH_TEST_CUBLASLT_H
