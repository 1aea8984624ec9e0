//===- SafetensorsIndex.h - What the weight files of a model hold ---------===//
//
// Reads the headers of safetensors files, never their data: weights stay in
// their file and are referred to by name.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_IMPORT_SAFETENSORSINDEX_H
#define PIPEMESH_IMPORT_SAFETENSORSINDEX_H

#include "mlir/Support/LLVM.h"
#include "pipemesh/Import/ModelConfig.h"
#include "pipemesh/Import/ModelParameters.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace pipemesh {

struct SafetensorsTensor {
  /// As the file spells it: "F32", "BF16", "F16", "I64", ...
  std::string type;
  llvm::SmallVector<int64_t, 2> shape;
  /// Bytes [begin, end) of the file's data, which starts at `dataOffset`.
  uint64_t begin = 0, end = 0, dataOffset = 0;
  /// Which of `files`.
  unsigned file = 0;
};

/// The tensors of one file, or of the files that an index names.
struct SafetensorsIndex {
  std::vector<std::string> files;
  llvm::StringMap<SafetensorsTensor> tensors;

  /// Reads DIRECTORY/model.safetensors, or else the files that
  /// DIRECTORY/model.safetensors.index.json names. Every failure is one error
  /// that names the file.
  static mlir::FailureOr<SafetensorsIndex> read(mlir::MLIRContext *context,
                                                llvm::StringRef directory);

  /// Adds the header of one file.
  mlir::LogicalResult readFile(mlir::MLIRContext *context,
                               llvm::StringRef path);
};

/// Checks that each parameter is there with its shape and a type that can be
/// read as float32 (F32, F16, BF16), and that nothing is left over but known
/// buffers. A checkpoint of the bare model, whose names lack the leading
/// "model." or "transformer.", is accepted too. Errors and stops at the first
/// parameter in question.
mlir::LogicalResult checkWeights(mlir::MLIRContext *context,
                                 llvm::StringRef directory,
                                 const ModelConfig &config,
                                 llvm::ArrayRef<ModelParameter> parameters,
                                 const SafetensorsIndex &index);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_SAFETENSORSINDEX_H
