//===- SafetensorsIndex.cpp - What the weight files of a model hold -------===//

#include "pipemesh/Import/SafetensorsIndex.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "pipemesh/Import/JSONText.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace pipemesh {

/// The format's own limit of a header.
static constexpr uint64_t kLargestHeader = 100000000;

static InFlightDiagnostic emitFileError(MLIRContext *context, StringRef path) {
  return emitError(FileLineColLoc::get(context, path, 1, 1));
}

/// Bits of an element, or 0 for a type that the format does not have.
static int64_t bitsOf(StringRef type) {
  return llvm::StringSwitch<int64_t>(type)
      .Cases({"F64", "I64", "U64", "C64"}, 64)
      .Cases({"F32", "I32", "U32"}, 32)
      .Cases({"F16", "BF16", "I16", "U16"}, 16)
      .Cases({"BOOL", "I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E8M0"}, 8)
      .Cases({"F6_E2M3", "F6_E3M2"}, 6)
      .Case("F4", 4)
      .Default(0);
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t dim : shape)
    text += (text.size() == 1 ? "" : ", ") + std::to_string(dim);
  return text + "]";
}

/// One entry of a header; `problem` says what is wrong with it.
static LogicalResult parseTensor(const llvm::json::Value &value,
                                 uint64_t dataSize, SafetensorsTensor &tensor,
                                 std::string &problem) {
  const llvm::json::Object *entry = value.getAsObject();
  const llvm::json::Array *shape = entry ? entry->getArray("shape") : nullptr;
  const llvm::json::Array *offsets =
      entry ? entry->getArray("data_offsets") : nullptr;
  auto type = entry ? entry->getString("dtype") : std::nullopt;
  if (!shape || !offsets || !type || offsets->size() != 2) {
    problem = "lacks 'dtype', 'shape' or 'data_offsets'";
    return failure();
  }
  tensor.type = type->str();
  int64_t bits = bitsOf(tensor.type);
  if (!bits) {
    problem = "has the unknown type '" + tensor.type + "'";
    return failure();
  }
  for (const llvm::json::Value &dim : *shape) {
    auto size = dim.getAsInteger();
    if (!size || *size < 0 || llvm::MulOverflow(bits, *size, bits)) {
      problem = "has a shape that is not a list of sizes";
      return failure();
    }
    tensor.shape.push_back(*size);
  }
  auto begin = (*offsets)[0].getAsInteger(), end = (*offsets)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin) {
    problem = "has 'data_offsets' that are not a range";
    return failure();
  }
  tensor.begin = *begin;
  tensor.end = *end;
  if (tensor.end > dataSize) {
    problem = "ends at byte " + std::to_string(tensor.end) +
              " of the data, but the file has only " +
              std::to_string(dataSize) + ": it is truncated";
    return failure();
  }
  if (tensor.end - tensor.begin != static_cast<uint64_t>(bits) / 8) {
    problem = "has " + std::to_string(tensor.end - tensor.begin) +
              " bytes, but " + tensor.type + " " + shapeText(tensor.shape) +
              " needs " + std::to_string(bits / 8);
    return failure();
  }
  return success();
}

LogicalResult SafetensorsIndex::readFile(MLIRContext *context, StringRef path) {
  uint64_t size = 0;
  if (std::error_code error = llvm::sys::fs::file_size(path, size))
    return emitFileError(context, path)
           << "cannot read the weights: " << error.message();
  if (size < 8)
    return emitFileError(context, path)
           << "not a safetensors file, or truncated: it has " << size
           << " bytes";
  auto prefix = llvm::MemoryBuffer::getFileSlice(path, 8, 0);
  if (!prefix)
    return emitFileError(context, path)
           << "cannot read the weights: " << prefix.getError().message();
  uint64_t headerSize =
      llvm::support::endian::read64le((*prefix)->getBufferStart());
  if (headerSize > kLargestHeader)
    return emitFileError(context, path)
           << "not a safetensors file: its header would have " << headerSize
           << " bytes";
  if (8 + headerSize > size)
    return emitFileError(context, path)
           << "truncated: the header has " << headerSize
           << " bytes, but the file only " << size;
  auto header = llvm::MemoryBuffer::getFileSlice(path, headerSize, 8);
  if (!header)
    return emitFileError(context, path)
           << "cannot read the weights: " << header.getError().message();

  std::string message;
  FailureOr<llvm::json::Object> object =
      parseJSONObject((*header)->getBuffer(), message);
  if (failed(object))
    return emitFileError(context, path)
           << "not a safetensors file: its header is not JSON: " << message;

  // Sorted, so that the first error does not depend on hashing.
  std::vector<StringRef> names;
  for (auto &entry : *object)
    if (StringRef(entry.first) != "__metadata__")
      names.push_back(entry.first);
  llvm::sort(names);
  for (StringRef name : names) {
    SafetensorsTensor tensor;
    tensor.dataOffset = 8 + headerSize;
    tensor.file = files.size();
    std::string problem;
    if (failed(parseTensor(*object->get(name), size - tensor.dataOffset, tensor,
                           problem)))
      return emitFileError(context, path)
             << "tensor '" << name << "' " << problem;
    if (!tensors.try_emplace(name, std::move(tensor)).second)
      return emitFileError(context, path)
             << "tensor '" << name << "' is in an earlier file too";
  }
  files.push_back(path.str());
  return success();
}

static std::string joinPath(StringRef directory, StringRef file) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, file);
  return std::string(path);
}

/// The files that an index names, and that each tensor is where it says.
static LogicalResult readShards(MLIRContext *context, StringRef directory,
                                StringRef indexPath, SafetensorsIndex &index) {
  auto buffer = llvm::MemoryBuffer::getFile(indexPath);
  if (!buffer)
    return emitFileError(context, indexPath)
           << "cannot read the index: " << buffer.getError().message();
  std::string message;
  FailureOr<llvm::json::Object> object =
      parseJSONObject((*buffer)->getBuffer(), message);
  if (failed(object))
    return emitFileError(context, indexPath)
           << "not a JSON object: " << message;
  const llvm::json::Object *map = object->getObject("weight_map");
  if (!map || map->empty())
    return emitFileError(context, indexPath)
           << "has no 'weight_map' from tensors to files";

  std::vector<std::pair<StringRef, StringRef>> places;
  for (auto &entry : *map) {
    StringRef file = entry.second.getAsString().value_or("");
    if (file.empty() || file.contains('/') || file.contains('\\') ||
        file == "..")
      return emitFileError(context, indexPath)
             << "the file of tensor '" << entry.first.str()
             << "' is not a file name";
    places.push_back({entry.first, file});
  }
  llvm::sort(places);
  llvm::SetVector<StringRef, std::vector<StringRef>> names;
  for (auto &place : places)
    names.insert(place.second);
  std::vector<StringRef> sorted = names.takeVector();
  llvm::sort(sorted);
  for (StringRef file : sorted)
    if (failed(index.readFile(context, joinPath(directory, file))))
      return failure();
  for (auto &[name, file] : places) {
    auto found = index.tensors.find(name);
    if (found == index.tensors.end() ||
        index.files[found->second.file] != joinPath(directory, file))
      return emitFileError(context, indexPath)
             << "tensor '" << name << "' is not in '" << file
             << "', where the index has it";
  }
  return success();
}

FailureOr<SafetensorsIndex> SafetensorsIndex::read(MLIRContext *context,
                                                   StringRef directory) {
  SafetensorsIndex index;
  std::string single = joinPath(directory, "model.safetensors");
  std::string sharded = joinPath(directory, "model.safetensors.index.json");
  if (llvm::sys::fs::exists(single)) {
    if (failed(index.readFile(context, single)))
      return failure();
    return index;
  }
  if (llvm::sys::fs::exists(sharded)) {
    if (failed(readShards(context, directory, sharded, index)))
      return failure();
    return index;
  }
  InFlightDiagnostic diagnostic = emitFileError(context, directory)
                                  << "has no model.safetensors and no "
                                     "model.safetensors.index.json";
  for (StringRef other : {"pytorch_model.bin", "pytorch_model.bin.index.json",
                          "consolidated.00.pth", "tf_model.h5"})
    if (llvm::sys::fs::exists(joinPath(directory, other))) {
      diagnostic << "; convert '" << other
                 << "' with the model library's save_pretrained";
      return failure();
    }
  diagnostic << "; without weights, pass --no-weights";
  return failure();
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Buffers that older versions of the library saved, and what a tied model
/// does not read.
static bool isTolerated(StringRef name, const ModelConfig &config) {
  if (name.ends_with("rotary_emb.inv_freq") ||
      name.ends_with("rotary_emb.cos_cached") ||
      name.ends_with("rotary_emb.sin_cached"))
    return true;
  if (config.architecture == Architecture::GPT2 &&
      (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")))
    return true;
  return config.tiedEmbeddings && name == "lm_head.weight";
}

LogicalResult checkWeights(MLIRContext *context, StringRef directory,
                           const ModelConfig &config,
                           ArrayRef<ModelParameter> parameters,
                           const SafetensorsIndex &index) {
  StringRef prefix =
      config.architecture == Architecture::GPT2 ? "transformer." : "model.";
  llvm::StringSet<llvm::MallocAllocator> used;
  std::string firstMissing;
  unsigned missing = 0;
  for (const ModelParameter &parameter : parameters) {
    StringRef name = parameter.name;
    auto found = index.tensors.find(name);
    if (found == index.tensors.end() && name.consume_front(prefix))
      found = index.tensors.find(name);
    if (found == index.tensors.end()) {
      if (!missing++)
        firstMissing = parameter.name;
      continue;
    }
    used.insert(name);
    const SafetensorsTensor &tensor = found->second;
    StringRef file = index.files[tensor.file];
    if (ArrayRef<int64_t>(tensor.shape) != ArrayRef<int64_t>(parameter.shape))
      return emitFileError(context, file)
             << "tensor '" << name << "' has shape " << shapeText(tensor.shape)
             << ", but config.json makes it " << shapeText(parameter.shape);
    if (tensor.type != "F32" && tensor.type != "F16" && tensor.type != "BF16")
      return emitFileError(context, file)
             << "tensor '" << name << "' has type " << tensor.type
             << ", expected F32, F16 or BF16";
  }
  if (missing) {
    InFlightDiagnostic diagnostic = emitFileError(
        context,
        index.files.size() == 1 ? StringRef(index.files.front()) : directory);
    diagnostic << "tensor '" << firstMissing << "' is missing";
    if (missing > 1)
      diagnostic << ", and " << missing - 1 << " more";
    if (firstMissing == "lm_head.weight")
      diagnostic << "; if it is the embedding, set 'tie_word_embeddings' to "
                    "true in config.json";
    return failure();
  }

  std::vector<StringRef> leftover;
  for (auto &entry : index.tensors)
    if (!used.contains(entry.first()) && !isTolerated(entry.first(), config))
      leftover.push_back(entry.first());
  if (leftover.empty())
    return success();
  llvm::sort(leftover);
  unsigned file = index.tensors.find(leftover.front())->second.file;
  InFlightDiagnostic diagnostic = emitFileError(context, index.files[file]);
  diagnostic << "tensor '" << leftover.front()
             << "' belongs to no parameter of "
             << stringifyArchitecture(config.architecture)
             << " as config.json describes it";
  if (leftover.size() > 1)
    diagnostic << ", and " << leftover.size() - 1 << " more";
  return failure();
}

} // namespace pipemesh
