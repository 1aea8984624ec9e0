//===- ApiTest.cpp - Our declarations against NVIDIA's headers ------------===//
//
// What cuda/Api.h declares has the sizes, the numbers and the parameters of NVIDIA's
// headers. Compiled where a toolkit is.
//
//===----------------------------------------------------------------------===//

#include "cuda/Api.h"

#include "gtest/gtest.h"
#include <array>
#include <iterator>
#include <type_traits>

namespace api = pipemesh::cuda;

// Some of NVIDIA's names are macros, so ours are kept under other ones first.
namespace ours {
constexpr long long numbers[] = {
    api::CU_STREAM_NON_BLOCKING, api::CU_EVENT_DISABLE_TIMING,
    api::CU_MEMHOSTALLOC_PORTABLE, api::CU_MEMHOSTALLOC_DEVICEMAP,
    api::CU_MEMORYTYPE_DEVICE, api::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    api::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    api::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    api::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    api::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
    api::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    api::CUDA_SUCCESS,
    api::CUDA_ERROR_INVALID_VALUE,
    api::CUDA_ERROR_OUT_OF_MEMORY,
    api::CUDA_ERROR_NO_DEVICE,
    api::CUDA_ERROR_INVALID_IMAGE,
    api::CUDA_ERROR_NO_BINARY_FOR_GPU,
    api::CUDA_ERROR_NOT_FOUND,
    api::CUDA_ERROR_NOT_READY,
    api::CUDA_ERROR_ILLEGAL_ADDRESS,
    api::CUDA_ERROR_LAUNCH_FAILED,
    api::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    api::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    api::CUBLAS_STATUS_SUCCESS,
    api::CUBLAS_STATUS_INVALID_VALUE,
    api::CUBLAS_STATUS_NOT_SUPPORTED,
    api::CUBLAS_COMPUTE_32F,
    api::CUBLAS_COMPUTE_32F_FAST_TF32,
    api::CUBLAS_COMPUTE_64F,
    api::CUDA_R_32F,
    api::CUDA_R_64F,
    api::CUDA_R_16F,
    api::CUDA_R_16BF,
    api::CUBLAS_OP_N,
    api::CUBLAS_OP_T,
    api::CUBLASLT_MATMUL_DESC_TRANSA,
    api::CUBLASLT_MATMUL_DESC_TRANSB,
    api::CUBLASLT_MATMUL_DESC_EPILOGUE,
    api::CUBLASLT_MATMUL_DESC_BIAS_POINTER,
    api::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
    api::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
    api::CUBLASLT_EPILOGUE_GELU_AUX,
    api::CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    api::CUBLASLT_EPILOGUE_DEFAULT,
    api::CUBLASLT_EPILOGUE_BIAS,
    api::CUBLASLT_EPILOGUE_GELU,
    api::CUBLASLT_EPILOGUE_GELU_BIAS,
    api::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    api::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
    api::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, api::ncclSuccess,
    api::ncclUnhandledCudaError, api::ncclSystemError, api::ncclInternalError,
    api::ncclInvalidArgument, api::ncclInvalidUsage, api::ncclRemoteError,
    api::ncclInProgress, api::ncclInt8, api::ncclUint8, api::ncclInt32,
    api::ncclUint32, api::ncclInt64, api::ncclUint64, api::ncclFloat16,
    api::ncclFloat32, api::ncclFloat64, api::ncclBfloat16, api::ncclSum, api::ncclMax,
    api::ncclMin, api::NCCL_SPLIT_NOCOLOR, api::NCCL_CONFIG_UNDEF_INT};

/// The sizes of a function's result and parameters.
template <typename> struct Sizes;
template <typename R, typename... P> struct Sizes<R(P...)> {
  static constexpr std::array<size_t, sizeof...(P) + 1> value = {sizeof(R),
                                                                 sizeof(P)...};
};
#define KEEP(name, parameters)                                                         \
  constexpr auto of_##name = Sizes<int parameters>::value;
namespace in_api {
using namespace pipemesh::cuda;
PIPEMESH_CUDA_DRIVER(KEEP)
PIPEMESH_CUBLASLT(KEEP)
PIPEMESH_NCCL(KEEP)
} // namespace in_api
#undef KEEP
} // namespace ours

#include <cuda.h>

#include <cublasLt.h>
#include <nccl.h>

namespace theirs {
constexpr long long numbers[] = {
    CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING, CU_MEMHOSTALLOC_PORTABLE,
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMORYTYPE_DEVICE,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    CUDA_SUCCESS,
    CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_OUT_OF_MEMORY,
    CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_READY,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_INVALID_VALUE,
    CUBLAS_STATUS_NOT_SUPPORTED,
    CUBLAS_COMPUTE_32F,
    CUBLAS_COMPUTE_32F_FAST_TF32,
    CUBLAS_COMPUTE_64F,
    CUDA_R_32F,
    CUDA_R_64F,
    CUDA_R_16F,
    CUDA_R_16BF,
    CUBLAS_OP_N,
    CUBLAS_OP_T,
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
    CUBLASLT_EPILOGUE_GELU_AUX,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    CUBLASLT_EPILOGUE_DEFAULT,
    CUBLASLT_EPILOGUE_BIAS,
    CUBLASLT_EPILOGUE_GELU,
    CUBLASLT_EPILOGUE_GELU_BIAS,
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, ncclSuccess, ncclUnhandledCudaError,
    ncclSystemError, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage,
    ncclRemoteError, ncclInProgress, ncclInt8, ncclUint8, ncclInt32, ncclUint32,
    ncclInt64, ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16,
    ncclSum, ncclMax, ncclMin, NCCL_SPLIT_NOCOLOR, NCCL_CONFIG_UNDEF_INT};
} // namespace theirs

#define SAME_PARAMETERS(name, parameters)                                              \
  static_assert(ours::in_api::of_##name ==                                             \
                ours::Sizes<std::remove_pointer_t<decltype(&::name)>>::value);
PIPEMESH_CUDA_DRIVER(SAME_PARAMETERS)
PIPEMESH_CUBLASLT(SAME_PARAMETERS)
PIPEMESH_NCCL(SAME_PARAMETERS)

#define SAME_MEMBER(type, member)                                                      \
  static_assert(offsetof(api::type, member) == offsetof(::type, member));
static_assert(sizeof(api::CUDA_MEMCPY2D) == sizeof(::CUDA_MEMCPY2D));
static_assert(sizeof(api::CUDA_MEMCPY3D) == sizeof(::CUDA_MEMCPY3D));
static_assert(sizeof(api::cublasLtMatmulHeuristicResult_t) ==
              sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(api::ncclUniqueId) == sizeof(::ncclUniqueId));
SAME_MEMBER(CUDA_MEMCPY2D, srcDevice)
SAME_MEMBER(CUDA_MEMCPY2D, srcPitch)
SAME_MEMBER(CUDA_MEMCPY2D, dstMemoryType)
SAME_MEMBER(CUDA_MEMCPY2D, dstDevice)
SAME_MEMBER(CUDA_MEMCPY2D, dstPitch)
SAME_MEMBER(CUDA_MEMCPY2D, WidthInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, Height)
SAME_MEMBER(CUDA_MEMCPY3D, srcDevice)
SAME_MEMBER(CUDA_MEMCPY3D, srcPitch)
SAME_MEMBER(CUDA_MEMCPY3D, srcHeight)
SAME_MEMBER(CUDA_MEMCPY3D, dstMemoryType)
SAME_MEMBER(CUDA_MEMCPY3D, dstDevice)
SAME_MEMBER(CUDA_MEMCPY3D, dstPitch)
SAME_MEMBER(CUDA_MEMCPY3D, dstHeight)
SAME_MEMBER(CUDA_MEMCPY3D, Depth)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, state)
SAME_MEMBER(ncclConfig_t, magic)
SAME_MEMBER(ncclConfig_t, version)
SAME_MEMBER(ncclConfig_t, blocking)
SAME_MEMBER(ncclConfig_t, netName)
SAME_MEMBER(ncclConfig_t, splitShare)

namespace {

TEST(CudaApi, NumbersAreThoseOfTheHeaders) {
  ASSERT_EQ(std::size(ours::numbers), std::size(theirs::numbers));
  for (size_t i = 0; i < std::size(ours::numbers); ++i)
    EXPECT_EQ(ours::numbers[i], theirs::numbers[i]) << "the " << i + 1 << "th";
}

TEST(CudaApi, NcclReadsOurConfiguration) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(api::ncclConfig_t().magic, theirs.magic);
  EXPECT_LE(api::ncclConfig_t().version, theirs.version);
}

} // namespace
