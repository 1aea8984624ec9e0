//===- Cluster.cpp --------------------------------------------------------===//

#include "pipemesh/Support/Cluster.h"
#include "llvm/Support/MathExtras.h"

using namespace pipemesh;

Cluster Cluster::getHost() {
  return {{{"host", /*size=*/1, /*bandwidth=*/8e9, /*latency=*/20e-6}}};
}

int64_t pipemesh::suggestBucketBytes(const ClusterLevel &level) {
  constexpr double factor = 20;
  return llvm::PowerOf2Ceil(
      static_cast<uint64_t>(factor * level.latency * level.bandwidth));
}
