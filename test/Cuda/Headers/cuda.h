//===- cuda.h - Stands in for NVIDIA's header -----------------------------===//
//
// Sources that pmc --emit=cpp wrote compile with these headers where no toolkit is:
// the runtime's declarations (CudaApiTests compares them with NVIDIA's) under the names
// that NVIDIA's headers give them.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_TEST_CUDA_H
#define PIPEMESH_TEST_CUDA_H

#include "cuda/Api.h"

namespace pipemesh::cuda {
extern "C" {
#define PIPEMESH_DECLARE(name, parameters) CUresult name parameters;
PIPEMESH_CUDA_DRIVER(PIPEMESH_DECLARE)
#undef PIPEMESH_DECLARE
}
} // namespace pipemesh::cuda
using namespace pipemesh::cuda;

#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemcpy3DAsync cuMemcpy3DAsync_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuStreamWriteValue32 cuStreamWriteValue32_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2

#endif // PIPEMESH_TEST_CUDA_H
