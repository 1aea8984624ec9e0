//===- CublasLt.cpp - libcublasLt.so.13 -----------------------------------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/Matmul.h"
#include "cuda/standin/LibraryWork.h"
#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <algorithm>
#include <cstring>

namespace pipemesh::cuda {

struct cublasLtContext {};
struct cublasLtMatmulPreferenceOpaque {
  uint64_t workspaceBytes = 0;
};

using namespace standin;

namespace {

/// An algorithm's words: what marks it, its number, and the workspace it needs.
constexpr uint64_t kMark = 0x70696d6573684c74;

/// A handle that is made and dropped without more.
template <typename T> cublasStatus_t make(const char *name, T **handle) {
  Call call(name);
  if (call.fails())
    return call.failed();
  *handle = new T;
  return call.done();
}
template <typename T> cublasStatus_t drop(const char *name, T *handle) {
  Call call(name);
  if (call.fails())
    return call.failed();
  delete handle;
  return call.done();
}

template <typename T> cublasStatus_t set(T &to, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  return make("cublasLtCreate", handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return drop("cublasLtDestroy", handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description, int compute,
                                        int scaleType) {
  cublasStatus_t result = make("cublasLtMatmulDescCreate", description);
  if (!result) {
    (*description)->compute = compute;
    (*description)->scaleType = scaleType;
  }
  return result;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return drop("cublasLtMatmulDescDestroy", description);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              int attribute, const void *value,
                                              size_t bytes) {
  Call call("cublasLtMatmulDescSetAttribute");
  if (call.fails())
    return call.failed();
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return call.done(set(description->transposeA, value, bytes));
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return call.done(set(description->transposeB, value, bytes));
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return call.done(set(description->epilogue, value, bytes));
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return call.done(set(description->bias, value, bytes));
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return call.done(set(description->before, value, bytes));
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return call.done(set(description->beforeLeading, value, bytes));
  default:
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, int type,
                                          uint64_t rows, uint64_t columns,
                                          int64_t leading) {
  cublasStatus_t result = make("cublasLtMatrixLayoutCreate", layout);
  if (!result)
    **layout = {type, rows, columns, leading, 1, 0};
  return result;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return drop("cublasLtMatrixLayoutDestroy", layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                int attribute, const void *value,
                                                size_t bytes) {
  Call call("cublasLtMatrixLayoutSetAttribute");
  if (call.fails())
    return call.failed();
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return call.done(set(layout->batches, value, bytes));
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return call.done(set(layout->stride, value, bytes));
  default:
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  return make("cublasLtMatmulPreferenceCreate", preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return drop("cublasLtMatmulPreferenceDestroy", preference);
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     int attribute, const void *value, size_t bytes) {
  Call call("cublasLtMatmulPreferenceSetAttribute");
  if (call.fails())
    return call.failed();
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  return call.done(set(preference->workspaceBytes, value, bytes));
}

/// A version of its own: 0.1.0.
cublasStatus_t cublasLtGetProperty(int property, int *value) {
  Call call("cublasLtGetProperty");
  if (call.fails())
    return call.failed();
  if (property < 0 || property > 2)
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  *value = property == 1;
  return call.done();
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *algorithm,
                        cublasLtMatmulHeuristicResult_t *result) {
  Call call("cublasLtMatmulAlgoCheck");
  if (call.fails())
    return call.failed();
  if (cublasStatus_t status = check({*description, *a, *b, *c, *d}))
    return call.done(status);
  if (algorithm->data[0] != kMark)
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  *result = {};
  result->algo = *algorithm;
  result->workspaceSize = algorithm->data[2];
  result->wavesCount = 1;
  return call.done();
}

/// The first one wants a workspace where it may have it, the second one none.
cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                               cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                               cublasLtMatmulPreference_t preference, int requested,
                               cublasLtMatmulHeuristicResult_t *results, int *count) {
  Call call("cublasLtMatmulAlgoGetHeuristic");
  if (call.fails())
    return call.failed();
  Product product;
  product.how = *description;
  product.aLayout = *a;
  product.bLayout = *b;
  product.cLayout = *c;
  product.dLayout = *d;
  *count = 0;
  if (requested < 1)
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  if (cublasStatus_t status = check(product))
    return call.done(status);
  uint64_t limit = preference ? preference->workspaceBytes : 0;
  uint64_t wanted = std::min<uint64_t>(uint64_t(32) << 20,
                                       product.m() * product.n() * d->batches * 4);
  for (uint64_t workspace : {wanted, uint64_t(0)}) {
    if (*count == requested || workspace > limit)
      continue;
    cublasLtMatmulHeuristicResult_t &result = results[(*count)++];
    result = {};
    result.algo.data[0] = kMark;
    result.algo.data[1] = workspace ? 2 : 1;
    result.algo.data[2] = workspace;
    result.workspaceSize = workspace;
    result.wavesCount = 1;
  }
  return call.done();
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t aLayout, const void *b,
                              cublasLtMatrixLayout_t bLayout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t cLayout, void *d,
                              cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspaceBytes, CUstream handle) {
  Call call("cublasLtMatmul");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(CUBLAS_STATUS_INVALID_VALUE);
  Product product{*description, *aLayout, *bLayout, *cLayout, *dLayout, a, b, c, d};
  bool isWide = description->scaleType == CUDA_R_64F;
  auto scalar = [&](const void *from) {
    return isWide ? *static_cast<const double *>(from)
                  : double(*static_cast<const float *>(from));
  };
  product.alpha = scalar(alpha);
  product.beta = scalar(beta);
  call.add("stream", stream->number)
      .add("m", product.m())
      .add("n", product.n())
      .add("k", product.k())
      .add("batch", dLayout->batches)
      .add("type", aLayout->type)
      .add("outputType", dLayout->type)
      .add("compute", description->compute)
      .add("epilogue", description->epilogue);
  if (cublasStatus_t status = check(product))
    return call.done(status);
  uint64_t needed = 0;
  if (algorithm) {
    if (algorithm->data[0] != kMark)
      return call.done(CUBLAS_STATUS_INVALID_VALUE);
    needed = algorithm->data[2];
    if (needed > workspaceBytes || (needed && !workspace))
      return call.done(CUBLAS_STATUS_INVALID_VALUE);
  }
  auto bytesAt = [](const void *from, uint64_t bytes) {
    return Bytes{reinterpret_cast<uint64_t>(from), bytes};
  };
  std::vector<Bytes> reads{bytesAt(a, spanOf(*aLayout)), bytesAt(b, spanOf(*bLayout))};
  if (product.beta != 0)
    reads.push_back(bytesAt(c, spanOf(*cLayout)));
  if (product.hasBias())
    reads.push_back(bytesAt(description->bias, product.m() * bytesOf(dLayout->type)));
  std::vector<Bytes> writes{bytesAt(d, spanOf(*dLayout))};
  if (product.keepsBefore()) {
    cublasLtMatrixLayoutOpaque layout = *dLayout;
    layout.leading = description->beforeLeading;
    writes.push_back(bytesAt(description->before, spanOf(layout)));
  }
  LibraryWork work;
  work.reads = reads;
  work.writes = writes;
  work.workspace = reinterpret_cast<uint64_t>(workspace);
  work.workspaceBytes = workspaceBytes;
  work.neededBytes = needed;
  work.statusInCapture = 14; // CUBLAS_STATUS_INTERNAL_ERROR
  work.outside = "cublasLtMatmul: an operand or the workspace is outside of what is "
                 "allocated";
  work.compute = [=] { multiply(product); };
  return launchWork(call, stream, work);
}

} // extern "C"

} // namespace pipemesh::cuda
