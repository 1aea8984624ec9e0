//===- CudnnApi.h - What is called of cuDNN -------------------------------===//
//
// The backend interface of cuDNN 9 (libcudnn.so.9) as far as attention needs it: every
// object is a descriptor with attributes. As in Api.h, no toolkit is needed to build,
// and test/Cuda/ApiTest.cpp compares with NVIDIA's headers where those are.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_CUDNNAPI_H
#define PIPEMESH_RUNTIME_CUDA_CUDNNAPI_H

#include "cuda/Api.h"

namespace pipemesh::cuda {

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext *;
using cudnnBackendDescriptor_t = void *;

inline constexpr cudnnStatus_t CUDNN_STATUS_SUCCESS = 0,
                               CUDNN_STATUS_NOT_INITIALIZED = 1001,
                               CUDNN_STATUS_BAD_PARAM = 2000,
                               CUDNN_STATUS_BAD_PARAM_NULL_POINTER = 2002,
                               CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED = 2004,
                               CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT = 2006,
                               CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH = 2008,
                               CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE = 2010,
                               CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE = 2012,
                               CUDNN_STATUS_NOT_SUPPORTED = 3000,
                               CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN = 3001,
                               CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002,
                               CUDNN_STATUS_EXECUTION_FAILED = 5000;

/// cudnnDataType_t
inline constexpr int CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_INT32 = 4,
                     CUDNN_DATA_BFLOAT16 = 9, CUDNN_DATA_BOOLEAN = 11;
/// cudnnPointwiseMode_t
inline constexpr int CUDNN_POINTWISE_ADD = 0, CUDNN_POINTWISE_MUL = 1,
                     CUDNN_POINTWISE_DIV = 6, CUDNN_POINTWISE_SUB = 9,
                     CUDNN_POINTWISE_EXP = 13, CUDNN_POINTWISE_LOG = 15,
                     CUDNN_POINTWISE_IDENTITY = 21, CUDNN_POINTWISE_CMP_GE = 303,
                     CUDNN_POINTWISE_GEN_INDEX = 501,
                     CUDNN_POINTWISE_BINARY_SELECT = 601;
/// cudnnReduceTensorOp_t
inline constexpr int CUDNN_REDUCE_TENSOR_ADD = 0, CUDNN_REDUCE_TENSOR_MAX = 3;
/// cudnnBackendHeurMode_t
inline constexpr int CUDNN_HEUR_MODE_FALLBACK = 2, CUDNN_HEUR_MODE_A = 3;
/// cudnnBackendNumericalNote_t
inline constexpr int CUDNN_NUMERICAL_NOTE_TENSOR_CORE = 0,
                     CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC = 4,
                     CUDNN_NUMERICAL_NOTE_TYPE_COUNT = 10;

/// cudnnBackendDescriptorType_t
inline constexpr int CUDNN_BACKEND_POINTWISE_DESCRIPTOR = 0,
                     CUDNN_BACKEND_ENGINE_DESCRIPTOR = 2,
                     CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
                     CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
                     CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
                     CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR = 13,
                     CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15,
                     CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16,
                     CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17,
                     CUDNN_BACKEND_MATMUL_DESCRIPTOR = 18,
                     CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR = 19,
                     CUDNN_BACKEND_REDUCTION_DESCRIPTOR = 21,
                     CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR = 22,
                     CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR = 31,
                     CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR = 38;

/// cudnnBackendAttributeType_t
inline constexpr int CUDNN_TYPE_HANDLE = 0, CUDNN_TYPE_DATA_TYPE = 1,
                     CUDNN_TYPE_BOOLEAN = 2, CUDNN_TYPE_INT64 = 3,
                     CUDNN_TYPE_VOID_PTR = 6, CUDNN_TYPE_HEUR_MODE = 8,
                     CUDNN_TYPE_NUMERICAL_NOTE = 11, CUDNN_TYPE_POINTWISE_MODE = 14,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
                     CUDNN_TYPE_REDUCTION_OPERATOR_TYPE = 18, CUDNN_TYPE_CHAR = 24;

/// cudnnBackendAttributeName_t
inline constexpr int CUDNN_ATTR_POINTWISE_MODE = 0, CUDNN_ATTR_POINTWISE_MATH_PREC = 1,
                     CUDNN_ATTR_POINTWISE_AXIS = 9, CUDNN_ATTR_ENGINEHEUR_MODE = 200,
                     CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
                     CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
                     CUDNN_ATTR_ENGINEHEUR_DEVICEPROP = 204,
                     CUDNN_ATTR_ENGINECFG_ENGINE = 300,
                     CUDNN_ATTR_EXECUTION_PLAN_HANDLE = 400,
                     CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
                     CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
                     CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP = 407,
                     CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR = 750,
                     CUDNN_ATTR_OPERATION_POINTWISE_XDESC = 751,
                     CUDNN_ATTR_OPERATION_POINTWISE_BDESC = 752,
                     CUDNN_ATTR_OPERATION_POINTWISE_YDESC = 753,
                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC = 758,
                     CUDNN_ATTR_OPERATIONGRAPH_HANDLE = 800,
                     CUDNN_ATTR_OPERATIONGRAPH_OPS = 801,
                     CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900,
                     CUDNN_ATTR_TENSOR_DATA_TYPE = 901,
                     CUDNN_ATTR_TENSOR_DIMENSIONS = 902,
                     CUDNN_ATTR_TENSOR_STRIDES = 903, CUDNN_ATTR_TENSOR_UNIQUE_ID = 906,
                     CUDNN_ATTR_TENSOR_IS_VIRTUAL = 907,
                     CUDNN_ATTR_TENSOR_IS_BY_VALUE = 908,
                     CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000,
                     CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001,
                     CUDNN_ATTR_VARIANT_PACK_WORKSPACE = 1003,
                     CUDNN_ATTR_ENGINE_GLOBAL_INDEX = 1301,
                     CUDNN_ATTR_ENGINE_NUMERICAL_NOTE = 1303,
                     CUDNN_ATTR_MATMUL_COMP_TYPE = 1500,
                     CUDNN_ATTR_OPERATION_MATMUL_ADESC = 1520,
                     CUDNN_ATTR_OPERATION_MATMUL_BDESC = 1521,
                     CUDNN_ATTR_OPERATION_MATMUL_CDESC = 1522,
                     CUDNN_ATTR_OPERATION_MATMUL_DESC = 1523,
                     CUDNN_ATTR_REDUCTION_OPERATOR = 1600,
                     CUDNN_ATTR_REDUCTION_COMP_TYPE = 1601,
                     CUDNN_ATTR_OPERATION_REDUCTION_XDESC = 1610,
                     CUDNN_ATTR_OPERATION_REDUCTION_YDESC = 1611,
                     CUDNN_ATTR_OPERATION_REDUCTION_DESC = 1612,
                     CUDNN_ATTR_OPERATION_RESHAPE_XDESC = 2200,
                     CUDNN_ATTR_OPERATION_RESHAPE_YDESC = 2201,
                     CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION = 2702;

/// X(name of the symbol, parameters); all return a cudnnStatus_t.
#define PIPEMESH_CUDNN(X)                                                              \
  X(cudnnCreate, (cudnnHandle_t * handle))                                             \
  X(cudnnDestroy, (cudnnHandle_t handle))                                              \
  X(cudnnSetStream, (cudnnHandle_t handle, CUstream stream))                           \
  X(cudnnBackendCreateDescriptor, (int type, cudnnBackendDescriptor_t *descriptor))    \
  X(cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor))              \
  X(cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor))                       \
  X(cudnnBackendSetAttribute, (cudnnBackendDescriptor_t descriptor, int name,          \
                               int type, int64_t count, const void *elements))         \
  X(cudnnBackendGetAttribute,                                                          \
    (cudnnBackendDescriptor_t descriptor, int name, int type, int64_t requested,       \
     int64_t *count, void *elements))                                                  \
  X(cudnnBackendExecute, (cudnnHandle_t handle, cudnnBackendDescriptor_t plan,         \
                          cudnnBackendDescriptor_t variantPack))

/// X(type of the result, name of the symbol, parameters).
#define PIPEMESH_CUDNN_TEXTS(X)                                                        \
  X(size_t, cudnnGetVersion, ())                                                       \
  X(const char *, cudnnGetErrorString, (cudnnStatus_t status))                         \
  X(void, cudnnGetLastErrorString, (char *text, size_t bytes))

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_CUDNNAPI_H
