//===- AttentionGraph.cpp - Attention as a graph of cuDNN's operations ----===//
//
// Tensors are [batch, head, position, element]. Matrices are the last two dimensions,
// so that a transposed operand is the same memory with two sizes and strides changed.
//
//===----------------------------------------------------------------------===//

#include "cuda/AttentionGraph.h"

#include <limits>

namespace pipemesh::cuda {

/// As the workspace, and what engines read at once.
static constexpr uint64_t keptAlignment = 256;
static constexpr int64_t operandAlignment = 16;

static int cudnnType(uint32_t dtype) {
  switch (dtype) {
  case PMRT_BF16:
    return CUDNN_DATA_BFLOAT16;
  case PMRT_F16:
    return CUDNN_DATA_HALF;
  default:
    fail("attention of type ", dtype, " is not among cuDNN's");
  }
}

AttentionGraph::AttentionGraph(const Cudnn &cudnn, cudnnHandle_t handle,
                               const pmrt_attention &attention, bool accumulates)
    : cudnn(cudnn), attention(attention), type(cudnnType(attention.dtype)) {
  if (attention.gradient)
    gradient(accumulates);
  else
    forward();
  finish(handle);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

AttentionGraph::Tensor AttentionGraph::add(const Shape &shape, const Shape &strides,
                                           int type, bool isVirtual, bool isValue) {
  auto tensor = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<int64_t>(tensors.size() + 1));
  tensor->set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor->set(CUDNN_ATTR_TENSOR_DIMENSIONS,
              std::vector<int64_t>(shape.begin(), shape.end()));
  tensor->set(CUDNN_ATTR_TENSOR_STRIDES,
              std::vector<int64_t>(strides.begin(), strides.end()));
  tensor->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, operandAlignment);
  if (isVirtual)
    tensor->set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (isValue)
    tensor->set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  tensor->finalize("a tensor");
  tensors.push_back(std::move(tensor));
  return {tensors.back().get(), shape};
}

static std::array<int64_t, 4> packed(const std::array<int64_t, 4> &shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

AttentionGraph::Tensor AttentionGraph::addVirtual(const Shape &shape, int type) {
  return add(shape, packed(shape), type, /*isVirtual=*/true);
}

AttentionGraph::Tensor AttentionGraph::operand(const Shape &shape,
                                               const Shape &strides, int type) {
  Tensor made = add(shape, strides, type, /*isVirtual=*/false);
  operandIds.push_back(static_cast<int64_t>(tensors.size()));
  return made;
}

AttentionGraph::Tensor AttentionGraph::kept(const Shape &shape) {
  Tensor made = add(shape, packed(shape), CUDNN_DATA_FLOAT, /*isVirtual=*/false);
  keptTensors.push_back({static_cast<int64_t>(tensors.size()), bytes});
  bytes += static_cast<uint64_t>(shape[0] * shape[1] * shape[2] * shape[3]) * 4;
  bytes = (bytes + keptAlignment - 1) / keptAlignment * keptAlignment;
  return made;
}

AttentionGraph::Tensor AttentionGraph::number(float value) {
  Shape one{1, 1, 1, 1};
  Tensor made = add(one, one, CUDNN_DATA_FLOAT, /*isVirtual=*/false, /*isValue=*/true);
  values.push_back({static_cast<int64_t>(tensors.size()), value});
  return made;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void AttentionGraph::multiply(const Tensor &a, const Tensor &b, const Tensor &c) {
  auto how = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how->set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  how->finalize("a product's description");
  auto made =
      std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  made->set(CUDNN_ATTR_OPERATION_MATMUL_DESC, *how);
  made->set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
  made->set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
  made->set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.descriptor);
  made->finalize("a product");
  descriptions.push_back(std::move(how));
  operations.push_back(std::move(made));
}

void AttentionGraph::reduce(int how, const Tensor &from, const Tensor &to) {
  auto description =
      std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  description->set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                   how);
  description->set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                   CUDNN_DATA_FLOAT);
  description->finalize("a reduction's description");
  auto made = std::make_unique<Descriptor>(
      cudnn, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  made->set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, *description);
  made->set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *from.descriptor);
  made->set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *to.descriptor);
  made->finalize("a reduction");
  descriptions.push_back(std::move(description));
  operations.push_back(std::move(made));
}

void AttentionGraph::reshape(const Tensor &from, const Tensor &to) {
  auto made =
      std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  made->set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *from.descriptor);
  made->set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *to.descriptor);
  made->finalize("a reshape");
  operations.push_back(std::move(made));
}

void AttentionGraph::point(int mode, int compute, const Tensor &x, const Tensor *b,
                           const Tensor *t, const Tensor &y,
                           std::optional<int64_t> axis) {
  auto how = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how->set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  how->set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
  if (axis)
    how->set(CUDNN_ATTR_POINTWISE_AXIS, *axis);
  how->finalize("an element-wise description");
  auto made = std::make_unique<Descriptor>(
      cudnn, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made->set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *how);
  made->set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
  if (b)
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b->descriptor);
  if (t)
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t->descriptor);
  made->set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.descriptor);
  made->finalize("an element-wise operation");
  descriptions.push_back(std::move(how));
  operations.push_back(std::move(made));
}

AttentionGraph::Tensor AttentionGraph::point(int mode, const Tensor &x,
                                             const Tensor &b) {
  Tensor y = addVirtual(x.shape);
  point(mode, CUDNN_DATA_FLOAT, x, &b, nullptr, y);
  return y;
}

AttentionGraph::Tensor AttentionGraph::point(int mode, const Tensor &x) {
  Tensor y = addVirtual(x.shape);
  point(mode, CUDNN_DATA_FLOAT, x, nullptr, nullptr, y);
  return y;
}

void AttentionGraph::finish(cudnnHandle_t handle) {
  graph = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> all;
  for (const std::unique_ptr<Descriptor> &operation : operations)
    all.push_back(operation->get());
  if (handle)
    graph->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(all.size()), all.data());
  graph->finalize("the graph of attention");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// [batch, position, head] of the descriptor's strides to [batch, head, position].
static std::array<int64_t, 4> stridesOf(const int64_t (&strides)[3]) {
  return {strides[0], strides[2], strides[1], 1};
}

static std::array<int64_t, 4> transposed(std::array<int64_t, 4> sizes) {
  std::swap(sizes[2], sizes[3]);
  return sizes;
}

AttentionGraph::Tensor AttentionGraph::scores(const Tensor &query,
                                              const Tensor &transposedKey) {
  const pmrt_attention &a = attention;
  Shape all{a.batch, a.heads, a.queries, a.keys};
  Tensor product = addVirtual(all);
  multiply(query, transposedKey, product);
  Tensor scaled = point(CUDNN_POINTWISE_MUL, product, number(a.scale));
  if (!a.causal)
    return scaled;
  Tensor row = addVirtual(all, CUDNN_DATA_INT32),
         column = addVirtual(all, CUDNN_DATA_INT32),
         visible = addVirtual(all, CUDNN_DATA_BOOLEAN), masked = addVirtual(all);
  point(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, scaled, nullptr, nullptr, row, 2);
  point(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, scaled, nullptr, nullptr, column,
        3);
  point(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, &column, nullptr, visible);
  // Engines before 9.10 subtract the mask's value from itself.
  Tensor hidden = number(cudnn.cudnnGetVersion() < 91000
                             ? std::numeric_limits<float>::lowest()
                             : -std::numeric_limits<float>::infinity());
  point(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, scaled, &hidden, &visible,
        masked);
  return masked;
}

void AttentionGraph::forward() {
  const pmrt_attention &a = attention;
  Shape rows{a.batch, a.heads, a.queries, a.size},
      keys{a.batch, a.key_heads, a.keys, a.size}, one{a.batch, a.heads, a.queries, 1},
      all{a.batch, a.heads, a.queries, a.keys};
  Tensor query = operand(rows, stridesOf(a.query_strides), type);
  Tensor key = operand(transposed(keys), transposed(stridesOf(a.key_strides)), type);
  Tensor value = operand(keys, stridesOf(a.value_strides), type);
  Tensor result = operand(rows, stridesOf(a.result_strides), type);
  Tensor stats = operand(one, packed(one), CUDNN_DATA_FLOAT);

  Tensor score = scores(query, key);
  Tensor most = addVirtual(one), sum = addVirtual(one), weight = addVirtual(all, type);
  reduce(CUDNN_REDUCE_TENSOR_MAX, score, most);
  Tensor power =
      point(CUDNN_POINTWISE_EXP, point(CUDNN_POINTWISE_SUB, score, most));
  reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
  Tensor logarithm = point(CUDNN_POINTWISE_LOG, sum);
  point(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, most, &logarithm, nullptr, stats);
  point(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, power, &sum, nullptr, weight);
  multiply(weight, value, result);
}

/// With P = exp(scores - stats), D = rowsum(dO O): dV = P^T dO, dP = dO V^T,
/// dS = scale P (dP - D), dK = dS^T Q, dQ = dS K (Dao et al., "FlashAttention", 2022,
/// appendix B.2).
void AttentionGraph::gradient(bool accumulates) {
  const pmrt_attention &a = attention;
  Shape rows{a.batch, a.heads, a.queries, a.size},
      keys{a.batch, a.key_heads, a.keys, a.size}, one{a.batch, a.heads, a.queries, 1},
      all{a.batch, a.heads, a.queries, a.keys},
      spread{a.batch, a.heads, a.keys, a.size}; // keys of each query head
  Shape keyStrides = stridesOf(a.key_strides);
  Tensor query = operand(rows, stridesOf(a.query_strides), type);
  Tensor key = operand(transposed(keys), transposed(keyStrides), type);
  Tensor value =
      operand(transposed(keys), transposed(stridesOf(a.value_strides)), type);
  Tensor result = operand(rows, stridesOf(a.result_strides), type);
  Tensor stats = operand(one, packed(one), CUDNN_DATA_FLOAT);
  Tensor resultGrad = operand(rows, stridesOf(a.result_strides), type);
  Tensor queryGrad = operand(rows, stridesOf(a.query_strides), type);
  Tensor keyGrad = operand(keys, keyStrides, type);
  Tensor valueGrad = operand(keys, stridesOf(a.value_strides), type);
  Tensor unit = number(1);

  Tensor means = addVirtual(one), mean = kept(one);
  reduce(CUDNN_REDUCE_TENSOR_ADD, point(CUDNN_POINTWISE_MUL, resultGrad, result),
         means);
  // A factor that dropout would have; the engines' pattern has it in any case.
  point(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, means, &unit, nullptr, mean);

  Tensor score = scores(query, key);
  Tensor power =
      point(CUDNN_POINTWISE_EXP, point(CUDNN_POINTWISE_SUB, score, stats));
  auto turned = [&](const Tensor &from) {
    Shape shape = transposed(from.shape);
    Tensor to = add(shape, transposed(packed(from.shape)), type, /*isVirtual=*/true);
    reshape(from, to);
    return to;
  };
  // Heads that share a key are added up.
  auto gather = [&](const Tensor &left, const Tensor &right, const Tensor &to) {
    if (a.heads == a.key_heads)
      return multiply(left, right, to);
    Tensor each = addVirtual(spread, type);
    multiply(left, right, each);
    reduce(CUDNN_REDUCE_TENSOR_ADD, each, to);
  };
  gather(turned(power), resultGrad, valueGrad);

  Tensor slope = addVirtual(all);
  multiply(resultGrad, value, slope);
  slope = point(CUDNN_POINTWISE_MUL, slope, unit);
  slope = point(CUDNN_POINTWISE_SUB, slope, mean);
  slope = point(CUDNN_POINTWISE_MUL, slope, power);
  slope = point(CUDNN_POINTWISE_MUL, slope, number(a.scale));
  gather(turned(slope), query, keyGrad);

  Tensor keyRows = add(keys, keyStrides, type, /*isVirtual=*/true);
  reshape(key, keyRows);
  if (!accumulates)
    return multiply(slope, keyRows, queryGrad);
  Tensor sums = kept(rows);
  multiply(slope, keyRows, sums);
  point(CUDNN_POINTWISE_IDENTITY, CUDNN_DATA_FLOAT, sums, nullptr, nullptr, queryGrad);
}

} // namespace pipemesh::cuda
