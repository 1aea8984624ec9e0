//===- Cluster.h - what connects the ranks ----------------------*- C++ -*-===//

#ifndef PIPEMESH_SUPPORT_CLUSTER_H
#define PIPEMESH_SUPPORT_CLUSTER_H

#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh {

/// Ranks that reach each other in the same way: the members of a process, the
/// devices of a node, the nodes of a network.
struct ClusterLevel {
  std::string name;
  /// How many members of the next inner level it joins.
  int64_t size = 1;
  /// Bytes a second that a rank sends and, at the same time, receives.
  double bandwidth = 0;
  /// Seconds from the start of a small exchange to its end.
  double latency = 0;
};

/// Levels from the innermost out.
struct Cluster {
  std::vector<ClusterLevel> levels;

  /// Ranks that are threads or processes of one host: 8 GB/s for each, as copies
  /// between caches and memory run when all ranks copy; 20 us, which is two
  /// meetings of ranks that share cores.
  static Cluster getHost();

  /// The outermost level, which the largest groups cross.
  const ClusterLevel &getOutermost() const { return levels.back(); }
};

/// The size of a bucket of all-reduces from which on larger ones gain little:
/// 20 times what the link carries during its latency, so that a full bucket
/// spends a twentieth of its time waiting; rounded up to a power of two. (A
/// collective of b bytes takes latency + b / bandwidth.)
int64_t suggestBucketBytes(const ClusterLevel &level);

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_CLUSTER_H
