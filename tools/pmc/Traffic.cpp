//===- Traffic.cpp --------------------------------------------------------===//

#include "Traffic.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/RoleCosts.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pipemesh;

StringRef pipemesh::dimensionOf(StringRef axis) {
  return axis.split('.').first;
}

/// The entry of a dimension, made where it is new.
static AxisTraffic &entryOf(SmallVectorImpl<AxisTraffic> &all, StringRef name) {
  for (AxisTraffic &entry : all)
    if (entry.name == name)
      return entry;
  all.emplace_back().name = name.str();
  return all.back();
}

SmallVector<AxisTraffic> pipemesh::computeTraffic(ModuleOp module) {
  SmallVector<AxisTraffic> all;
  pm::MeshOp mesh = pm::lookupMesh(module);
  if (!mesh)
    return all;
  std::optional<Cluster> cluster = pm::getCluster(module);
  auto places = pm::placeMesh(mesh);
  if (!places)
    llvm::consumeError(places.takeError());
  llvm::StringMap<Link> links;
  for (auto [number, axis] : llvm::enumerate(
           mesh.getAxes().getAsRange<pm::MeshAxisAttr>())) {
    StringRef name = axis.getName().getValue();
    links[name] = Link::getDefault();
    if (axis.getKind() == pm::AxisKind::Temporal)
      continue;
    AxisTraffic &entry = entryOf(all, dimensionOf(name));
    bool isFirst = entry.size == 1;
    entry.size *= axis.getSize();
    if (isFirst)
      entry.link = Link::getDefault();
    if (!cluster || !places || places->empty())
      continue;
    const AxisPlace &place = (*places)[number];
    links[name] = place.link;
    entry.link =
        entry.levels.empty() ? place.link : slowerOf(entry.link, place.link);
    for (size_t level = place.innermost; level <= place.outermost; ++level)
      if (!llvm::is_contained(entry.levels, cluster->levels[level].name))
        entry.levels.push_back(cluster->levels[level].name);
  }
  for (auto role : module.getOps<pmrt::RoleOp>()) {
    llvm::StringMap<std::pair<double, double>> sums;
    for (const Exchange &exchange : computeRoleCosts(module, role).exchanges) {
      std::string name;
      std::optional<Link> link;
      for (const std::string &axis : exchange.axes) {
        StringRef dimension = dimensionOf(axis);
        if (!StringRef(name).ends_with(dimension))
          name += (name.empty() ? "" : ",") + dimension.str();
        link = link ? slowerOf(*link, links[axis]) : links[axis];
      }
      if (!link || exchange.groupSize < 2)
        continue;
      double bytes = exchange.wireBytes, sent = bytes;
      if (exchange.kind == "all-reduce" && link->reduces)
        sent = exchange.operandBytes;
      auto &[allBytes, allSeconds] = sums[name];
      allBytes += bytes * exchange.runs;
      allSeconds += exchange.runs * (link->latency + sent / link->bandwidth);
      AxisTraffic &entry = entryOf(all, name);
      if (entry.link.bandwidth == 0) {
        entry.link = *link;
        entry.size = exchange.groupSize;
      }
    }
    for (auto &sum : sums) {
      AxisTraffic &entry = entryOf(all, sum.first());
      entry.bytes = std::max(entry.bytes, sum.second.first);
      entry.seconds = std::max(entry.seconds, sum.second.second);
    }
  }
  return all;
}

std::string pipemesh::findBadPlace(ArrayRef<AxisTraffic> traffic) {
  const AxisTraffic *slow = nullptr, *fast = nullptr;
  for (const AxisTraffic &a : traffic)
    for (const AxisTraffic &b : traffic)
      if (a.size > 1 && b.size > 1 && !a.levels.empty() && !b.levels.empty() &&
          a.link.bandwidth < b.link.bandwidth && a.bytes > 2 * b.bytes &&
          (!slow || a.bytes / (b.bytes + 1) > slow->bytes / (fast->bytes + 1)))
        slow = &a, fast = &b;
  if (!slow)
    return "";
  return llvm::formatv(
      "axis '{0}' sends {1:f2} MB in a step over '{2}', while axis '{3}', "
      "which sends {4:f2} MB, lies on '{5}'; put '{0}' behind '{3}' in the "
      "strategy",
      slow->name, slow->bytes / 1e6, slow->levels.back(), fast->name,
      fast->bytes / 1e6, fast->levels.back());
}
