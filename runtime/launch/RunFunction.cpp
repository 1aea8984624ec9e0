//===- RunFunction.cpp - Runs a bundle of a whole function ----------------===//

#include "launch/RunFunction.h"

#include "core/File.h"
#include "launch/Counts.h"
#include "launch/Report.h"
#include "launch/StartChecks.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

namespace pipemesh::runtime {

/// Whether a name is a prefix and a number: "arg12".
static bool isNumbered(const std::string &name, const std::string &prefix) {
  return name.size() > prefix.size() &&
         name.compare(0, prefix.size(), prefix) == 0 &&
         name.find_first_not_of("0123456789", prefix.size()) ==
             std::string::npos;
}

/// "'arg3' (params['w'])".
static std::string nameOf(const TensorInfo &tensor) {
  return cat("'", tensor.name, "'",
             tensor.info.empty() ? "" : cat(" (", tensor.info, ")"));
}

static std::string storedTypeOf(const TensorInfo &tensor) {
  std::string type = storedType(tensor.dtype);
  if (type.empty())
    fail(nameOf(tensor), " is of ", tensor.dtype,
         ", for which a .safetensors file has no type");
  return type;
}

void checkArguments(const Manifest &manifest, const SafetensorsFile &file) {
  std::set<std::string> known;
  for (const TensorInfo &argument : manifest.arguments) {
    known.insert(argument.name);
    std::string type = storedTypeOf(argument);
    const StoredTensor *tensor = file.find(argument.name);
    if (!tensor)
      fail("--inputs: '", file.path(), "' has no ", nameOf(argument), ", a ",
           type, " of shape ", shapeText(argument.shape),
           "; the function takes ", manifest.arguments.size(), " arguments");
    if (tensor->dtype != type || tensor->shape != argument.shape)
      fail("--inputs: ", nameOf(argument), " is a ", tensor->dtype,
           " of shape ", shapeText(tensor->shape), " in '", file.path(),
           "', but the function takes a ", type, " of shape ",
           shapeText(argument.shape));
    if (type == "BOOL")
      for (uint64_t i = 0; i < tensor->bytes; ++i)
        if (auto byte = std::to_integer<int>(tensor->data[i]); byte > 1)
          fail("--inputs: ", nameOf(argument), " has the byte ", byte,
               " at element ", i, ", but a boolean is 0 or 1");
  }
  for (auto &[name, tensor] : file.tensors())
    if (!known.count(name) && !isNumbered(name, "out"))
      fail("--inputs: '", file.path(), "' has '", name,
           "', but the function takes ",
           manifest.arguments.empty()
               ? std::string("no arguments")
               : cat("'", manifest.arguments.front().name, "' to '",
                     manifest.arguments.back().name, "' only"));
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

namespace {
/// The part of a buffer that a rank holds.
struct Part {
  Shape start, extent;
  bool operator<(const Part &other) const {
    return std::tie(start, extent) < std::tie(other.start, other.extent);
  }
};
} // namespace

static const BufferInfo &bufferOf(const Job &job, const TensorInfo &tensor) {
  const RoleInfo &role = job.manifest().roles[job.holdingRole(tensor.buffer)];
  return role.buffers[role.find(tensor.buffer)];
}

static Part partOf(const Job &job, const BufferInfo &buffer, int64_t rank) {
  const Mesh &mesh = job.manifest().mesh;
  Block block = blockOf(mesh, buffer.globalShape, buffer.localShape,
                        buffer.sharding, mesh.coordinates(rank));
  return {block.start, block.extent};
}

/// The elements of a part, without padding.
static std::vector<std::byte> elementsOf(const BufferInfo &buffer,
                                         const Part &part,
                                         const std::byte *local) {
  std::vector<std::byte> elements;
  uint64_t size = elementSize(buffer.dtype);
  Block block{part.start, part.extent};
  forEachRun(buffer.globalShape, buffer.localShape, block,
             [&](int64_t, int64_t from, int64_t count) {
               elements.insert(elements.end(), local + from * size,
                               local + (from + count) * size);
             });
  return elements;
}

static std::string digestOf(const std::vector<std::byte> &bytes) {
  uint64_t hash = 14695981039346656037u;
  for (std::byte byte : bytes)
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 1099511628211u;
  return std::to_string(hash);
}

/// An element as text: a number of the usual types, else its bytes.
static std::string elementText(const std::string &dtype,
                               const std::byte *data) {
  auto as = [&](auto value) {
    std::memcpy(&value, data, sizeof(value));
    return cat(+value);
  };
  if (dtype == "f32")
    return as(0.0f);
  if (dtype == "f64")
    return as(0.0);
  if (dtype == "i32")
    return as(int32_t());
  if (dtype == "i64")
    return as(int64_t());
  if (dtype == "u32")
    return as(uint32_t());
  std::string text = "0x";
  for (uint64_t i = elementSize(dtype); i-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  std::to_integer<unsigned>(data[i]));
    text += digits;
  }
  return text;
}

std::string compareReplicas(Job &job, const TensorInfo &result) {
  const BufferInfo &buffer = bufferOf(job, result);
  std::map<int64_t, std::vector<std::byte>> own;
  std::string text;
  for (int64_t i = 0; i < job.localSize(); ++i) {
    const Rank &rank = job.local(i);
    const std::byte *local =
        rank.view(rank.getProgram().info.find(result.buffer), 0);
    own[rank.number()] =
        elementsOf(buffer, partOf(job, buffer, rank.number()), local);
    text += digestOf(own[rank.number()]) + " ";
  }
  // Every process sees the digests of all ranks, in their order.
  std::string all;
  for (const std::string &part : job.getTransport().exchange(text))
    all += part;
  std::istringstream digests(all);
  std::map<Part, std::pair<int64_t, std::string>> first;
  for (int64_t rank = 0; rank < job.size(); ++rank) {
    std::string digest;
    digests >> digest;
    Part part = partOf(job, buffer, rank);
    auto [known, isNew] = first.try_emplace(part, rank, digest);
    if (isNew || known->second.second == digest)
      continue;
    // The process of rank 0 gets both, and tells the others.
    int64_t other = known->second.first;
    std::vector<std::byte> one, two;
    for (auto [number, bytes] : {std::pair(other, &one), std::pair(rank, &two)}) {
      if (own.count(number))
        *bytes = own[number];
      else
        bytes->resize(elementCount(part.extent) * elementSize(buffer.dtype));
      if (job.localSize() != job.size() && number != 0)
        job.getTransport().moveToFirst(number, bytes->data(), bytes->size());
    }
    std::string message;
    if (job.isFirst()) {
      uint64_t size = elementSize(buffer.dtype), element = 0;
      while (element + 1 < one.size() / size &&
             std::memcmp(one.data() + element * size,
                         two.data() + element * size, size) == 0)
        ++element;
      Shape place = part.start;
      uint64_t rest = element;
      for (size_t d = place.size(); d-- > 0; rest /= part.extent[d])
        place[d] += static_cast<int64_t>(rest) % part.extent[d];
      const Mesh &mesh = job.manifest().mesh;
      message = cat("result ", nameOf(result), " is ",
                    elementText(buffer.dtype, one.data() + element * size),
                    " at ", shapeText(place), " on ", mesh.describe(other),
                    ", but ",
                    elementText(buffer.dtype, two.data() + element * size),
                    " on ", mesh.describe(rank),
                    ", which holds a copy of it");
    }
    return job.getTransport().exchange(message).front();
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Writes the results in the process of rank 0, one whole tensor at a time.
static void writeResults(Job &job, const std::string &path) {
  const std::vector<TensorInfo> &results = job.manifest().results;
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo &result : results)
    tensors.push_back({result.name, storedTypeOf(result), result.shape});
  std::vector<std::byte> whole;
  size_t gathered = 0;
  auto next = [&](size_t i) -> const void * {
    job.collect(
        results[i].buffer, 1,
        [&](const Rank &rank, int64_t) {
          return rank.view(rank.getProgram().info.find(results[i].buffer), 0);
        },
        whole);
    gathered = i + 1;
    return whole.data();
  };
  job.agree([&] {
    try {
      if (job.isFirst())
        writeSafetensors(path, tensors, {}, next);
    } catch (...) {
      // The other processes bring all of their tensors.
      while (gathered < results.size())
        next(gathered);
      throw;
    }
    while (!job.isFirst() && gathered < results.size())
      next(gathered);
  });
}

int runFunction(const Options &options, const std::atomic<int> *interrupts,
                std::shared_ptr<Transport> transport, Supervised &supervised) {
  std::unique_ptr<Bundle> bundle = openTogether(options, transport.get());
  const Manifest &manifest = bundle->manifest();
  std::optional<SafetensorsFile> file;
  auto prepare = [&] {
    if (manifest.task != Task::Function)
      fail("bundle '", options.bundle,
           "' was compiled from a model; run it with --weights and --data");
    if (options.inputs.empty() && !manifest.arguments.empty())
      fail("--inputs is missing: the function takes ",
           manifest.arguments.size(), " arguments");
    for (const TensorInfo &result : manifest.results)
      storedTypeOf(result);
    if (options.inputs.empty())
      return;
    file.emplace(options.inputs, "inputs");
    checkArguments(manifest, *file);
  };
  if (transport)
    agree(*transport, prepare);
  else
    prepare();

  FlightFolder flight(options, transport.get());
  flight.path().copy(supervised.flight, sizeof(supervised.flight) - 1);
  Job job(*bundle, hostOptions(options, *bundle, transport.get(), flight, interrupts),
          transport);
  uint64_t begin = nanoseconds();
  job.stepEveryRank([&](Rank &rank) {
    for (const TensorInfo &argument : manifest.arguments) {
      int64_t index = rank.getProgram().info.find(argument.buffer);
      rank.feed(index, 0, file->find(argument.name)->data);
    }
    rank.runStep(0);
  });
  double milliseconds = static_cast<double>(nanoseconds() - begin) / 1e6;
  job.checkReceived();

  std::string difference;
  for (const TensorInfo &result : manifest.results)
    if (difference.empty())
      difference = compareReplicas(job, result);
  writeResults(job, options.outputs);
  if (!options.trace.empty())
    writeTrace(job, options.trace);
  bool first = job.isFirst();
  if (options.report) {
    nlohmann::ordered_json counts = countsOfAll(job);
    job.agree([&] {
      if (first && !options.reportFile.empty())
        writeTextFile(options.reportFile, counts.dump(1) + "\n");
    });
    if (first && options.reportFile.empty())
      std::fputs(countsTable(counts).c_str(), stdout);
  }
  if (!options.quiet) {
    std::string text = summary(job, {});
    if (first)
      std::printf("ran         in %.2f ms on %ld rank%s; %zu result%s in '%s'\n"
                  "%s",
                  milliseconds, long(job.size()), job.size() == 1 ? "" : "s",
                  manifest.results.size(),
                  manifest.results.size() == 1 ? "" : "s",
                  options.outputs.c_str(), text.c_str());
  }
  if (!difference.empty())
    throw AgreedError(cat(difference, "; the results are in '", options.outputs,
                          "' all the same"));
  return 0;
}

} // namespace pipemesh::runtime
