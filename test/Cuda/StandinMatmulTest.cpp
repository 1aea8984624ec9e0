// Products of matrices against loops.
#include "StandinFixture.h"

#include <cmath>
#include <random>

namespace pipemesh::cuda {

namespace {

struct Case {
  int type = CUDA_R_32F, outputType = CUDA_R_32F, compute = CUBLAS_COMPUTE_32F;
  bool transposeA = false, transposeB = false;
  int batches = 1, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float alpha = 1, beta = 0;
  double tolerance = 1e-5;
};

int sizeOf(int type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

double get(int type, const std::vector<char> &from, size_t i) {
  const char *at = &from[i * sizeOf(type)];
  uint16_t half = 0;
  float single = 0;
  double value = 0;
  _Float16 small = 0;
  switch (type) {
  case CUDA_R_64F:
    memcpy(&value, at, 8);
    return value;
  case CUDA_R_16F:
    memcpy(&small, at, 2);
    return static_cast<float>(small);
  case CUDA_R_16BF: {
    memcpy(&half, at, 2);
    uint32_t word = uint32_t(half) << 16;
    memcpy(&single, &word, 4);
    return single;
  }
  default:
    memcpy(&single, at, 4);
    return single;
  }
}

void put(int type, std::vector<char> &to, size_t i, float value) {
  char *at = &to[i * sizeOf(type)];
  double wide = value;
  _Float16 small = static_cast<_Float16>(value);
  uint32_t word = 0;
  memcpy(&word, &value, 4);
  uint16_t half = word >> 16;
  switch (type) {
  case CUDA_R_64F:
    memcpy(at, &wide, 8);
    break;
  case CUDA_R_16F:
    memcpy(at, &small, 2);
    break;
  case CUDA_R_16BF:
    memcpy(at, &half, 2);
    break;
  default:
    memcpy(at, &value, 4);
  }
}

/// D (5 x 4) = op(A) (5 x 3) * op(B) (3 x 4), with leading dimensions that are larger.
void check(const Library &api, const Case &how) {
  const int m = 5, n = 4, k = 3, spare = 2;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  auto matrix = [&](int type, int rows, int columns) {
    size_t count = size_t(rows + spare) * columns * how.batches;
    std::vector<char> made(count * sizeOf(type));
    for (size_t i = 0; i < count; ++i)
      put(type, made, i, values(random));
    return made;
  };
  int aRows = how.transposeA ? k : m, aColumns = how.transposeA ? m : k;
  int bRows = how.transposeB ? n : k, bColumns = how.transposeB ? k : n;
  auto a = matrix(how.type, aRows, aColumns), b = matrix(how.type, bRows, bColumns);
  auto c = matrix(how.outputType, m, n), bias = matrix(how.outputType, m, 1);
  CUdeviceptr onA = onDevice(api, a), onB = onDevice(api, b), onC = onDevice(api, c),
              onBias = onDevice(api, bias);

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  ASSERT_EQ(api.cublasLtCreate(&handle), 0);
  bool isWide = how.compute == CUBLAS_COMPUTE_64F;
  api.cublasLtMatmulDescCreate(&description, how.compute,
                               isWide ? CUDA_R_64F : CUDA_R_32F);
  auto set = [&](int attribute, const auto &value) {
    EXPECT_EQ(api.cublasLtMatmulDescSetAttribute(description, attribute, &value,
                                                 sizeof(value)),
              0);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, how.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, how.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, how.epilogue);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, onBias);
  auto layout = [&](int type, int rows, int columns) {
    cublasLtMatrixLayout_t made = nullptr;
    api.cublasLtMatrixLayoutCreate(&made, type, rows, columns, rows + spare);
    int batches = how.batches;
    int64_t stride = int64_t(rows + spare) * columns;
    api.cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                         &batches, sizeof(batches));
    api.cublasLtMatrixLayoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
    return made;
  };
  auto aLayout = layout(how.type, aRows, aColumns);
  auto bLayout = layout(how.type, bRows, bColumns);
  auto cLayout = layout(how.outputType, m, n);
  cublasLtMatmulPreference_t preference = nullptr;
  api.cublasLtMatmulPreferenceCreate(&preference);
  uint64_t limit = 1 << 20;
  api.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit));
  cublasLtMatmulHeuristicResult_t results[4];
  int count = 0;
  ASSERT_EQ(api.cublasLtMatmulAlgoGetHeuristic(handle, description, aLayout, bLayout,
                                               cLayout, cLayout, preference, 4, results,
                                               &count),
            0);
  ASSERT_EQ(count, 2);
  ASSERT_GT(results[0].workspaceSize, 0u);
  CUdeviceptr workspace = onDevice(api, std::vector<char>(results[0].workspaceSize));
  double wideAlpha = how.alpha, wideBeta = how.beta;
  const void *alpha = isWide ? static_cast<const void *>(&wideAlpha) : &how.alpha;
  const void *beta = isWide ? static_cast<const void *>(&wideBeta) : &how.beta;
  auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
  CUstream stream = nullptr;
  api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  // The result lies on C.
  ASSERT_EQ(api.cublasLtMatmul(handle, description, alpha, pointer(onA), aLayout,
                               pointer(onB), bLayout, beta, pointer(onC), cLayout,
                               pointer(onC), cLayout, &results[0].algo,
                               pointer(workspace), results[0].workspaceSize, stream),
            0);
  ASSERT_EQ(poll(api, stream), CUDA_SUCCESS);
  auto d = fromDevice<char>(api, onC, c.size());

  for (int batch = 0; batch < how.batches; ++batch)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          size_t atA =
              how.transposeA ? l + i * (aRows + spare) : i + l * (aRows + spare);
          size_t atB =
              how.transposeB ? j + l * (bRows + spare) : l + j * (bRows + spare);
          sum += get(how.type, a, batch * (aRows + spare) * aColumns + atA) *
                 get(how.type, b, batch * (bRows + spare) * bColumns + atB);
        }
        size_t at = batch * (m + spare) * n + i + j * (m + spare);
        double wanted = how.alpha * sum + how.beta * get(how.outputType, c, at);
        if (how.epilogue == CUBLASLT_EPILOGUE_BIAS ||
            how.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
          wanted += get(how.outputType, bias, i);
        if (how.epilogue == CUBLASLT_EPILOGUE_GELU ||
            how.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
          wanted = 0.5 * wanted *
                   (1 + std::tanh(std::sqrt(2 / M_PI) *
                                  (wanted + 0.044715 * wanted * wanted * wanted)));
        ASSERT_NEAR(get(how.outputType, d, at), wanted, how.tolerance)
            << "batch " << batch << ", row " << i << ", column " << j;
      }
  // What lies between the columns is left alone.
  ASSERT_EQ(get(how.outputType, d, m), get(how.outputType, c, m));
}

TEST(StandinMatmul, ProductsAreThoseOfLoops) {
  onRank({{"PMRT_STANDIN", "compute"}}, [](const Library &api) {
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (int batches : {1, 3}) {
          Case how;
          how.transposeA = transposeA;
          how.transposeB = transposeB;
          how.batches = batches;
          how.alpha = 0.5;
          how.beta = 2;
          check(api, how);
          how.type = how.outputType = CUDA_R_64F;
          how.compute = CUBLAS_COMPUTE_64F;
          how.tolerance = 1e-12;
          check(api, how);
          how.compute = CUBLAS_COMPUTE_32F;
          how.type = how.outputType = CUDA_R_16BF;
          how.tolerance = 3e-2;
          check(api, how);
          how.outputType = CUDA_R_32F;
          how.tolerance = 1e-5;
          check(api, how);
          how.type = how.outputType = CUDA_R_16F;
          how.tolerance = 3e-3;
          check(api, how);
        }
  });
}

TEST(StandinMatmul, EpiloguesAndTensorFloats) {
  onRank({{"PMRT_STANDIN", "compute"}}, [](const Library &api) {
    for (int epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU,
                         CUBLASLT_EPILOGUE_GELU_BIAS}) {
      Case how;
      how.epilogue = epilogue;
      how.batches = 2;
      how.beta = 1;
      check(api, how);
      how.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
      how.tolerance = 3e-3;
      check(api, how);
    }
  });
}

} // namespace

} // namespace pipemesh::cuda
