//===- Algorithms.h - Which algorithm a product takes ---------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_ALGORITHMS_H
#define PIPEMESH_RUNTIME_CUDA_ALGORITHMS_H

#include "cuda/Libraries.h"

#include <map>

namespace pipemesh::cuda {

/// The algorithms of a role's products, each chosen once. In a file they
/// outlive the job, so that later ones sum in the same order and give the same
/// bits.
class Algorithms {
public:
  struct Choice {
    cublasLtMatmulAlgo_t algorithm{};
    uint64_t workspaceBytes = 0;
  };

  /// Reads the file where it is there; `path` may be empty. `gpu` and the
  /// version of cuBLASLt are what the choices hold for: throws an Error where
  /// the file's are others, or where it is damaged.
  Algorithms(const Libraries &libraries, std::string path, std::string gpu);

  /// By the text that describes the product; null where there is none yet.
  const Choice *find(const std::string &product) const;
  void add(const std::string &product, const Choice &choice);

  /// Writes the file where something was added.
  void save() const;

  const std::string &getPath() const { return path; }

private:
  std::string path, gpu, version;
  std::map<std::string, Choice> choices;
  bool hasChanged = false;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_ALGORITHMS_H
