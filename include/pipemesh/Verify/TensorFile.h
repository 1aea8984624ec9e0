//===- TensorFile.h - safetensors files -------------------------*- C++ -*-===//

#ifndef PIPEMESH_VERIFY_TENSORFILE_H
#define PIPEMESH_VERIFY_TENSORFILE_H

#include "pipemesh/Verify/Tensor.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace pipemesh::interp {

/// Tensors of a safetensors file, or of a model directory
/// (`model.safetensors`, or the files that `model.safetensors.index.json`
/// names).
class TensorFile {
public:
  static llvm::Expected<TensorFile> open(llvm::StringRef path);

  std::vector<std::string> getNames() const;
  bool contains(llvm::StringRef name) const {
    return entries.count(name.str());
  }
  llvm::Expected<Tensor> read(llvm::StringRef name,
                              mlir::MLIRContext *context) const;

private:
  struct Entry {
    std::string type;
    std::vector<int64_t> shape;
    llvm::StringRef bytes;
  };
  llvm::Error addFile(llvm::StringRef path);
  llvm::Error addEntries(llvm::StringRef header, llvm::StringRef data);
  std::string path;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::map<std::string, Entry> entries;
};

/// Writes tensors: real numbers as F64, integers as I64, booleans as BOOL.
llvm::Error writeTensorFile(llvm::StringRef path, const NamedTensors &tensors);

} // namespace pipemesh::interp

#endif // PIPEMESH_VERIFY_TENSORFILE_H
