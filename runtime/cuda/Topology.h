//===- Topology.h - Are the GPUs connected as was assumed? ----------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_TOPOLOGY_H
#define PIPEMESH_RUNTIME_CUDA_TOPOLOGY_H

#include "core/Manifest.h"
#include "cuda/Libraries.h"

#include <vector>

namespace pipemesh::cuda {

/// A rank of this process, on which GPU, and its number among those of the machine;
/// -1 where that is not known.
struct PlacedRank {
  int64_t rank = 0;
  int device = 0;
  int64_t onMachine = -1;
};

/// Compares with the cluster that the bundle was compiled for: whether ranks that its
/// innermost level joins are on one machine, and on GPUs with links of their own where
/// the level is faster than PCI. Returns what is otherwise, as one warning, with the
/// axes that lie there; "" where nothing is, and where no cluster was described.
std::string compareTopology(const Libraries &libraries,
                            const runtime::Manifest &manifest,
                            const std::vector<PlacedRank> &ranks);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_TOPOLOGY_H
