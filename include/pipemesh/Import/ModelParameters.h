//===- ModelParameters.h - The parameters that a model has ----------------===//

#ifndef PIPEMESH_IMPORT_MODELPARAMETERS_H
#define PIPEMESH_IMPORT_MODELPARAMETERS_H

#include "mlir/Support/LLVM.h"
#include "pipemesh/Import/ModelConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace mlir {
class Location;
} // namespace mlir

namespace pipemesh {

struct ModelParameter {
  /// The model library's name: "model.layers.0.self_attn.q_proj.weight".
  std::string name;
  /// As the file stores it.
  llvm::SmallVector<int64_t, 2> shape;
  /// As the graph takes it, where that is another shape of the same elements
  /// in the same order: joined projections with a dimension for the parts.
  llvm::SmallVector<int64_t, 3> view = {};

  llvm::ArrayRef<int64_t> graphShape() const {
    return view.empty() ? llvm::ArrayRef<int64_t>(shape)
                        : llvm::ArrayRef<int64_t>(view);
  }
};

/// The parameters in the order of the modules: embeddings, layers, last norm,
/// and the head where it is not tied. Fails, with an error at `location`, when
/// their number does not fit in 63 bits as bytes of float32.
mlir::FailureOr<std::vector<ModelParameter>>
listParameters(const ModelConfig &config, mlir::Location location);

/// The number of elements of all of them.
int64_t countElements(llvm::ArrayRef<ModelParameter> parameters);

/// A table in which equal parameters of different layers share a line, and
/// the total as its last line, "parameters N".
void printParameters(llvm::ArrayRef<ModelParameter> parameters,
                     llvm::raw_ostream &os);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_MODELPARAMETERS_H
