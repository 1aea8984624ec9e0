//===- TensorFile.cpp - safetensors files ---------------------------------===//

#include "pipemesh/Verify/TensorFile.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace mlir;

namespace pipemesh::interp {

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static Type getElementType(StringRef name, MLIRContext *context) {
  Builder builder(context);
  if (name == "BOOL")
    return builder.getI1Type();
  if (name == "F64")
    return builder.getF64Type();
  if (name == "F32")
    return builder.getF32Type();
  if (name == "F16")
    return builder.getF16Type();
  if (name == "BF16")
    return builder.getBF16Type();
  unsigned width;
  if (name.size() < 2 || name.drop_front().getAsInteger(10, width) ||
      (width != 8 && width != 16 && width != 32 && width != 64))
    return {};
  if (name[0] == 'I')
    return builder.getIntegerType(width);
  if (name[0] == 'U')
    return builder.getIntegerType(width, /*isSigned=*/false);
  return {};
}

llvm::Error TensorFile::addEntries(StringRef header, StringRef data) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(header);
  if (!parsed)
    return parsed.takeError();
  llvm::json::Object *object = parsed->getAsObject();
  if (!object)
    return makeError("the header is not a JSON object");
  for (auto &[key, value] : *object) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    llvm::json::Object *fields = value.getAsObject();
    const llvm::json::Array *shape =
        fields ? fields->getArray("shape") : nullptr;
    const llvm::json::Array *range =
        fields ? fields->getArray("data_offsets") : nullptr;
    auto type = fields ? fields->getString("dtype") : std::nullopt;
    if (!shape || !range || range->size() != 2 || !type)
      return makeError("the header's entry of '" + name + "' is malformed");
    Entry entry;
    entry.type = type->str();
    for (const llvm::json::Value &size : *shape)
      entry.shape.push_back(size.getAsInteger().value_or(-1));
    int64_t begin = (*range)[0].getAsInteger().value_or(-1);
    int64_t end = (*range)[1].getAsInteger().value_or(-1);
    if (begin < 0 || end < begin || end > int64_t(data.size()))
      return makeError("'" + name + "' has bytes " + Twine(begin) + " to " +
                       Twine(end) + " of " + Twine(data.size()) +
                       "; the file is cut off");
    entry.bytes = data.slice(begin, end);
    entries[name.str()] = std::move(entry);
  }
  return llvm::Error::success();
}

llvm::Error TensorFile::addFile(StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError(file + ": " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return makeError(file + ": not a safetensors file, or cut off");
  if (auto error = addEntries(bytes.substr(8, length), bytes.substr(8 + length)))
    return makeError(file + ": " + llvm::toString(std::move(error)));
  buffers.push_back(std::move(*buffer));
  return llvm::Error::success();
}

llvm::Expected<TensorFile> TensorFile::open(StringRef path) {
  TensorFile result;
  result.path = path.str();
  if (!llvm::sys::fs::is_directory(path)) {
    if (auto error = result.addFile(path))
      return std::move(error);
    return result;
  }
  SmallString<128> index(path);
  llvm::sys::path::append(index, "model.safetensors.index.json");
  std::vector<std::string> files{"model.safetensors"};
  if (auto buffer = llvm::MemoryBuffer::getFile(index)) {
    auto parsed = llvm::json::parse((*buffer)->getBuffer());
    if (!parsed)
      return parsed.takeError();
    const llvm::json::Object *object = parsed->getAsObject();
    const llvm::json::Object *map =
        object ? object->getObject("weight_map") : nullptr;
    if (!map)
      return makeError(index.str() + ": has no 'weight_map'");
    files.clear();
    for (auto &[name, file] : *map)
      files.push_back(file.getAsString().value_or("").str());
    llvm::sort(files);
    files.erase(std::unique(files.begin(), files.end()), files.end());
  }
  for (const std::string &file : files) {
    SmallString<128> full(path);
    llvm::sys::path::append(full, file);
    if (auto error = result.addFile(full))
      return std::move(error);
  }
  return result;
}

std::vector<std::string> TensorFile::getNames() const {
  std::vector<std::string> names;
  for (auto &[name, entry] : entries)
    names.push_back(name);
  return names;
}

llvm::Expected<Tensor> TensorFile::read(StringRef name,
                                        MLIRContext *context) const {
  auto it = entries.find(name.str());
  if (it == entries.end())
    return makeError(path + ": has no tensor '" + name + "'");
  const Entry &entry = it->second;
  Type type = getElementType(entry.type, context);
  if (!type)
    return makeError(path + ": '" + name + "' has elements of type " +
                     entry.type + ", which are not read here");
  unsigned width = type.getIntOrFloatBitWidth();
  size_t bytes = width == 1 ? 1 : width / 8;
  size_t count = 1;
  for (int64_t size : entry.shape)
    count = size < 0 ? ~size_t(0) : count * size;
  if (count != entry.bytes.size() / bytes || entry.bytes.size() % bytes)
    return makeError(path + ": '" + name + "' has " +
                     Twine(entry.bytes.size()) +
                     " bytes, which is not what its shape says");
  Tensor tensor(RankedTensorType::get(entry.shape, type));
  IntegerFormat format = IntegerFormat::get(type);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, entry.bytes.data() + i * bytes, bytes);
    if (!tensor.isFloat()) {
      tensor.ints()[i] = format.wrap(int64_t(bits));
    } else if (width == 64) {
      std::memcpy(tensor.floats() + i, &bits, 8);
    } else if (type.isF32() || type.isBF16()) {
      uint32_t word = type.isBF16() ? uint32_t(bits) << 16 : uint32_t(bits);
      float value;
      std::memcpy(&value, &word, 4);
      tensor.floats()[i] = value;
    } else {
      llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
      tensor.floats()[i] = value.convertToFloat();
    }
  }
  return tensor;
}

llvm::Error writeTensorFile(StringRef path, const NamedTensors &tensors) {
  llvm::json::Object header;
  int64_t offset = 0;
  for (auto &[name, tensor] : tensors) {
    bool isBool = tensor.getElementType().isInteger(1);
    int64_t bytes = tensor.size() * (isBool ? 1 : 8);
    llvm::json::Array shape;
    for (int64_t size : tensor.getShape())
      shape.push_back(size);
    header[name] = llvm::json::Object{
        {"dtype", tensor.isFloat() ? "F64" : isBool ? "BOOL" : "I64"},
        {"shape", std::move(shape)},
        {"data_offsets", llvm::json::Array{offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code)
    return makeError(path + ": " + code.message());
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  out.write(length, 8);
  out << text;
  for (auto &[name, tensor] : tensors) {
    if (tensor.isFloat())
      out.write(reinterpret_cast<const char *>(tensor.floats()),
                tensor.size() * 8);
    else if (tensor.getElementType().isInteger(1))
      for (int64_t i = 0; i < tensor.size(); ++i)
        out << char(tensor.asInt(i));
    else
      out.write(reinterpret_cast<const char *>(tensor.ints()),
                tensor.size() * 8);
  }
  out.close();
  if (out.has_error())
    return makeError(path + ": " + out.error().message());
  return llvm::Error::success();
}

} // namespace pipemesh::interp
