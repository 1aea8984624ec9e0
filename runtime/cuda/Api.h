//===- Api.h - What is called of NVIDIA's libraries -----------------------===//
//
// The entry points of the CUDA driver, cuBLASLt and NCCL that a rank calls, declared
// here so that the backend builds where no toolkit is. The libraries are loaded when a
// job runs (Libraries.h). test/Cuda/ApiTest.cpp compares types and numbers with
// NVIDIA's headers where those are.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_API_H
#define PIPEMESH_RUNTIME_CUDA_API_H

#include <cstddef>
#include <cstdint>

namespace pipemesh::cuda {

//===----------------------------------------------------------------------===//
// The driver (libcuda.so.1)
//===----------------------------------------------------------------------===//

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUarray = struct CUarray_st *;

inline constexpr CUresult CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1,
                          CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100,
                          CUDA_ERROR_INVALID_IMAGE = 200,
                          CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
                          CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600,
                          CUDA_ERROR_ILLEGAL_ADDRESS = 700,
                          CUDA_ERROR_LAUNCH_FAILED = 719,
                          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
                          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;

inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
                     /// Links between processors have it, PCI has not.
    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2,
                          CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2,
                          CU_MEMORYTYPE_DEVICE = 2;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

/// X(name of the symbol, parameters); all return a CUresult.
#define PIPEMESH_CUDA_DRIVER(X)                                                        \
  X(cuInit, (unsigned flags))                                                          \
  X(cuDriverGetVersion, (int *version))                                                \
  X(cuGetErrorName, (CUresult error, const char **text))                               \
  X(cuGetErrorString, (CUresult error, const char **text))                             \
  X(cuDeviceGetCount, (int *count))                                                    \
  X(cuDeviceGet, (CUdevice *device, int ordinal))                                      \
  X(cuDeviceGetName, (char *name, int length, CUdevice device))                        \
  X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                \
  X(cuDeviceGetPCIBusId, (char *id, int length, CUdevice device))                      \
  X(cuDeviceGetP2PAttribute, (int *value, int attribute, CUdevice from, CUdevice to))  \
  X(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))                   \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                   \
  X(cuCtxSetCurrent, (CUcontext context))                                              \
  X(cuMemGetInfo_v2, (size_t *free, size_t *total))                                    \
  X(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes))                               \
  X(cuMemFree_v2, (CUdeviceptr pointer))                                               \
  X(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                    \
  X(cuMemFreeHost, (void *pointer))                                                    \
  X(cuMemHostGetDevicePointer_v2, (CUdeviceptr *pointer, void *host, unsigned flags))  \
  X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                 \
  X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                       \
  X(cuMemcpyHtoDAsync_v2,                                                              \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                 \
  X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
  X(cuMemcpyDtoDAsync_v2,                                                              \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                 \
  X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))                  \
  X(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream))                  \
  X(cuMemsetD8Async,                                                                   \
    (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))              \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                               \
  X(cuStreamDestroy_v2, (CUstream stream))                                             \
  X(cuStreamSynchronize, (CUstream stream))                                            \
  X(cuStreamQuery, (CUstream stream))                                                  \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))               \
  X(cuStreamWriteValue32_v2,                                                           \
    (CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags))                 \
  X(cuEventCreate, (CUevent * event, unsigned flags))                                  \
  X(cuEventDestroy_v2, (CUevent event))                                                \
  X(cuEventRecord, (CUevent event, CUstream stream))                                   \
  X(cuEventQuery, (CUevent event))                                                     \
  X(cuModuleLoadData, (CUmodule * module, const void *image))                          \
  X(cuModuleUnload, (CUmodule module))                                                 \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))   \
  X(cuLaunchKernel,                                                                    \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,              \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,          \
     CUstream stream, void **parameters, void **extra))                                \
  X(cuStreamBeginCapture_v2, (CUstream stream, int mode))                              \
  X(cuStreamEndCapture, (CUstream stream, CUgraph *graph))                             \
  X(cuGraphInstantiateWithFlags,                                                       \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))               \
  X(cuGraphLaunch, (CUgraphExec executable, CUstream stream))                          \
  X(cuGraphExecDestroy, (CUgraphExec executable))                                      \
  X(cuGraphDestroy, (CUgraph graph))

//===----------------------------------------------------------------------===//
// cuBLASLt (libcublasLt.so.13, or another version)
//===----------------------------------------------------------------------===//

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque *;

inline constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0,
                                CUBLAS_STATUS_INVALID_VALUE = 7,
                                CUBLAS_STATUS_NOT_SUPPORTED = 15;
inline constexpr int CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
                     CUBLAS_COMPUTE_64F = 70;
/// cudaDataType
inline constexpr int CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14;
inline constexpr int CUBLAS_OP_N = 0, CUBLAS_OP_T = 1;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4,
                     CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
                     CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
                     CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
                     CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12;
inline constexpr int CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4,
                     CUBLASLT_EPILOGUE_GELU = 32,
                     CUBLASLT_EPILOGUE_GELU_BIAS = 36,
                     CUBLASLT_EPILOGUE_GELU_AUX = 160,
                     CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164;
inline constexpr int CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
                     CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6;
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

/// Matrices are column-major. All return a cublasStatus_t.
#define PIPEMESH_CUBLASLT(X)                                                   \
  X(cublasLtCreate, (cublasLtHandle_t * handle))                               \
  X(cublasLtDestroy, (cublasLtHandle_t handle))                                \
  X(cublasLtMatmulDescCreate,                                                  \
    (cublasLtMatmulDesc_t * description, int compute, int scaleType))          \
  X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t description))             \
  X(cublasLtMatmulDescSetAttribute,                                            \
    (cublasLtMatmulDesc_t description, int attribute, const void *value,       \
     size_t bytes))                                                            \
  X(cublasLtMatrixLayoutCreate,                                                \
    (cublasLtMatrixLayout_t * layout, int type, uint64_t rows,                 \
     uint64_t columns, int64_t leading))                                       \
  X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))              \
  X(cublasLtMatrixLayoutSetAttribute,                                          \
    (cublasLtMatrixLayout_t layout, int attribute, const void *value,          \
     size_t bytes))                                                            \
  X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference)) \
  X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))  \
  X(cublasLtMatmulPreferenceSetAttribute,                                      \
    (cublasLtMatmulPreference_t preference, int attribute, const void *value,  \
     size_t bytes))                                                            \
  X(cublasLtMatmulAlgoGetHeuristic,                                            \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t description,                \
     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                       \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                       \
     cublasLtMatmulPreference_t preference, int requested,                     \
     cublasLtMatmulHeuristicResult_t *results, int *count))                    \
  X(cublasLtMatmulAlgoCheck,                                                   \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t description,                \
     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                       \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                       \
     const cublasLtMatmulAlgo_t *algorithm,                                    \
     cublasLtMatmulHeuristicResult_t *result))                                 \
  X(cublasLtGetProperty, (int property, int *value))                           \
  X(cublasLtMatmul,                                                            \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t description,                \
     const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,         \
     const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,          \
     const void *c, cublasLtMatrixLayout_t cLayout, void *d,                   \
     cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algorithm,    \
     void *workspace, size_t workspaceBytes, CUstream stream))

//===----------------------------------------------------------------------===//
// NCCL (libnccl.so.2)
//===----------------------------------------------------------------------===//

using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;

struct ncclUniqueId {
  char internal[128];
};

inline constexpr ncclResult_t ncclSuccess = 0, ncclUnhandledCudaError = 1,
                              ncclSystemError = 2, ncclInternalError = 3,
                              ncclInvalidArgument = 4, ncclInvalidUsage = 5,
                              ncclRemoteError = 6, ncclInProgress = 7;
/// ncclDataType_t
inline constexpr int ncclInt8 = 0, ncclUint8 = 1, ncclInt32 = 2, ncclUint32 = 3,
                     ncclInt64 = 4, ncclUint64 = 5, ncclFloat16 = 6, ncclFloat32 = 7,
                     ncclFloat64 = 8, ncclBfloat16 = 9;
/// ncclRedOp_t
inline constexpr int ncclSum = 0, ncclMax = 2, ncclMin = 3;
inline constexpr int NCCL_SPLIT_NOCOLOR = -1;
inline constexpr int NCCL_CONFIG_UNDEF_INT = -2147483647 - 1;

/// The members that NCCL 2.18 had; later versions read as many as `size` says.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 21801;
  int blocking = NCCL_CONFIG_UNDEF_INT;
  int cgaClusterSize = NCCL_CONFIG_UNDEF_INT;
  int minCTAs = NCCL_CONFIG_UNDEF_INT;
  int maxCTAs = NCCL_CONFIG_UNDEF_INT;
  const char *netName = nullptr;
  int splitShare = NCCL_CONFIG_UNDEF_INT;
};

/// All return an ncclResult_t, but for the texts.
#define PIPEMESH_NCCL(X)                                                               \
  X(ncclGetVersion, (int *version))                                                    \
  X(ncclGetUniqueId, (ncclUniqueId * id))                                              \
  X(ncclCommInitRankConfig,                                                            \
    (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank,                  \
     ncclConfig_t *config))                                                            \
  X(ncclCommSplit,                                                                     \
    (ncclComm_t communicator, int color, int key, ncclComm_t *made,                    \
     ncclConfig_t *config))                                                            \
  X(ncclCommFinalize, (ncclComm_t communicator))                                       \
  X(ncclCommDestroy, (ncclComm_t communicator))                                        \
  X(ncclCommAbort, (ncclComm_t communicator))                                          \
  X(ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t *error))             \
  X(ncclAllReduce,                                                                     \
    (const void *from, void *to, size_t count, int type, int reduction,                \
     ncclComm_t communicator, CUstream stream))                                        \
  X(ncclAllGather,                                                                     \
    (const void *from, void *to, size_t sendCount, int type, ncclComm_t communicator,  \
     CUstream stream))                                                                 \
  X(ncclReduceScatter,                                                                 \
    (const void *from, void *to, size_t receiveCount, int type, int reduction,         \
     ncclComm_t communicator, CUstream stream))                                        \
  X(ncclSend,                                                                          \
    (const void *from, size_t count, int type, int peer, ncclComm_t communicator,      \
     CUstream stream))                                                                 \
  X(ncclRecv,                                                                          \
    (void *to, size_t count, int type, int peer, ncclComm_t communicator,              \
     CUstream stream))                                                                 \
  X(ncclGroupStart, ())                                                                \
  X(ncclGroupEnd, ())

/// X(name, parameters); these return a text.
#define PIPEMESH_NCCL_TEXTS(X)                                                         \
  X(ncclGetErrorString, (ncclResult_t result))                                         \
  X(ncclGetLastError, (ncclComm_t communicator))

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_API_H
