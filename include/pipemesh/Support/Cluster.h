//===- Cluster.h - what connects the ranks ----------------------*- C++ -*-===//

#ifndef PIPEMESH_SUPPORT_CLUSTER_H
#define PIPEMESH_SUPPORT_CLUSTER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh {

/// What a collective costs: latency + bytes that a rank sends / bandwidth.
struct Link {
  /// Bytes a second that a rank sends and, at the same time, receives.
  double bandwidth = 0;
  /// Seconds from the start of a small exchange to its end.
  double latency = 0;
  /// The switch adds: an all-reduce sends its operand once.
  bool reduces = false;

  /// Of a mesh whose cluster is not described: bytes decide, and between equal
  /// ones the number of exchanges.
  static Link getDefault() { return {8e9, 8e-9, false}; }
};

/// The link of several axes: the slowest counts.
Link slowerOf(const Link &a, const Link &b);

/// What a rank computes with.
struct Device {
  /// Arithmetic operations a second of its matrix products.
  double flops = 100e9;
  /// Bytes a second from and to its memory.
  double bandwidth = 10e9;
  /// Bytes that a rank may use; 0 where no limit is known.
  double memory = 0;
  /// Whether it was described; otherwise it is a core of the host.
  bool isGiven = false;
};

/// Ranks that reach each other in the same way: the members of a process, the
/// devices of a node, the nodes of a network.
struct ClusterLevel {
  std::string name;
  /// How many members of the next inner level it joins; 0 for any number, which
  /// only the outermost may have.
  int64_t size = 1;
  Link link;
};

/// Levels from the innermost out.
struct Cluster {
  std::string name;
  std::vector<ClusterLevel> levels;
  Device device;

  /// Ranks that are threads or processes of one host: 8 GB/s for each, as copies
  /// between caches and memory run when all ranks copy; 20 us, which is two
  /// meetings of ranks that share cores.
  static Cluster getHost();

  /// Reads a description:
  ///
  ///   {"name": "two hosts",
  ///    "device": {"tflops": 0.1, "memory_bandwidth": 10, "memory": 4},
  ///    "levels": [
  ///     {"name": "memory", "size": 4, "bandwidth": 8, "latency": 20},
  ///     {"name": "ethernet", "bandwidth": 1.25, "latency": 50,
  ///      "switch_reduces": false}]}
  ///
  /// in GB/s for each device and direction, and microseconds; the device's
  /// memory in GB. The size of the outermost level may be left out, and so may
  /// the device, or its memory. Errors name the level and the key.
  static llvm::Expected<Cluster> parse(llvm::StringRef text);

  /// The outermost level, which the largest groups cross.
  const ClusterLevel &getOutermost() const { return levels.back(); }

  /// The devices of the levels up to one; 0 for any number.
  int64_t devicesUpTo(size_t level) const;
};

/// Where the ranks that differ on one axis lie: the levels that lie between
/// them.
struct AxisPlace {
  size_t innermost = 0, outermost = 0;
  /// That of the slowest of these levels.
  Link link;
};

/// Lays axes over the levels in their order, the last one innermost. An axis
/// whose groups do not fill the devices of a level evenly spans the next one
/// too. `sizes` are those of the axes that divide ranks, outermost first. Fails
/// where the cluster has too few devices.
llvm::Expected<std::vector<AxisPlace>>
placeAxes(const Cluster &cluster, llvm::ArrayRef<int64_t> sizes);

/// The size of a bucket of all-reduces from which on larger ones gain little:
/// 20 times what the link carries during its latency, so that a full bucket
/// spends a twentieth of its time waiting; rounded up to a power of two. (A
/// collective of b bytes takes latency + b / bandwidth.)
int64_t suggestBucketBytes(const Link &link);

} // namespace pipemesh

#endif // PIPEMESH_SUPPORT_CLUSTER_H
