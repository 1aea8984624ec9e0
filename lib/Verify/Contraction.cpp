//===- Contraction.cpp - evaluation of dot_general ------------------------===//
//
// Operands are packed to [batch, M, K] and, in panels of 16 columns, to
// [batch, N / 16, K, 16]; a block of 4 x 16 results stays in registers.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;

namespace pipemesh::interp {

constexpr int64_t kPanel = 16;
constexpr int64_t kRows = 4;

/// c[rows, 0:columns] = a[rows, depth] * panel[depth, 16].
[[gnu::always_inline]] static inline void
multiplyPanel(const double *a, const double *panel, double *c, int64_t rows,
              int64_t columns, int64_t depth, int64_t strideC) {
  double sums[kRows][kPanel] = {};
  if (rows == kRows) {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kPanel; ++j)
          sums[i][j] += a[i * depth + k] * panel[k * kPanel + j];
  } else {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < kPanel; ++j)
          sums[i][j] += a[i * depth + k] * panel[k * kPanel + j];
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      c[i * strideC + j] = sums[i][j];
}

[[gnu::always_inline]] static inline void
multiplyBlocks(const double *a, const double *panels, double *c, int64_t m,
               int64_t n, int64_t k) {
  // A group of rows that fits a cache meets every panel before the next group.
  constexpr int64_t kGroup = 64;
  for (int64_t group = 0; group < m; group += kGroup)
    for (int64_t column = 0; column < n; column += kPanel)
      for (int64_t row = group; row < std::min(m, group + kGroup); row += kRows)
        multiplyPanel(a + row * k, panels + column * k, c + row * n + column,
                      std::min(kRows, m - row), std::min(kPanel, n - column), k,
                      n);
}

#if defined(__x86_64__)
[[gnu::target("avx512f,fma")]] static void
multiplyAVX512(const double *a, const double *panels, double *c, int64_t m,
               int64_t n, int64_t k) {
  multiplyBlocks(a, panels, c, m, n, k);
}
[[gnu::target("avx2,fma")]] static void
multiplyAVX2(const double *a, const double *panels, double *c, int64_t m,
             int64_t n, int64_t k) {
  multiplyBlocks(a, panels, c, m, n, k);
}
#endif

static void multiply(const double *a, const double *panels, double *c,
                     int64_t m, int64_t n, int64_t k) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return multiplyAVX512(a, panels, c, m, n, k);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiplyAVX2(a, panels, c, m, n, k);
#endif
  multiplyBlocks(a, panels, c, m, n, k);
}

/// The operand with its dimensions in the order batch, `second`, `third`.
static Tensor arrange(const Tensor &x, ArrayRef<int64_t> batch,
                      ArrayRef<int64_t> second, ArrayRef<int64_t> third) {
  SmallVector<int64_t> strides = getStrides(x.getShape()), shape, from;
  bool inOrder = true;
  int64_t previous = -1;
  for (ArrayRef<int64_t> dims : {batch, second, third})
    for (int64_t dim : dims) {
      inOrder &= dim == previous + 1;
      previous = dim;
      shape.push_back(x.getShape()[dim]);
      from.push_back(strides[dim]);
    }
  if (inOrder)
    return x;
  Tensor result(RankedTensorType::get(shape, x.getElementType()));
  copyBox(shape, x, {0, from}, result, {0, getStrides(shape)});
  return result;
}

static SmallVector<int64_t> getOtherDims(const Tensor &x, ArrayRef<int64_t> a,
                                         ArrayRef<int64_t> b) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < x.getRank(); ++d)
    if (!llvm::is_contained(a, d) && !llvm::is_contained(b, d))
      dims.push_back(d);
  return dims;
}

static int64_t getProduct(const Tensor &x, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= x.getShape()[dim];
  return product;
}

static LogicalResult dotGeneral(LocalCall &call) {
  auto dims =
      cast<stablehlo::DotGeneralOp>(call.op).getDotDimensionNumbers();
  const Tensor &lhs = call.operands[0], &rhs = call.operands[1];
  Tensor result(call.getResultType());
  bool isComplex = result.isComplex();
  if (lhs.isFloat() != result.isFloat() || rhs.isFloat() != result.isFloat() ||
      lhs.isComplex() != isComplex || rhs.isComplex() != isComplex)
    return call.op->emitError("the interpreter multiplies ")
           << lhs.getType() << " and " << rhs.getType()
           << " to a result of the same kind of number only";
  ArrayRef<int64_t> lhsBatch = dims.getLhsBatchingDimensions();
  ArrayRef<int64_t> rhsBatch = dims.getRhsBatchingDimensions();
  ArrayRef<int64_t> lhsSummed = dims.getLhsContractingDimensions();
  ArrayRef<int64_t> rhsSummed = dims.getRhsContractingDimensions();
  SmallVector<int64_t> lhsFree = getOtherDims(lhs, lhsBatch, lhsSummed);
  SmallVector<int64_t> rhsFree = getOtherDims(rhs, rhsBatch, rhsSummed);
  int64_t batch = getProduct(lhs, lhsBatch), m = getProduct(lhs, lhsFree);
  int64_t n = getProduct(rhs, rhsFree), k = getProduct(lhs, lhsSummed);

  Tensor a = arrange(lhs, lhsBatch, lhsFree, lhsSummed);
  Tensor b = arrange(rhs, rhsBatch, rhsSummed, rhsFree);
  if (isComplex) {
    for (int64_t i = 0; i < batch * m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double real = 0, imaginary = 0;
        for (int64_t l = 0; l < k; ++l) {
          const double *x = a.floats() + 2 * (i * k + l);
          const double *y = b.floats() + 2 * ((i / m * k + l) * n + j);
          real += x[0] * y[0] - x[1] * y[1];
          imaginary += x[0] * y[1] + x[1] * y[0];
        }
        result.floats()[2 * (i * n + j)] = real;
        result.floats()[2 * (i * n + j) + 1] = imaginary;
      }
    call.results.push_back(result);
    return success();
  }
  if (!result.isFloat()) {
    IntegerFormat format = IntegerFormat::get(result.getElementType());
    for (int64_t i = 0; i < batch * m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += uint64_t(a.ints()[i * k + l]) *
                 uint64_t(b.ints()[(i / m * k + l) * n + j]);
        // Booleans are joined by or.
        result.ints()[i * n + j] =
            format.width == 1 ? sum != 0 : format.wrap(int64_t(sum));
      }
    call.results.push_back(result);
    return success();
  }

  std::vector<double> panels((n + kPanel - 1) / kPanel * kPanel * k);
  for (int64_t i = 0; i < batch; ++i) {
    const double *source = std::as_const(b).floats() + i * k * n;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        panels[(j / kPanel * k + l) * kPanel + j % kPanel] = source[l * n + j];
    multiply(std::as_const(a).floats() + i * m * k, panels.data(),
             result.floats() + i * m * n, m, n, k);
  }
  call.results.push_back(result);
  return success();
}

void registerContractionOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.dot_general", dotGeneral);
}

} // namespace pipemesh::interp
