// Attention by cuDNN: what the runtime builds of its operations, on the stand-in,
// against loops.
#include "StandinFixture.h"

#include "AttentionDescription.h"
#include "cuda/Attention.h"

#include <cmath>
#include <cstring>
#include <random>

namespace pipemesh::cuda {

namespace {

float fromBrain(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  memcpy(&value, &word, 4);
  return value;
}
uint16_t toBrain(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/// [batch, position, head, element] in bfloat16.
struct Tensor {
  int64_t positions, heads, size;
  std::vector<uint16_t> bits;

  Tensor(int64_t batch, int64_t positions, int64_t heads, int64_t size, unsigned seed)
      : positions(positions), heads(heads), size(size),
        bits(batch * positions * heads * size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (uint16_t &one : bits)
      one = toBrain(normal(random));
  }
  size_t place(int64_t b, int64_t p, int64_t h, int64_t e) const {
    return ((b * positions + p) * heads + h) * size + e;
  }
  double at(int64_t b, int64_t p, int64_t h, int64_t e) const {
    return fromBrain(bits[place(b, p, h, e)]);
  }
};

using Case = AttentionShape;

/// The library, a handle on a stream of its own, and a workspace.
struct Session {
  const Library &api;
  Cudnn cudnn;
  cudnnHandle_t handle = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr workspace = 0;

  explicit Session(const Library &api) : api(api) {
    EXPECT_EQ(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(cudnn.cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnn.cudnnSetStream(handle, stream), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(api.cuMemAlloc_v2(&workspace, 1 << 24), CUDA_SUCCESS);
  }
  ~Session() { cudnn.cudnnDestroy(handle); }
};

Variables variables(const char *mode, Variables more = {}) {
  more["PMRT_STANDIN"] = mode;
  more["PIPEMESH_CUDA_LIBRARIES"] = PIPEMESH_STANDIN_DIR;
  return more;
}

/// Of a result in bfloat16: its own rounding, that of the weights, and the sums'.
constexpr double kNoise = 0.02;

void compare(const Case &how) {
  onRank(variables("compute"), [&](const Library &api) {
    Session session(api);
    Tensor q(how.batch, how.queries, how.heads, how.size, 1),
        k(how.batch, how.keys, how.keyHeads, how.size, 2),
        v(how.batch, how.keys, how.keyHeads, how.size, 3), o = q, dO(how.batch, how.queries, how.heads, how.size, 4), dQ = q, dK = k, dV = v;
    std::vector<float> stats(how.batch * how.heads * how.queries);
    CUdeviceptr places[9] = {
        onDevice(api, q.bits),  onDevice(api, k.bits),  onDevice(api, v.bits),
        onDevice(api, o.bits),  onDevice(api, stats),   onDevice(api, dO.bits),
        onDevice(api, dQ.bits), onDevice(api, dK.bits), onDevice(api, dV.bits)};
    pmrt_attention forward = describe(how, false, 0.25f, 1 << 24),
                   gradient = describe(how, true, 0.25f, 1 << 24);
    Attention(session.cudnn, session.handle, forward).launch(places, session.workspace);
    ASSERT_EQ(api.cuStreamSynchronize(session.stream), CUDA_SUCCESS);
    o.bits = fromDevice<uint16_t>(api, places[3], o.bits.size());
    stats = fromDevice<float>(api, places[4], stats.size());
    // With the scores in memory, and with sums of the queries' gradient there.
    for (uint64_t bytes : {uint64_t(1) << 24, uint64_t(60000)}) {
      gradient.workspace_bytes = bytes;
      Attention made(session.cudnn, session.handle, gradient);
      EXPECT_EQ(made.isDeterministic(), bytes > 60000);
      EXPECT_LE(made.workspaceBytes(), bytes);
      made.launch(places, session.workspace);
      ASSERT_EQ(api.cuStreamSynchronize(session.stream), CUDA_SUCCESS);
      dQ.bits = fromDevice<uint16_t>(api, places[6], dQ.bits.size());
      dK.bits = fromDevice<uint16_t>(api, places[7], dK.bits.size());
      dV.bits = fromDevice<uint16_t>(api, places[8], dV.bits.size());
      std::vector<double> wantK(dK.bits.size()), wantV(dV.bits.size());
      int64_t group = how.heads / how.keyHeads;
      for (int64_t b = 0; b < how.batch; ++b)
        for (int64_t h = 0; h < how.heads; ++h)
          for (int64_t i = 0; i < how.queries; ++i) {
            int64_t seen = how.isCausal ? i + 1 : how.keys;
            std::vector<double> score(seen), slope(seen);
            double sum = 0, mean = 0;
            for (int64_t j = 0; j < seen; ++j) {
              for (int64_t e = 0; e < how.size; ++e) {
                score[j] += 0.25 * q.at(b, i, h, e) * k.at(b, j, h / group, e);
                slope[j] += dO.at(b, i, h, e) * v.at(b, j, h / group, e);
              }
              sum += std::exp(score[j]);
            }
            EXPECT_NEAR(stats[(b * how.heads + h) * how.queries + i], std::log(sum),
                        1e-5);
            for (int64_t e = 0; e < how.size; ++e) {
              double want = 0;
              for (int64_t j = 0; j < seen; ++j)
                want += std::exp(score[j]) / sum * v.at(b, j, h / group, e);
              ASSERT_NEAR(o.at(b, i, h, e), want, kNoise);
              mean += dO.at(b, i, h, e) * want;
            }
            for (int64_t e = 0; e < how.size; ++e) {
              double want = 0;
              for (int64_t j = 0; j < seen; ++j) {
                double p = std::exp(score[j]) / sum;
                double s = 0.25 * p * (slope[j] - mean);
                want += s * k.at(b, j, h / group, e);
                wantK[k.place(b, j, h / group, e)] += s * q.at(b, i, h, e);
                wantV[v.place(b, j, h / group, e)] += p * dO.at(b, i, h, e);
              }
              ASSERT_NEAR(dQ.at(b, i, h, e), want, 2 * kNoise);
            }
          }
      for (size_t n = 0; n < wantK.size(); ++n) {
        ASSERT_NEAR(fromBrain(dK.bits[n]), wantK[n], 2 * kNoise);
        ASSERT_NEAR(fromBrain(dV.bits[n]), wantV[n], 2 * kNoise);
      }
    }
  });
}

TEST(StandinAttention, ValuesAreThoseOfLoops) {
  compare({});
  compare({.heads = 2, .keyHeads = 2, .queries = 9, .keys = 9, .isCausal = true});
  compare({.keyHeads = 1, .queries = 33, .keys = 33, .size = 8, .isCausal = true});
}

TEST(StandinAttention, AWorkspaceThatIsTooSmallIsNamed) {
  onRank(variables("record"), [](const Library &api) {
    Session session(api);
    pmrt_attention gradient = describe({}, true, 0.25f, 1 << 24);
    gradient.workspace_bytes = 2000;
    try {
      Attention made(session.cudnn, session.handle, gradient);
      ADD_FAILURE() << "has a plan";
    } catch (const runtime::Error &error) {
      EXPECT_NE(std::string(error.what())
                    .find("cuDNN 9.24.0 has no plan for the gradient of attention in "
                          "bf16 of 2 x 4 heads (2 of keys) of size 16, 5 queries and "
                          "40 keys in 2000 bytes of workspace: it needs "),
                std::string::npos)
          << error.what();
    }
  });
}

TEST(StandinAttention, DescriptorsAreChecked) {
  onRank(variables("record"), [](const Library &) {
    Cudnn cudnn;
    auto expect = [&](cudnnStatus_t status, const std::string &text) {
      EXPECT_NE(status, CUDNN_STATUS_SUCCESS) << text;
      EXPECT_NE(cudnn.textOf(status).find(text), std::string::npos)
          << "instead of " << text;
    };
    cudnnBackendDescriptor_t none = nullptr;
    expect(cudnn.cudnnBackendCreateDescriptor(29, &none), "descriptor 29 is not known");
    Descriptor tensor(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t sizes[4] = {1, 2, 3, 4};
    expect(cudnn.cudnnBackendSetAttribute(tensor.get(), CUDNN_ATTR_TENSOR_DIMENSIONS,
                                          CUDNN_TYPE_BOOLEAN, 4, sizes),
           "attribute 902 is not of type 2");
    expect(cudnn.cudnnBackendSetAttribute(tensor.get(), CUDNN_ATTR_TENSOR_DIMENSIONS,
                                          CUDNN_TYPE_INT64, 9, sizes),
           "attribute 902 does not take 9 values");
    expect(cudnn.cudnnBackendSetAttribute(tensor.get(), CUDNN_ATTR_MATMUL_COMP_TYPE,
                                          CUDNN_TYPE_DATA_TYPE, 1, sizes),
           "descriptor 17 has no attribute 1500 to set");
    expect(tensor.tryFinalize(), "descriptor 17 lacks attribute 906");
    Descriptor product(cudnn, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    cudnnBackendDescriptor_t handle = tensor.get();
    expect(cudnn.cudnnBackendSetAttribute(product.get(),
                                          CUDNN_ATTR_OPERATION_MATMUL_ADESC,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle),
           "a descriptor that is not finished");
    Descriptor config(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    expect(config.tryFinalize(), "an engine that no heuristic has named");

    // A product alone is a graph, but not one of attention.
    std::vector<Descriptor> tensors;
    for (int64_t id : {1, 2, 3}) {
      Descriptor &made = tensors.emplace_back(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
      made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
      made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::vector<int64_t>{1, 1, 4, 4});
      made.set(CUDNN_ATTR_TENSOR_STRIDES, std::vector<int64_t>{16, 16, 4, 1});
      made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(16));
      made.finalize("a tensor");
    }
    Descriptor how(cudnn, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    how.finalize("a product's description");
    product.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    product.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors[0]);
    product.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors[1]);
    product.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors[2]);
    product.finalize("a product");
    Descriptor graph(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, product);
    graph.finalize("a graph");
    Descriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    expect(heuristic.tryFinalize(), "the operations are not those of attention");
  });
}

TEST(StandinAttention, AnExecutionIsRecordedAndMayFail) {
  std::string folder = traceFolder();
  auto run = [&](const Variables &more, bool fails) {
    onRank(variables("record", more), [&](const Library &api) {
      Session session(api);
      pmrt_attention forward = describe({}, false, 0.25f, 1 << 24);
      Attention made(session.cudnn, session.handle, forward);
      CUdeviceptr memory = 0;
      ASSERT_EQ(api.cuMemAlloc_v2(&memory, 1 << 20), CUDA_SUCCESS);
      CUdeviceptr places[5];
      for (int i = 0; i < 5; ++i)
        places[i] = memory + 65536 * i;
      try {
        made.launch(places, session.workspace);
        EXPECT_FALSE(fails);
      } catch (const runtime::Error &error) {
        EXPECT_TRUE(fails);
        EXPECT_NE(std::string(error.what()).find("CUDNN_STATUS_EXECUTION_FAILED"),
                  std::string::npos)
            << error.what();
      }
    });
  };
  run({{"PMRT_STANDIN_FAULT", "cudnnBackendExecute:1:error=5000"}}, true);
  run({{"PMRT_STANDIN_TRACE", folder}}, false);
  for (const nlohmann::json &line : readTrace(folder, "rank-0")) {
    if (line.value("call", "") != "cudnnBackendExecute")
      continue;
    // Q, K and V of 2 x 5 x 4, 2 x 40 x 2 and as many rows of 16; O and the logarithms.
    ASSERT_EQ(line["reads"].size(), 3u);
    EXPECT_EQ(line["reads"][0][1], 1280);
    EXPECT_EQ(line["reads"][1][1], 5120);
    EXPECT_EQ(line["reads"][2][1], 5120);
    ASSERT_EQ(line["writes"].size(), 2u);
    EXPECT_EQ(line["writes"][0][1], 1280);
    EXPECT_EQ(line["writes"][1][1], 160);
    EXPECT_EQ(line["workspace"][1], 256);
    return;
  }
  ADD_FAILURE() << "no execution was recorded";
}

} // namespace

} // namespace pipemesh::cuda
