//===- GemmLayout.cpp -----------------------------------------------------===//

#include "GemmLayout.h"

using namespace mlir;
using namespace pipemesh;

namespace {
struct Dim {
  int64_t size, stride;
};
} // namespace

/// Dense row-major strides, in elements.
static SmallVector<Dim> denseDims(RankedTensorType type) {
  SmallVector<Dim> dims(type.getRank());
  int64_t stride = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    dims[i] = {type.getDimSize(i), stride};
    stride *= type.getDimSize(i);
  }
  return dims;
}

/// The dimensions as one, when each lies directly around the next. Dimensions
/// of size 1 lie anywhere.
static std::optional<Dim> collapse(ArrayRef<Dim> dims) {
  Dim all{1, 1};
  bool first = true;
  for (Dim dim : llvm::reverse(dims)) {
    if (dim.size == 1)
      continue;
    if (first) {
      all = dim;
      first = false;
      continue;
    }
    if (dim.stride != all.stride * all.size)
      return std::nullopt;
    all.size *= dim.size;
  }
  return all;
}

/// Leading dimension and transposition of a matrix whose rows (`outer`) and
/// columns (`inner`) have these strides; nothing when neither is contiguous.
static std::optional<std::pair<int64_t, bool>> matrix(Dim outer, Dim inner) {
  if (inner.size == 1 && outer.size == 1)
    return std::make_pair(int64_t(1), false);
  if (inner.size == 1) // a column: contiguous when transposed
    return outer.stride == 1 ? std::make_pair(outer.size, true)
                             : std::make_pair(outer.stride, false);
  if (inner.stride == 1)
    return std::make_pair(outer.size == 1 ? inner.size : outer.stride, false);
  if (outer.size == 1) // a row with gaps
    return std::make_pair(inner.stride, true);
  if (outer.stride == 1)
    return std::make_pair(inner.stride, true);
  return std::nullopt;
}

namespace {
/// The dimensions of a product, which its result has in the order of a
/// dot_general's.
struct ProductDims {
  ArrayRef<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting;
};
} // namespace

static std::optional<GemmLayout> layOut(Value left, Value right, Value result,
                                        const ProductDims &numbers) {
  auto lhs = denseDims(cast<RankedTensorType>(left.getType()));
  auto rhs = denseDims(cast<RankedTensorType>(right.getType()));
  auto out = denseDims(cast<RankedTensorType>(result.getType()));
  ArrayRef<int64_t> lhsBatch = numbers.lhsBatch, rhsBatch = numbers.rhsBatch;

  // Pairs of contracted dimensions in the order in which the left one lies.
  SmallVector<std::pair<int64_t, int64_t>> contracted;
  for (auto [l, r] : llvm::zip(numbers.lhsContracting, numbers.rhsContracting))
    contracted.push_back({l, r});
  llvm::sort(contracted);

  GemmLayout layout;
  auto addBatch = [&](int64_t size, int64_t a, int64_t b, int64_t c) {
    if (size == 1)
      return;
    layout.batch.push_back(size);
    layout.strideA.push_back(a);
    layout.strideB.push_back(b);
    layout.strideC.push_back(c);
  };
  for (auto [i, dims] : llvm::enumerate(llvm::zip(lhsBatch, rhsBatch))) {
    auto [l, r] = dims;
    addBatch(lhs[l].size, lhs[l].stride, rhs[r].stride, out[i].stride);
  }

  auto isOneOf = [](ArrayRef<int64_t> list, int64_t dim) {
    return llvm::is_contained(list, dim);
  };
  SmallVector<Dim> lhsFree, rhsFree, lhsK, rhsK;
  for (auto [i, dim] : llvm::enumerate(lhs))
    if (!isOneOf(lhsBatch, i) && !isOneOf(numbers.lhsContracting, i))
      lhsFree.push_back(dim);
  for (auto [i, dim] : llvm::enumerate(rhs))
    if (!isOneOf(rhsBatch, i) && !isOneOf(numbers.rhsContracting, i))
      rhsFree.push_back(dim);
  for (auto [l, r] : contracted) {
    lhsK.push_back(lhs[l]);
    rhsK.push_back(rhs[r]);
  }

  // Outer free dimensions that do not collapse become batch dimensions.
  size_t outIndex = lhsBatch.size(), firstM = 0, firstN = 0;
  std::optional<Dim> m, n;
  for (; !(m = collapse(ArrayRef(lhsFree).drop_front(firstM))); ++firstM)
    addBatch(lhsFree[firstM].size, lhsFree[firstM].stride, 0,
             out[outIndex + firstM].stride);
  outIndex += lhsFree.size();
  for (; !(n = collapse(ArrayRef(rhsFree).drop_front(firstN))); ++firstN)
    addBatch(rhsFree[firstN].size, 0, rhsFree[firstN].stride,
             out[outIndex + firstN].stride);
  auto kA = collapse(lhsK), kB = collapse(rhsK);
  if (!kA || !kB || layout.batch.size() > kMaxBatchDims)
    return std::nullopt;
  // When N was split, a row of C is what remains of it; its rows still have
  // the stride of the innermost dimension of M.
  auto a = matrix(*m, *kA), b = matrix(*kB, *n);
  if (!a || !b)
    return std::nullopt;
  layout.m = m->size, layout.n = n->size, layout.k = kA->size;
  std::tie(layout.lda, layout.transA) = *a;
  std::tie(layout.ldb, layout.transB) = *b;
  int64_t rowStride = 1;
  for (Dim dim : ArrayRef(out).drop_front(lhsBatch.size() + lhsFree.size()))
    rowStride *= dim.size;
  layout.ldc = std::max<int64_t>(rowStride, 1);
  layout.lda = std::max<int64_t>(layout.lda, 1);
  layout.ldb = std::max<int64_t>(layout.ldb, 1);
  return layout;
}

std::optional<GemmLayout>
pipemesh::computeGemmLayout(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  return layOut(dot.getLhs(), dot.getRhs(), dot.getResult(),
                {numbers.getLhsBatchingDimensions(),
                 numbers.getRhsBatchingDimensions(),
                 numbers.getLhsContractingDimensions(),
                 numbers.getRhsContractingDimensions()});
}

std::optional<GemmLayout> pipemesh::computeGemmLayout(pmrt::ProductOp product) {
  return layOut(
      product.getLhs(), product.getRhs(), product.getResult(),
      {{}, {}, product.getLhsContracting(), product.getRhsContracting()});
}
