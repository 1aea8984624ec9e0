//===- CudnnDescriptors.cpp - what cuDNN's descriptors hold ---------------===//

#include "cuda/standin/CudnnDescriptors.h"

#include "cuda/standin/CudnnAttributes.h"

#include <algorithm>

namespace pipemesh::cuda::standin {

static thread_local std::string lastError;

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  lastError = std::move(why);
  return status;
}

std::string takeReason() { return std::exchange(lastError, {}); }

Handles<CudnnDescriptor> &descriptors() {
  static auto &all = *new Handles<CudnnDescriptor>;
  return all;
}

CudnnDescriptor *descriptorOf(cudnnBackendDescriptor_t handle) {
  auto *descriptor = static_cast<CudnnDescriptor *>(handle);
  return descriptors().has(descriptor) ? descriptor : nullptr;
}

//===----------------------------------------------------------------------===//
// Finishing a descriptor
//===----------------------------------------------------------------------===//

namespace {

cudnnStatus_t finishTensor(CudnnDescriptor &d) {
  auto sizes = d.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto strides = d.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.size() != 4 || strides.size() != 4)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
                  "a tensor does not have four sizes and strides");
  for (int i = 0; i < 4; ++i) {
    if (sizes[i] < 1 || strides[i] < 1)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a size or a stride is below 1");
    d.tensor.sizes[i] = sizes[i];
    d.tensor.strides[i] = strides[i];
  }
  auto alignment = d.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (alignment < 1 || (alignment & (alignment - 1)))
    return refuse(CUDNN_STATUS_BAD_PARAM, "an alignment is no power of two");
  d.tensor.id = d.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  d.tensor.type = d.get<int>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  d.tensor.isVirtual = d.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  d.tensor.isValue = d.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  if (d.tensor.isValue && (d.tensor.isVirtual || d.tensor.count() != 1))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a value is virtual, or several");
  return CUDNN_STATUS_SUCCESS;
}

const GraphTensor &take(CudnnDescriptor &d, int name) {
  const GraphTensor &tensor =
      static_cast<CudnnDescriptor *>(d.get<cudnnBackendDescriptor_t>(name))->tensor;
  d.tensors[tensor.id] = tensor;
  return tensor;
}

bool divides(const GraphTensor &small, const GraphTensor &large) {
  for (int d = 0; d < 4; ++d)
    if (large.sizes[d] % small.sizes[d])
      return false;
  return true;
}

cudnnStatus_t finishMatmul(CudnnDescriptor &d) {
  const GraphTensor &a = take(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                    &b = take(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
                    &c = take(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  bool fits = a.sizes[2] == c.sizes[2] && b.sizes[3] == c.sizes[3] &&
              a.sizes[3] == b.sizes[2];
  for (int i : {0, 1})
    fits &= c.sizes[i] % a.sizes[i] == 0 && c.sizes[i] % b.sizes[i] == 0;
  if (!fits)
    return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a product's sizes differ");
  d.operation = {GraphOperation::Matmul, 0, -1, {a.id, b.id}, c.id};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishPointwise(CudnnDescriptor &d) {
  auto &how = *static_cast<CudnnDescriptor *>(d.get<cudnnBackendDescriptor_t>(
      CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
  int mode = how.get<int>(CUDNN_ATTR_POINTWISE_MODE);
  auto axis = how.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  int operands = 1;
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_SUB:
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_DIV:
  case CUDNN_POINTWISE_CMP_GE:
    operands = 2;
    break;
  case CUDNN_POINTWISE_BINARY_SELECT:
    operands = 3;
    break;
  case CUDNN_POINTWISE_GEN_INDEX:
    if (axis < 0 || axis > 3)
      return refuse(CUDNN_STATUS_BAD_PARAM, "an index has no axis");
    break;
  case CUDNN_POINTWISE_EXP:
  case CUDNN_POINTWISE_LOG:
  case CUDNN_POINTWISE_IDENTITY:
    break;
  default:
    return refuse(CUDNN_STATUS_NOT_SUPPORTED,
                  "element-wise mode " + std::to_string(mode) + " is not known");
  }
  if (d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != (operands > 1) ||
      d.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != (operands > 2))
    return refuse(CUDNN_STATUS_BAD_PARAM,
                  "an element-wise operation has other operands than its mode");
  d.operation = {GraphOperation::Pointwise, mode, axis, {}, 0};
  const GraphTensor &y = take(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  d.operation.output = y.id;
  constexpr int names[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                           CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                           CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  for (int i = 0; i < operands; ++i) {
    const GraphTensor &x = take(d, names[i]);
    for (int k = 0; k < 4; ++k)
      if (x.sizes[k] != y.sizes[k] && x.sizes[k] != 1)
        return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                      "an element-wise operand does not spread over the result");
    d.operation.inputs.push_back(x.id);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishReduction(CudnnDescriptor &d) {
  auto &how = *static_cast<CudnnDescriptor *>(
      d.get<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_REDUCTION_DESC));
  const GraphTensor &x = take(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
                    &y = take(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  if (!divides(y, x))
    return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                  "a reduction's sizes do not divide");
  d.operation = {GraphOperation::Reduction, how.get<int>(CUDNN_ATTR_REDUCTION_OPERATOR),
                 -1,
                 {x.id},
                 y.id};
  if (d.operation.mode != CUDNN_REDUCE_TENSOR_ADD &&
      d.operation.mode != CUDNN_REDUCE_TENSOR_MAX)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a reduction is not known");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishReshape(CudnnDescriptor &d) {
  const GraphTensor &x = take(d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
                    &y = take(d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  if (x.count() != y.count() ||
      x.span() / x.bytesOfElement() != y.span() / y.bytesOfElement())
    return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                  "a reshape is no view of the same elements");
  d.operation = {GraphOperation::Reshape, 0, -1, {x.id}, y.id};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishGraph(CudnnDescriptor &d) {
  auto graph = std::make_shared<OperationGraph>();
  for (auto *handle :
       d.all<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    auto &operation = *static_cast<CudnnDescriptor *>(handle);
    for (const auto &[id, tensor] : operation.tensors) {
      auto [known, isNew] = graph->tensors.emplace(id, tensor);
      if (!isNew && !(known->second == tensor))
        return refuse(CUDNN_STATUS_BAD_PARAM, "two tensors have the id " +
                                                  std::to_string(id));
    }
    if (graph->makerOf(operation.operation.output))
      return refuse(CUDNN_STATUS_BAD_PARAM, "two operations make tensor " +
                                                std::to_string(
                                                    operation.operation.output));
    graph->operations.push_back(operation.operation);
  }
  for (const auto &[id, tensor] : graph->tensors) {
    bool isMade = graph->makerOf(id) != nullptr;
    if (tensor.isVirtual && !isMade)
      return refuse(CUDNN_STATUS_BAD_PARAM, "nothing makes the virtual tensor " +
                                                std::to_string(id));
    if (tensor.isValue && isMade)
      return refuse(CUDNN_STATUS_BAD_PARAM, "an operation makes a value");
  }
  d.graph = graph;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishHeuristic(CudnnDescriptor &d) {
  auto graph = static_cast<CudnnDescriptor *>(d.get<cudnnBackendDescriptor_t>(
                                                  CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH))
                   ->graph;
  AttentionForm form = recognize(*graph);
  if (!form.isKnown)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, form.problem);
  int mode = d.get<int>(CUDNN_ATTR_ENGINEHEUR_MODE);
  // The first one may add in any order where it adds up in memory.
  if (mode == CUDNN_HEUR_MODE_A)
    d.engines.push_back({1, !form.accumulates, form.workspace(), graph});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finishPack(CudnnDescriptor &d) {
  auto ids = d.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  if (ids.size() != d.all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
    return refuse(CUDNN_STATUS_BAD_PARAM, "a pack has other ids than pointers");
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
    return refuse(CUDNN_STATUS_BAD_PARAM, "a pack has an id twice");
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

cudnnStatus_t finish(CudnnDescriptor &d) {
  switch (d.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return finishTensor(d);
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return finishMatmul(d);
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return finishPointwise(d);
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return finishReduction(d);
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return finishReshape(d);
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return finishGraph(d);
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return finishHeuristic(d);
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return finishPack(d);
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    d.engines = static_cast<CudnnDescriptor *>(d.get<cudnnBackendDescriptor_t>(
                                                   CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
                    ->engines;
    return CUDNN_STATUS_SUCCESS;
  default:
    return CUDNN_STATUS_SUCCESS;
  }
}

//===----------------------------------------------------------------------===//
// Setting and getting
//===----------------------------------------------------------------------===//

namespace {

bool isOperation(int type) {
  return type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
}

/// Fills the descriptors that the caller has made.
cudnnStatus_t handOver(const std::vector<Engine> &engines, int type, int64_t requested,
                       int64_t *count, void *elements) {
  auto *handles = static_cast<cudnnBackendDescriptor_t *>(elements);
  *count = static_cast<int64_t>(engines.size());
  if (handles)
    *count = std::min(*count, requested);
  for (int64_t i = 0; handles && i < *count; ++i) {
    CudnnDescriptor *to = descriptorOf(handles[i]);
    if (!to || to->type != type)
      return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                    "a place for a result is no descriptor of its type");
    to->engines = {engines[i]};
    to->isFinished = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

cudnnStatus_t setAttribute(CudnnDescriptor &d, int name, int type, int64_t count,
                           const void *elements) {
  if (d.isFinished)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is finished");
  const AttributeForm *form = formOf(d.type, name);
  if (!form || form->isReadOnly)
    return refuse(CUDNN_STATUS_BAD_PARAM, "descriptor " + std::to_string(d.type) +
                                              " has no attribute " +
                                              std::to_string(name) + " to set");
  if (type != form->type)
    return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                  "attribute " + std::to_string(name) + " is not of type " +
                      std::to_string(type));
  if (count < 1 || count > form->most)
    return refuse(CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(name) +
                                              " does not take " +
                                              std::to_string(count) + " values");
  if (!elements)
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no values are given");
  Attribute attribute;
  attribute.count = count;
  attribute.bytes.resize(count * attributeBytes(type));
  std::memcpy(attribute.bytes.data(), elements, attribute.bytes.size());
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i < count; ++i) {
      CudnnDescriptor *other = descriptorOf(attribute.get<cudnnBackendDescriptor_t>(i));
      if (!other)
        return refuse(CUDNN_STATUS_BAD_PARAM, "a value is no descriptor");
      if (form->refers == -2 ? !isOperation(other->type) : other->type != form->refers)
        return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                      "attribute " + std::to_string(name) +
                          " does not take a descriptor of type " +
                          std::to_string(other->type));
      if (!other->isFinished)
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                      "a value is a descriptor that is not finished");
    }
  d.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t getAttribute(CudnnDescriptor &d, int name, int type, int64_t requested,
                           int64_t *count, void *elements) {
  if (!d.isFinished)
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the descriptor is not finished");
  const AttributeForm *form = formOf(d.type, name);
  if (!form || type != form->type)
    return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                  "attribute " + std::to_string(name) + " is not of type " +
                      std::to_string(type));
  int64_t ignored = 0;
  count = count ? count : &ignored;
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    return handOver(d.engines, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, requested, count,
                    elements);
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    return handOver(d.engines, CUDNN_BACKEND_ENGINE_DESCRIPTOR, requested, count,
                    elements);
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
    std::vector<int> notes{CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
    if (!d.engines.front().isRepeatable)
      notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    *count = static_cast<int64_t>(notes.size());
    if (elements)
      std::copy_n(notes.begin(), std::min<int64_t>(requested, *count),
                  static_cast<int *>(elements));
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
    auto bytes = static_cast<int64_t>(d.engines.front().workspace);
    *count = 1;
    if (elements && requested > 0)
      std::memcpy(elements, &bytes, sizeof(bytes));
    return CUDNN_STATUS_SUCCESS;
  }
  default: {
    auto found = d.attributes.find(name);
    *count = found == d.attributes.end() ? 0 : found->second.count;
    if (elements && *count)
      std::memcpy(elements, found->second.bytes.data(),
                  std::min(*count, requested) * attributeBytes(type));
    return CUDNN_STATUS_SUCCESS;
  }
  }
}

} // namespace pipemesh::cuda::standin
