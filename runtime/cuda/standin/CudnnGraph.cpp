//===- CudnnGraph.cpp - graphs of cuDNN's operations ----------------------===//

#include "cuda/standin/CudnnGraph.h"

#include "cuda/standin/Numbers.h"

#include <algorithm>
#include <limits>
#include <set>

namespace pipemesh::cuda::standin {

uint64_t GraphTensor::span() const {
  int64_t last = 0;
  for (int d = 0; d < 4; ++d)
    last += (sizes[d] - 1) * strides[d];
  return static_cast<uint64_t>(last + 1) * bytesOfElement();
}

const GraphOperation *OperationGraph::makerOf(int64_t id) const {
  for (const GraphOperation &operation : operations)
    if (operation.output == id)
      return &operation;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

namespace {

/// Writes what makes a tensor as an expression in which tensors that are there have
/// numbers in the order in which they are met.
class Writer {
public:
  explicit Writer(const OperationGraph &graph) : graph(graph) {}

  const std::string &text(int64_t id) {
    auto [entry, isNew] = texts.try_emplace(id);
    if (isNew)
      entry->second = make(id);
    return entry->second;
  }
  /// The tensor of a number.
  const GraphTensor &tensor(size_t number) const {
    return graph.tensors.at(met.at(number));
  }
  size_t count() const { return met.size(); }

private:
  std::string make(int64_t id) {
    const GraphTensor &tensor = graph.tensors.at(id);
    if (tensor.isValue)
      return "n";
    const GraphOperation *maker = graph.makerOf(id);
    if (!maker) {
      met.push_back(id);
      return "t" + std::to_string(met.size() - 1);
    }
    std::string text = nameOf(*maker) + "(";
    for (size_t i = 0; i < maker->inputs.size(); ++i)
      text += (i ? "," : "") + this->text(maker->inputs[i]);
    return text + ")";
  }

  std::string nameOf(const GraphOperation &operation) const {
    switch (operation.kind) {
    case GraphOperation::Matmul:
      return "matmul";
    case GraphOperation::Reshape:
      return "turn";
    case GraphOperation::Reduction: {
      const Shape &from = graph.tensors.at(operation.inputs[0]).sizes,
                  &to = graph.tensors.at(operation.output).sizes;
      std::string name = operation.mode == CUDNN_REDUCE_TENSOR_MAX ? "max" : "sum";
      for (int d = 0; d < 4; ++d)
        if (from[d] != to[d])
          name += std::to_string(d);
      return name;
    }
    case GraphOperation::Pointwise:
      switch (operation.mode) {
      case CUDNN_POINTWISE_ADD:
        return "add";
      case CUDNN_POINTWISE_SUB:
        return "sub";
      case CUDNN_POINTWISE_MUL:
        return "mul";
      case CUDNN_POINTWISE_DIV:
        return "div";
      case CUDNN_POINTWISE_EXP:
        return "exp";
      case CUDNN_POINTWISE_LOG:
        return "log";
      case CUDNN_POINTWISE_IDENTITY:
        return "identity";
      case CUDNN_POINTWISE_CMP_GE:
        return "ge";
      case CUDNN_POINTWISE_BINARY_SELECT:
        return "select";
      case CUDNN_POINTWISE_GEN_INDEX:
        return "index" + std::to_string(operation.axis);
      }
    }
    return "?";
  }

  const OperationGraph &graph;
  std::map<int64_t, std::string> texts;
  std::vector<int64_t> met;
};

/// The scores of queries `q` with keys `k`, masked or not.
std::string scores(const std::string &q, const std::string &k, bool isCausal) {
  std::string scaled = "mul(matmul(" + q + "," + k + "),n)";
  if (!isCausal)
    return scaled;
  return "select(" + scaled + ",n,ge(index2(" + scaled + "),index3(" + scaled + ")))";
}

AttentionForm unknown(std::string why) {
  AttentionForm form;
  form.problem = std::move(why);
  return form;
}

/// Fills in the sizes, and refuses what engines do not take.
AttentionForm shaped(AttentionForm form, const OperationGraph &graph,
                     const GraphTensor &query, const GraphTensor &key) {
  form.batch = query.sizes[0];
  form.heads = query.sizes[1];
  form.keyHeads = key.sizes[1];
  form.queries = query.sizes[2];
  form.size = query.sizes[3];
  form.keys = key.sizes[3];
  if (query.type != CUDNN_DATA_BFLOAT16 && query.type != CUDNN_DATA_HALF)
    return unknown("inputs are of type " + std::to_string(query.type));
  if (form.size % 8 || form.size > 128)
    return unknown("heads have " + std::to_string(form.size) + " elements");
  for (const auto &[id, tensor] : graph.tensors) {
    bool isHalf = tensor.type == CUDNN_DATA_BFLOAT16 || tensor.type == CUDNN_DATA_HALF;
    if (isHalf && tensor.type != query.type)
      return unknown("tensors are of two half types");
    if (isHalf && !tensor.isVirtual &&
        *std::min_element(tensor.strides.begin(), tensor.strides.end()) != 1)
      return unknown("a row's elements lie apart");
  }
  form.isKnown = true;
  return form;
}

} // namespace

AttentionForm recognize(const OperationGraph &graph) {
  // What nothing reads, and what is kept in memory on the way.
  std::set<int64_t> read;
  for (const GraphOperation &operation : graph.operations)
    read.insert(operation.inputs.begin(), operation.inputs.end());
  std::vector<int64_t> results, kept;
  for (const GraphOperation &operation : graph.operations) {
    bool isVirtual = graph.tensors.at(operation.output).isVirtual;
    if (!read.count(operation.output)) {
      if (isVirtual)
        return unknown("a virtual tensor is not read");
      results.push_back(operation.output);
    } else if (!isVirtual) {
      kept.push_back(operation.output);
    }
  }
  for (bool isCausal : {false, true}) {
    AttentionForm form;
    form.isCausal = isCausal;
    if (results.size() == 2 && kept.empty()) {
      // t0 the queries, t1 the keys; stats come first in the order of what is met.
      for (size_t o : {0, 1}) {
        int64_t output = results[o], stats = results[1 - o];
        Writer one(graph);
        std::string s = scores("t0", "t1", isCausal), most = "max3(" + s + ")",
                    power = "exp(sub(" + s + "," + most + "))";
        if (one.text(stats) == "add(" + most + ",log(sum3(" + power + ")))" &&
            one.text(output) == "matmul(div(" + power + ",sum3(" + power + ")),t2)") {
          if (graph.tensors.at(graph.makerOf(output)->inputs[0]).type !=
              one.tensor(0).type)
            return unknown("the weights are not of the inputs' type");
          return shaped(form, graph, one.tensor(0), one.tensor(1));
        }
      }
      continue;
    }
    if (results.size() != 3 || kept.empty() || kept.size() > 2)
      continue;
    form.isGradient = true;
    form.accumulates = kept.size() == 2;
    std::sort(results.begin(), results.end());
    do {
      // t0 queries, t1 keys, t2 logarithms, t3 dO; t4 values, t5 O.
      Writer one(graph);
      std::string s = scores("t0", "t1", isCausal), p = "exp(sub(" + s + ",t2))";
      std::string mean = "mul(sum3(mul(t3,t5)),n)";
      std::string slope =
          "mul(mul(sub(mul(matmul(t3,t4),n)," + mean + ")," + p + "),n)";
      std::string valueGrad = "matmul(turn(" + p + "),t3)",
                  keyGrad = "matmul(turn(" + slope + "),t0)",
                  queryGrad = "matmul(" + slope + ",turn(t1))";
      if (form.accumulates)
        queryGrad = "identity(" + queryGrad + ")";
      auto is = [&](size_t result, const std::string &text) {
        const std::string &own = one.text(results[result]);
        return own == text || own == "sum1(" + text + ")";
      };
      if (is(0, valueGrad) && is(1, keyGrad) && one.text(results[2]) == queryGrad &&
          one.count() == 6)
        return shaped(form, graph, one.tensor(0), one.tensor(1));
    } while (std::next_permutation(results.begin(), results.end()));
  }
  return unknown("the operations are not those of attention");
}

uint64_t AttentionForm::workspace() const {
  constexpr uint64_t least = 256;
  if (!isGradient)
    return least;
  auto up = [](int64_t size, int64_t tile) { return (size + tile - 1) / tile * tile; };
  auto rows = static_cast<uint64_t>(batch * heads);
  uint64_t spread =
      heads == keyHeads ? 0 : 4 * rows * static_cast<uint64_t>(keys * size);
  uint64_t own = accumulates
                     ? 0
                     : 2 * rows * static_cast<uint64_t>(up(queries, 64) * up(keys, 128));
  return spread + own + least;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

using Values = std::vector<float>; ///< in the order of the indices

float readAs(int type, const void *base, int64_t index) {
  switch (type) {
  case CUDNN_DATA_HALF:
    return static_cast<float>(static_cast<const Half *>(base)[index]);
  case CUDNN_DATA_BFLOAT16:
    return static_cast<float>(static_cast<const Brain *>(base)[index]);
  default:
    return static_cast<const float *>(base)[index];
  }
}

void writeAs(int type, void *base, int64_t index, float value) {
  if (type == CUDNN_DATA_HALF)
    static_cast<Half *>(base)[index] = static_cast<Half>(value);
  else if (type == CUDNN_DATA_BFLOAT16)
    static_cast<Brain *>(base)[index] = Brain(value);
  else
    static_cast<float *>(base)[index] = value;
}

float roundAs(int type, float value) {
  if (type == CUDNN_DATA_HALF)
    return static_cast<float>(static_cast<Half>(value));
  if (type == CUDNN_DATA_BFLOAT16)
    return static_cast<float>(Brain(value));
  return value;
}

template <typename Body> void forEach(const Shape &sizes, const Body &body) {
  int64_t position = 0;
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      for (int64_t c = 0; c < sizes[2]; ++c)
        for (int64_t d = 0; d < sizes[3]; ++d)
          body(Shape{a, b, c, d}, position++);
}

int64_t offsetOf(const Shape &strides, const Shape &index) {
  return index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2] +
         index[3] * strides[3];
}

/// The position in a smaller tensor of which each element stands for several.
int64_t positionIn(const Shape &sizes, const Shape &index, const Shape &of) {
  int64_t position = 0;
  for (int d = 0; d < 4; ++d)
    position = position * sizes[d] + index[d] * sizes[d] / of[d];
  return position;
}

class Evaluator {
public:
  Evaluator(const OperationGraph &graph, const std::map<int64_t, void *> &places)
      : graph(graph), places(places) {}

  void run() {
    for (const GraphOperation &operation : graph.operations)
      valuesOf(operation.output);
    for (const GraphOperation &operation : graph.operations) {
      const GraphTensor &tensor = graph.tensors.at(operation.output);
      if (tensor.isVirtual)
        continue;
      const Values &values = known.at(tensor.id);
      forEach(tensor.sizes, [&](const Shape &index, int64_t position) {
        writeAs(tensor.type, places.at(tensor.id), offsetOf(tensor.strides, index),
                values[position]);
      });
    }
  }

private:
  const Values &valuesOf(int64_t id) {
    auto found = known.find(id);
    if (found != known.end())
      return found->second;
    const GraphTensor &tensor = graph.tensors.at(id);
    Values values(tensor.count());
    if (const GraphOperation *maker = graph.makerOf(id)) {
      compute(*maker, tensor, values);
      for (float &value : values)
        value = roundAs(tensor.type, value);
    } else {
      const void *place = places.at(id);
      forEach(tensor.sizes, [&](const Shape &index, int64_t position) {
        values[position] =
            readAs(tensor.type, place, offsetOf(tensor.strides, index));
      });
    }
    return known.emplace(id, std::move(values)).first->second;
  }

  void compute(const GraphOperation &operation, const GraphTensor &to, Values &out) {
    std::vector<const Values *> in;
    std::vector<const GraphTensor *> from;
    for (int64_t id : operation.inputs) {
      from.push_back(&graph.tensors.at(id));
      in.push_back(&valuesOf(id));
    }
    switch (operation.kind) {
    case GraphOperation::Matmul: {
      const Shape &a = from[0]->sizes, &b = from[1]->sizes;
      int64_t m = a[2], k = a[3], n = b[3];
      forEach(to.sizes, [&](const Shape &index, int64_t position) {
        int64_t batchA = index[0] * a[0] / to.sizes[0] * a[1] +
                         index[1] * a[1] / to.sizes[1];
        int64_t batchB = index[0] * b[0] / to.sizes[0] * b[1] +
                         index[1] * b[1] / to.sizes[1];
        float sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += (*in[0])[(batchA * m + index[2]) * k + l] *
                 (*in[1])[(batchB * k + l) * n + index[3]];
        out[position] = sum;
      });
      break;
    }
    case GraphOperation::Reduction: {
      bool isMax = operation.mode == CUDNN_REDUCE_TENSOR_MAX;
      std::fill(out.begin(), out.end(),
                isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
      forEach(from[0]->sizes, [&](const Shape &index, int64_t position) {
        float &result = out[positionIn(to.sizes, index, from[0]->sizes)];
        float value = (*in[0])[position];
        result = isMax ? std::max(result, value) : result + value;
      });
      break;
    }
    case GraphOperation::Reshape: {
      // The same memory, seen with other sizes and strides.
      Values memory(from[0]->span() / from[0]->bytesOfElement());
      forEach(from[0]->sizes, [&](const Shape &index, int64_t position) {
        memory[offsetOf(from[0]->strides, index)] = (*in[0])[position];
      });
      forEach(to.sizes, [&](const Shape &index, int64_t position) {
        out[position] = memory.at(offsetOf(to.strides, index));
      });
      break;
    }
    case GraphOperation::Pointwise:
      forEach(to.sizes, [&](const Shape &index, int64_t position) {
        auto at = [&](size_t i) {
          return (*in[i])[positionIn(from[i]->sizes, index, to.sizes)];
        };
        switch (operation.mode) {
        case CUDNN_POINTWISE_ADD:
          out[position] = at(0) + at(1);
          break;
        case CUDNN_POINTWISE_SUB:
          out[position] = at(0) - at(1);
          break;
        case CUDNN_POINTWISE_MUL:
          out[position] = at(0) * at(1);
          break;
        case CUDNN_POINTWISE_DIV:
          out[position] = at(0) / at(1);
          break;
        case CUDNN_POINTWISE_EXP:
          out[position] = std::exp(at(0));
          break;
        case CUDNN_POINTWISE_LOG:
          out[position] = std::log(at(0));
          break;
        case CUDNN_POINTWISE_CMP_GE:
          out[position] = at(0) >= at(1);
          break;
        case CUDNN_POINTWISE_BINARY_SELECT:
          out[position] = at(2) != 0 ? at(0) : at(1);
          break;
        case CUDNN_POINTWISE_GEN_INDEX:
          out[position] = static_cast<float>(index[operation.axis]);
          break;
        default: // identity
          out[position] = at(0);
        }
      });
      break;
    }
  }

  const OperationGraph &graph;
  const std::map<int64_t, void *> &places;
  std::map<int64_t, Values> known;
};

} // namespace

void evaluate(const OperationGraph &graph, const std::map<int64_t, void *> &places) {
  Evaluator(graph, places).run();
}

} // namespace pipemesh::cuda::standin
