//===- Safetensors.cpp - Reading and writing tensor files -----------------===//

#include "core/Safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace pipemesh::runtime {

uint64_t storedElementSize(const std::string &dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64" || dtype == "C64")
    return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32")
    return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16")
    return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype == "F8_E4M3" ||
      dtype == "F8_E5M2")
    return 1;
  return 0;
}

std::string storedType(const std::string &dtype) {
  static const std::map<std::string, std::string> names = {
      {"f32", "F32"}, {"f64", "F64"},   {"bf16", "BF16"}, {"f16", "F16"},
      {"i32", "I32"}, {"i64", "I64"},   {"i1", "BOOL"},   {"u32", "U32"},
      {"u64", "U64"}, {"i8", "I8"},     {"u8", "U8"},     {"i16", "I16"},
      {"u16", "U16"}, {"c64", "C64"}};
  auto found = names.find(dtype);
  return found == names.end() ? "" : found->second;
}

/// Product of the dimensions, or -1 where one is negative or it overflows.
static int64_t checkedCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t dimension : shape)
    if (dimension < 0 || __builtin_mul_overflow(count, dimension, &count))
      return -1;
  return count;
}

SafetensorsFile::SafetensorsFile(const std::string &path,
                                 const std::string &what)
    : file(path, what) {
  uint64_t headerBytes = 0;
  if (file.size() < 8)
    fail(what, " '", path, "' is truncated: it has ", file.size(),
         " bytes, and a safetensors file starts with 8 bytes of header length;"
         " fetch it again");
  std::memcpy(&headerBytes, file.data(), 8);
  if (headerBytes > file.size() - 8)
    fail(what, " '", path,
         "' is truncated, or not a safetensors file: its "
         "header claims ",
         headerBytes, " bytes and ", file.size() - 8,
         " follow; fetch it again");
  const char *text = reinterpret_cast<const char *>(file.data()) + 8;
  json header = json::parse(text, text + headerBytes, nullptr, false);
  if (!header.is_object())
    fail(what, " '", path,
         "' is not a safetensors file: its header is not a JSON object");
  uint64_t dataBytes = file.size() - 8 - headerBytes;
  for (auto &[name, value] : header.items()) {
    if (name == "__metadata__") {
      if (value.is_object())
        for (auto &[key, note] : value.items())
          if (note.is_string())
            notes[key] = note.get<std::string>();
      continue;
    }
    StoredTensor tensor;
    uint64_t begin = 0, end = 0;
    try {
      tensor.dtype = value.at("dtype").get<std::string>();
      tensor.shape = value.at("shape").get<Shape>();
      begin = value.at("data_offsets").at(0).get<uint64_t>();
      end = value.at("data_offsets").at(1).get<uint64_t>();
    } catch (const json::exception &) {
      fail(what, " '", path, "': the header entry of '", name,
           "' lacks a dtype, a shape or two data_offsets");
    }
    if (end > dataBytes)
      fail(what, " '", path, "' is truncated: '", name, "' ends at data byte ",
           end, ", and the file holds ", dataBytes, "; fetch it again");
    uint64_t size = storedElementSize(tensor.dtype);
    int64_t count = checkedCount(tensor.shape);
    if (!size)
      fail(what, " '", path, "': '", name, "' has the unknown type '",
           tensor.dtype, "'");
    if (begin > end || count < 0 ||
        end - begin != static_cast<uint64_t>(count) * size)
      fail(what, " '", path, "': '", name, "' has ",
           static_cast<int64_t>(end - begin), " bytes, but its shape ",
           shapeText(tensor.shape), " of ", tensor.dtype,
           " does not; the file "
           "is damaged, fetch it again");
    tensor.bytes = end - begin;
    tensor.data = file.data() + 8 + headerBytes + begin;
    entries.emplace(name, std::move(tensor));
  }
}

const StoredTensor *SafetensorsFile::find(const std::string &name) const {
  auto found = entries.find(name);
  return found == entries.end() ? nullptr : &found->second;
}

Checkpoint::Checkpoint(const std::string &path) : directory(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(directory, error))
    fail("--weights: '", directory, "' is not a model directory");
  if (fs::exists(fs::path(directory) / "model.safetensors", error)) {
    open("model.safetensors");
    return;
  }
  fs::path indexPath = fs::path(directory) / "model.safetensors.index.json";
  if (!fs::exists(indexPath, error))
    fail("--weights: '", directory,
         "' has neither model.safetensors nor "
         "model.safetensors.index.json; convert the model's weights to "
         "safetensors");
  sharded = true;
  json content =
      json::parse(readTextFile(indexPath.string(), "index"), nullptr, false);
  if (!content.is_object() || !content.contains("weight_map") ||
      !content["weight_map"].is_object())
    fail("'", indexPath.string(), "' has no object 'weight_map'");
  for (auto &[name, file] : content["weight_map"].items()) {
    if (!file.is_string() ||
        file.get<std::string>().find('/') != std::string::npos)
      fail("'", indexPath.string(), "': the file of '", name,
           "' is not a plain file name");
    index[name] = file.get<std::string>();
  }
}

const SafetensorsFile &Checkpoint::open(const std::string &file) {
  auto &entry = files[file];
  if (!entry)
    entry = std::make_unique<SafetensorsFile>(
        (std::filesystem::path(directory) / file).string(), "weights");
  return *entry;
}

const StoredTensor *Checkpoint::find(const std::string &name,
                                     std::string &path) {
  std::string file = "model.safetensors";
  if (sharded) {
    auto found = index.find(name);
    if (found == index.end())
      return nullptr;
    file = found->second;
  }
  const SafetensorsFile &opened = open(file);
  path = opened.path();
  const StoredTensor *tensor = opened.find(name);
  if (!tensor && sharded)
    fail("weights '", path, "' lack the tensor '", name,
         "' that the index puts there; fetch the file again");
  return tensor;
}

const StoredTensor &Checkpoint::parameter(const std::string &name,
                                          const Shape &shape) {
  std::string path = directory;
  const StoredTensor *tensor = find(name, path);
  size_t dot = name.find('.');
  if (!tensor && dot != std::string::npos)
    tensor = find(name.substr(dot + 1), path);
  if (!tensor)
    fail("weights in '", directory, "' lack the parameter '", name,
         "'; give --weights the model that the bundle was compiled from");
  if (tensor->shape != shape)
    fail("weights '", path, "': '", name, "' has shape ",
         shapeText(tensor->shape), ", but the bundle was compiled for ",
         shapeText(shape),
         "; give --weights the model that the bundle was "
         "compiled from");
  if (tensor->dtype != "F32" && tensor->dtype != "F64" &&
      tensor->dtype != "BF16" && tensor->dtype != "F16")
    fail("weights '", path, "': '", name, "' has type ", tensor->dtype,
         ", but a parameter is F32, F64, BF16 or F16");
  return *tensor;
}

static float halfToFloat(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, 2);
  return static_cast<float>(value);
}

void convertToF32(const StoredTensor &tensor, int64_t first, int64_t count,
                  float *out) {
  const std::byte *data = tensor.data + first * storedElementSize(tensor.dtype);
  // The data of a file has no alignment, so elements are copied out.
  if (tensor.dtype == "F32") {
    std::memcpy(out, data, count * 4);
  } else if (tensor.dtype == "F64") {
    for (int64_t i = 0; i < count; ++i) {
      double value;
      std::memcpy(&value, data + i * 8, 8);
      out[i] = static_cast<float>(value);
    }
  } else {
    bool brain = tensor.dtype == "BF16";
    for (int64_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, data + i * 2, 2);
      out[i] = brain ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)
                     : halfToFloat(bits);
    }
  }
}

void writeSafetensors(const std::string &path,
                      const std::vector<TensorToWrite> &tensors,
                      const std::map<std::string, std::string> &metadata,
                      const std::function<const void *(size_t)> &data) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  std::vector<uint64_t> sizes;
  for (const TensorToWrite &tensor : tensors) {
    uint64_t bytes =
        elementCount(tensor.shape) * storedElementSize(tensor.dtype);
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
    sizes.push_back(bytes);
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  AtomicFile file(path);
  uint64_t headerBytes = text.size();
  file.write(&headerBytes, 8);
  file.write(text);
  for (size_t i = 0; i < tensors.size(); ++i)
    file.write(data(i), sizes[i]);
  file.commit();
}

} // namespace pipemesh::runtime
