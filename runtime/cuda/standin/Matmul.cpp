//===- Matmul.cpp - products of matrices as cuBLASLt has them -------------===//

#include "cuda/standin/Matmul.h"
#include "cuda/standin/Numbers.h"

#include <vector>

namespace pipemesh::cuda::standin {

namespace {

bool isHalf(int type) { return type == CUDA_R_16F || type == CUDA_R_16BF; }

/// Ten bits behind the point, to the nearest.
float toTensorFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isfinite(value))
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
  return std::bit_cast<float>(bits);
}

template <typename T> T readAs(int type, const void *from, int64_t index) {
  switch (type) {
  case CUDA_R_64F:
    return static_cast<T>(static_cast<const double *>(from)[index]);
  case CUDA_R_16F:
    return static_cast<T>(static_cast<float>(static_cast<const Half *>(from)[index]));
  case CUDA_R_16BF:
    return static_cast<T>(static_cast<float>(static_cast<const Brain *>(from)[index]));
  default:
    return static_cast<T>(static_cast<const float *>(from)[index]);
  }
}

template <typename T> void writeAs(int type, void *to, int64_t index, T value) {
  switch (type) {
  case CUDA_R_64F:
    static_cast<double *>(to)[index] = value;
    break;
  case CUDA_R_16F:
    static_cast<Half *>(to)[index] = static_cast<Half>(static_cast<float>(value));
    break;
  case CUDA_R_16BF:
    static_cast<Brain *>(to)[index] = Brain(static_cast<float>(value));
    break;
  default:
    static_cast<float *>(to)[index] = static_cast<float>(value);
  }
}

/// op(X) as rows x columns, column by column.
template <typename T>
std::vector<T> pack(const cublasLtMatrixLayoutOpaque &layout, const void *from,
                    int64_t batch, bool isTransposed, bool isRounded) {
  uint64_t rows = isTransposed ? layout.columns : layout.rows;
  uint64_t columns = isTransposed ? layout.rows : layout.columns;
  std::vector<T> made(rows * columns);
  for (uint64_t j = 0; j < columns; ++j)
    for (uint64_t i = 0; i < rows; ++i) {
      int64_t at = batch * layout.stride +
                   (isTransposed ? j + i * layout.leading : i + j * layout.leading);
      T value = readAs<T>(layout.type, from, at);
      made[i + j * rows] = isRounded ? T(toTensorFloat(float(value))) : value;
    }
  return made;
}

template <typename T> T gelu(T x) {
  const T scale = T(0.7978845608028654);
  return T(0.5) * x * (T(1) + std::tanh(scale * (x + T(0.044715) * x * x * x)));
}

template <typename T> void multiplyIn(const Product &product) {
  const auto &how = product.how;
  uint64_t m = product.m(), n = product.n(), k = product.k();
  bool isRounded = how.compute == CUBLAS_COMPUTE_32F_FAST_TF32 &&
                   product.aLayout.type == CUDA_R_32F;
  std::vector<T> column(m);
  for (int batch = 0; batch < product.dLayout.batches; ++batch) {
    auto a = pack<T>(product.aLayout, product.a, batch, how.transposeA != CUBLAS_OP_N,
                     isRounded);
    auto b = pack<T>(product.bLayout, product.b, batch, how.transposeB != CUBLAS_OP_N,
                     isRounded);
    for (uint64_t j = 0; j < n; ++j) {
      std::fill(column.begin(), column.end(), T(0));
      for (uint64_t l = 0; l < k; ++l) {
        T factor = b[l + j * k];
        const T *from = &a[l * m];
        for (uint64_t i = 0; i < m; ++i)
          column[i] += from[i] * factor;
      }
      for (uint64_t i = 0; i < m; ++i) {
        T value = T(product.alpha) * column[i];
        if (product.beta != 0) {
          const auto &layout = product.cLayout;
          value += T(product.beta) *
                   readAs<T>(layout.type, product.c,
                             batch * layout.stride + i + j * layout.leading);
        }
        if (product.hasBias())
          value += readAs<T>(product.dLayout.type, how.bias, i);
        if (product.keepsBefore())
          writeAs<T>(product.dLayout.type, how.before,
                     i + j * how.beforeLeading, value);
        if (product.hasGelu())
          value = gelu(value);
        const auto &layout = product.dLayout;
        writeAs<T>(layout.type, product.d,
                   batch * layout.stride + i + j * layout.leading, value);
      }
    }
  }
}

} // namespace

int bytesOf(int type) {
  switch (type) {
  case CUDA_R_32F:
    return 4;
  case CUDA_R_64F:
    return 8;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  default:
    return 0;
  }
}

cublasStatus_t check(const Product &product) {
  const auto &how = product.how;
  const auto &a = product.aLayout, &b = product.bLayout, &c = product.cLayout,
             &d = product.dLayout;
  bool isWide = how.compute == CUBLAS_COMPUTE_64F;
  if (!isWide && how.compute != CUBLAS_COMPUTE_32F &&
      how.compute != CUBLAS_COMPUTE_32F_FAST_TF32)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (how.scaleType != (isWide ? CUDA_R_64F : CUDA_R_32F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  bool fits = isWide           ? a.type == CUDA_R_64F && d.type == CUDA_R_64F
              : isHalf(a.type) ? d.type == a.type || d.type == CUDA_R_32F
                               : a.type == CUDA_R_32F && d.type == CUDA_R_32F;
  if (!fits || a.type != b.type || c.type != d.type)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  switch (how.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
    break;
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
    if (isWide)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    break;
  case CUBLASLT_EPILOGUE_GELU_AUX:
  case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    // Of a batch it has a stride, which nothing here needs.
    if (isWide || d.batches != 1)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (how.beforeLeading % 8 ||
        how.beforeLeading < static_cast<int64_t>(d.rows))
      return CUBLAS_STATUS_INVALID_VALUE;
    break;
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  bool ta = how.transposeA != CUBLAS_OP_N, tb = how.transposeB != CUBLAS_OP_N;
  if ((ta ? a.columns : a.rows) != d.rows || (tb ? b.rows : b.columns) != d.columns ||
      (ta ? a.rows : a.columns) != (tb ? b.columns : b.rows) || c.rows != d.rows ||
      c.columns != d.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const auto *layout : {&a, &b, &c, &d}) {
    if (layout->leading < static_cast<int64_t>(layout->rows) || layout->rows == 0 ||
        layout->columns == 0 || layout->batches != d.batches || layout->batches < 1)
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

uint64_t spanOf(const cublasLtMatrixLayoutOpaque &layout) {
  uint64_t last = (layout.batches - 1) * layout.stride +
                  (layout.columns - 1) * layout.leading + layout.rows;
  return last * bytesOf(layout.type);
}

void multiply(const Product &product) {
  if (product.how.compute == CUBLAS_COMPUTE_64F)
    multiplyIn<double>(product);
  else
    multiplyIn<float>(product);
}

} // namespace pipemesh::cuda::standin
