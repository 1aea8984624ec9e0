//===- Topology.cpp - Are the GPUs connected as was assumed? --------------===//

#include "cuda/Topology.h"

namespace pipemesh::cuda {

using runtime::Axis;
using runtime::AxisKind;
using runtime::ClusterLevel;
using runtime::Manifest;

/// GB/s of PCI Express 5.0 with 16 lanes, in one direction (PCI-SIG): what is faster
/// has links of its own.
static constexpr double pciBandwidth = 64;

/// "tp", "pp, tp": the axes along which two ranks differ.
static std::string axesBetween(const Manifest &manifest, int64_t a, int64_t b) {
  std::vector<int64_t> first = manifest.mesh.coordinates(a);
  std::vector<int64_t> second = manifest.mesh.coordinates(b);
  std::string text;
  for (size_t i = 0; i < first.size(); ++i)
    if (first[i] != second[i])
      text += cat(text.empty() ? "" : ", ", manifest.mesh.getAxes()[i].name);
  return text;
}

/// What connects two GPUs, where it is not a link of their own.
static std::string slowLink(const Libraries &libraries, int a, int b) {
  if (a == b)
    return cat("share GPU ", a);
  CUdevice from = 0, to = 0;
  libraries.check(libraries.cuDeviceGet(&from, a), "cuDeviceGet of ", a);
  libraries.check(libraries.cuDeviceGet(&to, b), "cuDeviceGet of ", b);
  int hasLink = 0;
  libraries.check(
      libraries.cuDeviceGetP2PAttribute(
          &hasLink, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from, to),
      "cuDeviceGetP2PAttribute");
  return hasLink ? "" : cat("are on GPUs ", a, " and ", b, ", which PCI connects");
}

std::string compareTopology(const Libraries &libraries, const Manifest &manifest,
                            const std::vector<PlacedRank> &ranks) {
  if (manifest.levels.empty() || ranks.empty())
    return "";
  const ClusterLevel &inner = manifest.levels.front();
  int64_t joined = inner.size ? inner.size : manifest.mesh.ranks();
  std::string level = cat("level '", inner.name, "' of the cluster that it was "
                                                 "compiled for");
  for (const PlacedRank &one : ranks)
    if (one.onMachine >= 0 && one.onMachine != one.rank % joined)
      return cat("rank ", one.rank, " is number ", one.onMachine,
                 " of its machine, but ", level, " joins ranks ",
                 one.rank / joined * joined, " to ",
                 one.rank / joined * joined + joined - 1,
                 "; start ", joined, " ranks on each machine, in their order");
  if (inner.bandwidth <= pciBandwidth)
    return "";
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t j = i + 1; j < ranks.size(); ++j) {
      if (ranks[i].rank / joined != ranks[j].rank / joined)
        continue;
      std::string link = slowLink(libraries, ranks[i].device, ranks[j].device);
      if (!link.empty())
        return cat("ranks ", ranks[i].rank, " and ", ranks[j].rank, " ", link,
                   ", but ", level, " has ", inner.bandwidth,
                   " GB/s between them, where ",
                   axesBetween(manifest, ranks[i].rank, ranks[j].rank),
                   " lies; the step takes longer than was predicted: compile it for "
                   "this cluster");
    }
  return "";
}

} // namespace pipemesh::cuda
