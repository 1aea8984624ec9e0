//===- Safetensors.h - Reading and writing tensor files -------------------===//
//
// The format: an 8-byte little-endian header length, a JSON header that maps
// names to dtype, shape and byte range, then the data.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_SAFETENSORS_H
#define PIPEMESH_RUNTIME_CORE_SAFETENSORS_H

#include "core/Error.h"
#include "core/File.h"

#include <functional>
#include <map>
#include <memory>

namespace pipemesh::runtime {

/// A tensor in a mapped file.
struct StoredTensor {
  std::string dtype; ///< as the format spells it: "F32", "BF16", "I32"
  Shape shape;
  const std::byte *data = nullptr;
  uint64_t bytes = 0;
};

/// Size of an element of a safetensors dtype, or 0 where it is unknown.
uint64_t storedElementSize(const std::string &dtype);

/// How the format spells a dtype of the manifest; empty where it has none for it.
std::string storedType(const std::string &dtype);

/// One file. The constructor checks that every tensor lies within the file and
/// has as many bytes as its shape and dtype ask for.
class SafetensorsFile {
public:
  SafetensorsFile(const std::string &path, const std::string &what);

  const std::map<std::string, StoredTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return notes; }
  const StoredTensor *find(const std::string &name) const;
  const std::string &path() const { return file.path(); }

private:
  MappedFile file;
  std::map<std::string, StoredTensor> entries;
  std::map<std::string, std::string> notes;
};

/// The weights of a model directory: `model.safetensors`, or several files
/// named by `model.safetensors.index.json`.
class Checkpoint {
public:
  explicit Checkpoint(const std::string &directory);

  /// The tensor of a parameter. A checkpoint of the model without its head
  /// spells names without the first component ("transformer.", "model."); such
  /// names are found too. Throws when the tensor is missing or its shape is
  /// not `shape` or its type is not F32, F64, BF16 or F16.
  const StoredTensor &parameter(const std::string &name, const Shape &shape);

private:
  const SafetensorsFile &open(const std::string &file);
  const StoredTensor *find(const std::string &name, std::string &path);

  std::string directory;
  bool sharded = false;
  std::map<std::string, std::string> index; ///< tensor name to file name
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files;
};

/// Converts `count` elements from `first` on to float32.
void convertToF32(const StoredTensor &tensor, int64_t first, int64_t count,
                  float *out);

/// Name, type and shape of a tensor to be written.
struct TensorToWrite {
  std::string name;
  std::string dtype;
  Shape shape;
};

/// Writes a file atomically. `data(i)` returns the bytes of tensor i, which
/// must stay valid until the next call.
void writeSafetensors(const std::string &path,
                      const std::vector<TensorToWrite> &tensors,
                      const std::map<std::string, std::string> &metadata,
                      const std::function<const void *(size_t)> &data);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_SAFETENSORS_H
