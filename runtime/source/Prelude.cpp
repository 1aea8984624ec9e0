//===- Prelude.cpp - What every generated source begins and ends with -----===//

#include "source/Prelude.h"

namespace pipemesh::source {

const char *const includesText = R"source(
#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

namespace {
)source";

const char *const callsText = R"source(
//===----------------------------------------------------------------------===//
// Calls that must succeed
//===----------------------------------------------------------------------===//

[[noreturn]] void fail(int line, const std::string &text) {
  std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, text.c_str());
  std::exit(1);
}

void checkDriver(CUresult result, const char *call, int line) {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  fail(line, std::string(call) + ": " + (text ? text : "unknown error") + " (" +
                 (name ? name : "no name") + ")");
}
#define CU_AT(call, line) checkDriver(call, #call, line)
#define CU(call) checkDriver(call, #call, __LINE__)
)source";

const char *const blasCallsText = R"source(
void checkBlas(cublasStatus_t status, const char *call, int line) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(line, std::string(call) + ": cuBLASLt's status " +
                   std::to_string(static_cast<int>(status)) +
                   (status == CUBLAS_STATUS_NOT_SUPPORTED ? " (not supported)" : ""));
}
#define BLAS_AT(call, line) checkBlas(call, #call, line)
#define BLAS(call) checkBlas(call, #call, __LINE__)
)source";

const char *const ncclCallsText = R"source(
void checkNccl(ncclResult_t result, const char *call, int line) {
  if (result == ncclSuccess)
    return;
  const char *last = ncclGetLastError(nullptr);
  fail(line, std::string(call) + ": " + ncclGetErrorString(result) + " (" +
                 (last ? last : "") + ")");
}
#define NCCL(call) checkNccl(call, #call, __LINE__)
)source";

const char *const typesText = R"source(
//===----------------------------------------------------------------------===//
// Memory: one allocation, the arena
//===----------------------------------------------------------------------===//

enum class Use { Input, State, Output, Value };

/// A value of the program. Micro-batch m has slot m % slots.
struct Buffer {
  const char *name;
  uint64_t offset, bytes, stride; ///< of slot 0; of one slot; between slots
  int slots;
  Use use;
  const char *type; ///< as safetensors call it
  unsigned elementBytes;
};
)source";

const char *const productTypeText = R"source(
/// Matrices are column-major for cuBLASLt: it computes C' = B' A'.
struct Layout {
  uint64_t rows, columns;
  int64_t leading, stride; ///< in elements; the stride is that of the batch
};
struct Attribute {
  cublasLtMatmulDescAttributes_t name;
  int64_t value;
  size_t bytes; ///< of the value, from its low end
};
struct Offsets {
  uint64_t a, b, c; ///< bytes
};
struct ProductSpec {
  cudaDataType_t type, resultType; ///< of A and B, and of C
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::vector<Attribute> attributes;
  Layout first, second, result; ///< B, A and C of the program
  int32_t batch;
  double alpha, beta;
  std::vector<cublasLtMatmulDescAttributes_t> operands; ///< those behind C
  std::vector<Offsets> calls;
};
struct Product {
  ProductSpec spec;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};
};
)source";

const char *const rankText = R"source(
void *pointer(CUdeviceptr place) { return reinterpret_cast<void *>(place); }

/// One rank: a process with a GPU of its own.
struct Rank {
  int number = 0;
  int row = 0; ///< among the ranks of this role
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr arena = 0;
  uint32_t *words = nullptr; ///< the steps that have begun and ended, written by the GPU
  CUdeviceptr wordsAt = 0;
  CUstream streams[numStreams] = {};
  std::vector<CUevent> events;
  std::vector<CUfunction> functions;

  CUdeviceptr at(const Buffer &buffer, int microBatch = 0) const {
    return arena + buffer.offset +
           static_cast<uint64_t>(microBatch % buffer.slots) * buffer.stride;
  }
  /// What a fragment keeps no longer than it runs.
  CUdeviceptr scratch(uint64_t offset) const { return arena + scratchAt + offset; }
  /// What a stream needs while one of its launches runs.
  CUdeviceptr workspace(Stream stream) const { return arena + workspaces[stream]; }
  /// Copies of what is sent.
  CUdeviceptr copies(uint64_t offset) const { return arena + copiesAt + offset; }

  /// What is launched on the stream next waits for the event; -1 is none.
  void wait(Stream stream, int event, int line = __builtin_LINE()) const {
    if (event >= 0)
      CU_AT(cuStreamWaitEvent(streams[stream], events[event], 0), line);
  }
  /// The event is what has been launched on the stream so far; -1 is none.
  void record(int event, Stream stream, int line = __builtin_LINE()) const {
    if (event >= 0)
      CU_AT(cuEventRecord(events[event], streams[stream]), line);
  }

  /// Parameters are the operands, the rank's coordinates on the mesh in a micro-batch,
  /// and scratch.
  void launch(k::Kernel kernel, int microBatch, std::initializer_list<CUdeviceptr> operands,
              int line = __builtin_LINE()) const {
    std::vector<CUdeviceptr> places(operands);
    places.push_back(arena + coordinatesAt + microBatch * numAxes * sizeof(int64_t));
    places.push_back(workspace(compute));
    std::vector<void *> parameters;
    for (CUdeviceptr &place : places)
      parameters.push_back(&place);
    CU_AT(cuLaunchKernel(functions[kernel], k::shapes[kernel].blocks, 1, 1,
                         k::shapes[kernel].threads, 1, 1, 0, streams[compute],
                         parameters.data(), nullptr),
          line);
  }

  void copyRows(CUdeviceptr to, uint64_t toPitch, CUdeviceptr from, uint64_t fromPitch,
                uint64_t width, uint64_t rows, Stream stream,
                int line = __builtin_LINE()) const {
    CUDA_MEMCPY2D copy;
    std::memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.srcPitch = fromPitch;
    copy.dstDevice = to;
    copy.dstPitch = toPitch;
    copy.WidthInBytes = width;
    copy.Height = rows;
    CU_AT(cuMemcpy2DAsync(&copy, streams[stream]), line);
  }
  /// Slices are so many rows apart.
  void copySlices(CUdeviceptr to, uint64_t toPitch, uint64_t toRows, CUdeviceptr from,
                  uint64_t fromPitch, uint64_t fromRows, uint64_t width, uint64_t rows,
                  uint64_t slices, Stream stream, int line = __builtin_LINE()) const {
    CUDA_MEMCPY3D copy;
    std::memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.srcPitch = fromPitch;
    copy.srcHeight = fromRows;
    copy.dstDevice = to;
    copy.dstPitch = toPitch;
    copy.dstHeight = toRows;
    copy.WidthInBytes = width;
    copy.Height = rows;
    copy.Depth = slices;
    CU_AT(cuMemcpy3DAsync(&copy, streams[stream]), line);
  }
)source";

const char *const rankProductText = R"source(
  cublasLtHandle_t blas = nullptr;
  std::vector<Product> products;

  /// C (+)= alpha A B; behind C come the bias, and what keeps GELU's argument.
  void product(int number, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
               const std::vector<CUdeviceptr> &behind = {}, int line = __builtin_LINE()) const {
    const Product &made = products[number];
    const ProductSpec &spec = made.spec;
    const float alpha = static_cast<float>(spec.alpha), beta = static_cast<float>(spec.beta);
    const bool isDouble = spec.scale == CUDA_R_64F;
    for (size_t i = 0; i < spec.operands.size() && !spec.calls.empty(); ++i)
      BLAS_AT(cublasLtMatmulDescSetAttribute(made.description, spec.operands[i], &behind[i],
                                             sizeof(behind[i])),
              line);
    for (const Offsets &offsets : spec.calls) {
      void *to = pointer(c + offsets.c);
      BLAS_AT(cublasLtMatmul(blas, made.description,
                             isDouble ? static_cast<const void *>(&spec.alpha) : &alpha,
                             pointer(b + offsets.b), made.first, pointer(a + offsets.a),
                             made.second,
                             isDouble ? static_cast<const void *>(&spec.beta) : &beta, to,
                             made.result, to, made.result, &made.choice.algo,
                             pointer(workspace(compute)), made.choice.workspaceSize,
                             streams[compute]),
              line);
    }
  }
)source";

const char *const setUpText = R"source(
//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

void setUpDevice(Rank &r, int ordinal) {
  CU(cuInit(0));
  CU(cuDeviceGet(&r.device, ordinal));
  CU(cuDevicePrimaryCtxRetain(&r.context, r.device));
  CU(cuCtxSetCurrent(r.context));
  CU(cuMemAlloc(&r.arena, arenaBytes));
  CU(cuMemsetD8Async(r.arena, 0, arenaBytes, nullptr));
  CU(cuStreamSynchronize(nullptr));
  // The rank's index along each mesh axis, of each micro-batch.
  std::vector<int64_t> coordinates;
  for (int m = 0; m < numMicroBatches; ++m)
    for (int axis = 0; axis < numAxes; ++axis)
      coordinates.push_back(ranks[r.row].coordinates[axis] + microBatches[m][axis]);
  if (!coordinates.empty())
    CU(cuMemcpyHtoD(r.arena + coordinatesAt, coordinates.data(),
                    coordinates.size() * sizeof(int64_t)));
  for (int stream = 0; stream < numStreams; ++stream)
    if (isUsed[stream])
      CU(cuStreamCreate(&r.streams[stream], CU_STREAM_NON_BLOCKING));
  r.events.resize(numEvents);
  for (CUevent &event : r.events)
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  void *words = nullptr;
  CU(cuMemHostAlloc(&words, 2 * sizeof(uint32_t),
                    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(words, 0, 2 * sizeof(uint32_t));
  r.words = static_cast<uint32_t *>(words);
  CU(cuMemHostGetDevicePointer(&r.wordsAt, words, 0));
  // The driver compiles the text for the GPU that is there.
  std::string text;
  for (const char *piece : k::ptx)
    text += piece;
  if (!text.empty())
    CU(cuModuleLoadData(&r.module, text.c_str()));
  for (const k::Shape &shape : k::shapes) {
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, r.module, shape.name));
    r.functions.push_back(function);
  }
}
)source";

const char *const setUpProductsText = R"source(
void setUpLayout(cublasLtMatrixLayout_t &made, cudaDataType_t type, const ProductSpec &spec,
                 const Layout &layout) {
  BLAS(cublasLtMatrixLayoutCreate(&made, type, layout.rows, layout.columns, layout.leading));
  if (spec.batch == 1)
    return;
  BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &spec.batch,
                                        sizeof(spec.batch)));
  BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                        &layout.stride, sizeof(layout.stride)));
}

/// Descriptors, and the algorithm that cuBLASLt puts first.
void setUpProducts(Rank &r) {
  BLAS(cublasLtCreate(&r.blas));
  cublasLtMatmulPreference_t preference = nullptr;
  BLAS(cublasLtMatmulPreferenceCreate(&preference));
  const size_t most = productWorkspace;
  BLAS(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)));
  for (const ProductSpec &spec : productSpecs()) {
    Product made;
    made.spec = spec;
    if (!spec.calls.empty()) {
      BLAS(cublasLtMatmulDescCreate(&made.description, spec.compute, spec.scale));
      for (const Attribute &attribute : spec.attributes)
        BLAS(cublasLtMatmulDescSetAttribute(made.description, attribute.name,
                                            &attribute.value, attribute.bytes));
      // The heuristic looks at their alignment, which is that of the arena.
      for (cublasLtMatmulDescAttributes_t operand : spec.operands)
        BLAS(cublasLtMatmulDescSetAttribute(made.description, operand, &r.arena,
                                            sizeof(r.arena)));
      setUpLayout(made.first, spec.type, spec, spec.first);
      setUpLayout(made.second, spec.type, spec, spec.second);
      setUpLayout(made.result, spec.resultType, spec, spec.result);
      int count = 0;
      BLAS(cublasLtMatmulAlgoGetHeuristic(r.blas, made.description, made.first, made.second,
                                          made.result, made.result, preference, 1,
                                          &made.choice, &count));
      if (count == 0)
        fail(__LINE__, "cuBLASLt has no algorithm for product " +
                           std::to_string(r.products.size()));
    }
    r.products.push_back(made);
  }
  BLAS(cublasLtMatmulPreferenceDestroy(preference));
}
)source";

const char *const setUpRanksText = R"source(
/// Rank 0 writes NCCL's id to a file that the others wait for.
ncclUniqueId exchangeId(int rank, const std::string &path) {
  ncclUniqueId id{};
  if (rank == 0) {
    if (numRanks > 1 && std::ifstream(path).good())
      fail(__LINE__, "'" + path + "' is there already; remove it, or name another one");
    NCCL(ncclGetUniqueId(&id));
    if (numRanks == 1)
      return id;
    std::ofstream file(path + ".new", std::ios::binary);
    file.write(id.internal, sizeof(id.internal));
    file.close();
    if (!file || std::rename((path + ".new").c_str(), path.c_str()) != 0)
      fail(__LINE__, "'" + path + "' cannot be written");
    return id;
  }
  for (int waited = 0; waited < 120000; waited += 20) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(id.internal, sizeof(id.internal)))
      return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  fail(__LINE__, "rank 0 has not written '" + path +
                     "' in two minutes; does every rank see it?");
}

/// All ranks meet, and part into the groups of each communicator.
void setUpRanks(Rank &r, const std::string &idPath) {
  const ncclUniqueId id = exchangeId(r.number, idPath);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  NCCL(ncclCommInitRankConfig(&r.world, numRanks, id, r.number, &config));
  r.communicators.resize(numCommunicators);
  for (int c = 0; c < numCommunicators; ++c)
    NCCL(ncclCommSplit(r.world, r.member(c).color, r.member(c).key, &r.communicators[c],
                       nullptr));
}
)source";

const char *const stateText = R"source(
//===----------------------------------------------------------------------===//
// Files of buffers: FOLDER/rank-N.safetensors
//===----------------------------------------------------------------------===//

/// Where the data of a tensor lies in a file; begin == end where it is not there.
struct Stored {
  uint64_t begin = 0, end = 0;
};

class StateFile {
public:
  StateFile(const std::string &folder, int rank)
      : path(folder + "/rank-" + std::to_string(rank) + ".safetensors"),
        file(path, std::ios::binary) {
    uint64_t bytes = 0;
    if (!file.read(reinterpret_cast<char *>(&bytes), sizeof(bytes)) || bytes > 1u << 30)
      fail(__LINE__, "'" + path + "' cannot be read as safetensors");
    header.resize(bytes);
    if (!file.read(&header[0], static_cast<std::streamsize>(bytes)))
      fail(__LINE__, "'" + path + "' ends in its header");
  }

  Stored find(const char *name) const {
    Stored stored;
    size_t at = header.find("\"" + std::string(name) + "\":");
    if (at == std::string::npos)
      return stored;
    const std::string key = "\"data_offsets\":[";
    at = header.find(key, at);
    unsigned long long begin = 0, end = 0;
    if (at == std::string::npos ||
        std::sscanf(header.c_str() + at + key.size(), "%llu,%llu", &begin, &end) != 2)
      fail(__LINE__, "'" + path + "' has no bytes for '" + name + "'");
    stored.begin = 8 + header.size() + begin;
    stored.end = 8 + header.size() + end;
    return stored;
  }

  void read(uint64_t begin, std::vector<char> &into) {
    file.seekg(static_cast<std::streamoff>(begin));
    if (!file.read(into.data(), static_cast<std::streamsize>(into.size())))
      fail(__LINE__, "'" + path + "' is too short");
  }

  const std::string path;

private:
  std::ifstream file;
  std::string header;
};

/// Fills what the file has: what is kept from step to step in front of the first one,
/// and the inputs of each step in turn.
void load(const Rank &r, StateFile &file, int step) {
  for (const Buffer *buffer : b::all) {
    if (buffer->use != Use::Input && (step || buffer->use != Use::State))
      continue;
    const Stored stored = file.find(buffer->name);
    if (stored.begin == stored.end)
      continue;
    const uint64_t slots = static_cast<uint64_t>(buffer->slots);
    const uint64_t whole = slots * buffer->bytes, bytes = stored.end - stored.begin;
    if (whole == 0 || bytes % whole != 0 || (buffer->use == Use::State && bytes != whole))
      fail(__LINE__, "'" + file.path + "' has " + std::to_string(bytes) + " bytes of '" +
                         buffer->name + "', but a step takes " + std::to_string(whole));
    const uint64_t part = static_cast<uint64_t>(step) % (bytes / whole);
    std::vector<char> data(buffer->bytes);
    for (int slot = 0; slot < buffer->slots; ++slot) {
      file.read(stored.begin + part * whole + static_cast<uint64_t>(slot) * buffer->bytes,
                data);
      CU(cuMemcpyHtoD(r.at(*buffer, slot), data.data(), data.size()));
    }
  }
}

/// Writes what is kept from step to step, and what comes out.
void save(const Rank &r, const std::string &folder) {
  const std::string path = folder + "/rank-" + std::to_string(r.number) + ".safetensors";
  std::string header;
  uint64_t end = 0;
  for (const Buffer *buffer : b::all) {
    if (buffer->use != Use::State && buffer->use != Use::Output)
      continue;
    const uint64_t begin = end;
    end += static_cast<uint64_t>(buffer->slots) * buffer->bytes;
    header += std::string(header.empty() ? "{" : ",") + "\"" + buffer->name +
              "\":{\"dtype\":\"" + buffer->type + "\",\"shape\":[" +
              std::to_string((end - begin) / buffer->elementBytes) + "],\"data_offsets\":[" +
              std::to_string(begin) + "," + std::to_string(end) + "]}";
  }
  header += header.empty() ? "{}" : "}";
  const uint64_t bytes = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&bytes), sizeof(bytes));
  file << header;
  for (const Buffer *buffer : b::all) {
    if (buffer->use != Use::State && buffer->use != Use::Output)
      continue;
    std::vector<char> data(buffer->bytes);
    for (int slot = 0; slot < buffer->slots; ++slot) {
      if (!data.empty())
        CU(cuMemcpyDtoH(data.data(), r.at(*buffer, slot), data.size()));
      file.write(data.data(), static_cast<std::streamsize>(data.size()));
    }
  }
  file.close();
  if (!file)
    fail(__LINE__, "'" + path + "' cannot be written");
}
)source";

const char *const mainText = R"source(
//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

struct Options {
  int rank = 0, ranks = 1, device = 0, steps = 1;
  std::string idFile, state, save;
};

/// The number that the launcher puts into the environment.
int numberOf(std::initializer_list<const char *> variables, int otherwise) {
  for (const char *variable : variables)
    if (const char *text = std::getenv(variable))
      return std::atoi(text);
  return otherwise;
}

Options parse(int argc, char **argv) {
  Options options;
  options.rank = numberOf({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0);
  options.ranks = numberOf({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1);
  options.device =
      numberOf({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    struct Number {
      const char *name;
      int *value;
    };
    struct Text {
      const char *name;
      std::string *value;
    };
    bool isKnown = false;
    for (const Number &number : {Number{"--rank", &options.rank},
                                 Number{"--ranks", &options.ranks},
                                 Number{"--device", &options.device},
                                 Number{"--steps", &options.steps}})
      if (name == number.name) {
        char *end = nullptr;
        *number.value = static_cast<int>(std::strtol(value.c_str(), &end, 10));
        if (value.empty() || *end || *number.value < 0)
          fail(__LINE__, name + " is '" + value + "', but a number from 0 is needed");
        isKnown = true;
      }
    for (const Text &text :
         {Text{"--id-file", &options.idFile}, Text{"--state", &options.state},
          Text{"--save", &options.save}})
      if (name == text.name) {
        *text.value = value;
        isKnown = true;
      }
    if (!isKnown)
      fail(__LINE__, "'" + argument +
                         "' is no option; they are --steps=N, --state=FOLDER, "
                         "--save=FOLDER, --id-file=PATH, --rank=N, --ranks=N and "
                         "--device=N");
  }
  if (options.ranks != numRanks)
    fail(__LINE__, "there are " + std::to_string(options.ranks) +
                       " ranks, but the program is for " + std::to_string(numRanks) +
                       "; launch as many processes, or give --ranks");
  if (numRanks > 1 && options.idFile.empty())
    fail(__LINE__, "give --id-file=PATH, a new file on a file system that all ranks see, "
                   "where rank 0 writes NCCL's id");
  return options;
}

} // namespace

int main(int argc, char **argv) {
  const Options options = parse(argc, argv);
  Rank r;
  r.number = options.rank;
  const int rows = static_cast<int>(sizeof(ranks) / sizeof(ranks[0]));
  while (r.row < rows && ranks[r.row].number != options.rank)
    ++r.row;
  if (r.row == rows)
    fail(__LINE__, "rank " + std::to_string(options.rank) +
                       " is none of this role's, which are " + ranksText);
  // For debuggers and profilers.
  pthread_setname_np(pthread_self(), ("rank " + std::to_string(r.number)).c_str());
  setUp(r, options.device, options.idFile);
  StateFile *state =
      options.state.empty() ? nullptr : new StateFile(options.state, r.number);
  for (int number = 0; number < options.steps; ++number) {
    if (state)
      load(r, *state, number);
    const uint32_t mark = static_cast<uint32_t>(number) + 1;
    CU(cuStreamWriteValue32(r.streams[compute], r.wordsAt, mark, 0));
    step(r);
    CU(cuStreamWriteValue32(r.streams[compute], r.wordsAt + sizeof(uint32_t), mark, 0));
    CU(cuStreamSynchronize(r.streams[compute]));
    finish(r, number);
  }
  if (!options.save.empty())
    save(r, options.save);
  delete state;
  tearDown(r);
  return 0;
}
)source";

} // namespace pipemesh::source
