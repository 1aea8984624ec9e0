//===- ClusterAttr.cpp - the cluster of a module --------------------------===//

#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <cmath>

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

void pm::setCluster(Operation *module, const Cluster &cluster) {
  Builder builder(module->getContext());
  SmallVector<Attribute> levels;
  for (const ClusterLevel &level : cluster.levels)
    levels.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", builder.getStringAttr(level.name)),
         builder.getNamedAttr("size", builder.getI64IntegerAttr(level.size)),
         builder.getNamedAttr(
             "bandwidth", builder.getF64FloatAttr(level.link.bandwidth / 1e9)),
         builder.getNamedAttr(
             "latency", builder.getF64FloatAttr(std::round(level.link.latency * 1e12) / 1e6)),
         builder.getNamedAttr("reduces",
                              builder.getBoolAttr(level.link.reduces))}));
  module->setAttr(kClusterAttr, builder.getArrayAttr(levels));
  if (!cluster.device.isGiven)
    return;
  auto number = [&](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  };
  module->setAttr(
      kDeviceAttr,
      builder.getDictionaryAttr(
          {number("tflops", cluster.device.flops / 1e12),
           number("memory_bandwidth", cluster.device.bandwidth / 1e9),
           number("memory", cluster.device.memory / 1e9)}));
}

Device pm::getDevice(Operation *op) {
  while (op && !isa<ModuleOp>(op))
    op = op->getParentOp();
  Device device;
  auto given =
      op ? op->getAttrOfType<DictionaryAttr>(kDeviceAttr) : DictionaryAttr();
  if (!given)
    return device;
  auto read = [&](StringRef name, double unit, double least, double &place) {
    auto value = given.getAs<FloatAttr>(name);
    if (value && value.getValueAsDouble() * unit >= least)
      place = value.getValueAsDouble() * unit;
  };
  device.isGiven = true;
  read("tflops", 1e12, 1, device.flops);
  read("memory_bandwidth", 1e9, 1, device.bandwidth);
  read("memory", 1e9, 0, device.memory);
  return device;
}

std::string pm::checkClusterAttr(Attribute attr) {
  auto levels = dyn_cast<ArrayAttr>(attr);
  if (!levels || levels.empty())
    return "must be a list of levels";
  for (auto [number, entry] : llvm::enumerate(levels)) {
    std::string where = "level " + std::to_string(number);
    auto level = dyn_cast<DictionaryAttr>(entry);
    if (!level)
      return where + " must be a dictionary";
    auto size = level.getAs<IntegerAttr>("size");
    auto bandwidth = level.getAs<FloatAttr>("bandwidth");
    auto latency = level.getAs<FloatAttr>("latency");
    if (!level.getAs<StringAttr>("name") || !size || !bandwidth || !latency ||
        !level.getAs<BoolAttr>("reduces"))
      return where + " must have name, size, bandwidth, latency and reduces";
    if (size.getInt() < (number + 1 == levels.size() ? 0 : 1))
      return where + " has the size " + std::to_string(size.getInt());
    if (bandwidth.getValueAsDouble() <= 0 || latency.getValueAsDouble() < 0)
      return where + " has no bandwidth, or a negative latency";
  }
  return "";
}

std::optional<Cluster> pm::getCluster(Operation *op) {
  while (op && !isa<ModuleOp>(op))
    op = op->getParentOp();
  auto levels = op ? op->getAttrOfType<ArrayAttr>(kClusterAttr) : ArrayAttr();
  if (!levels || !checkClusterAttr(levels).empty())
    return std::nullopt;
  Cluster cluster;
  for (auto level : levels.getAsRange<DictionaryAttr>())
    cluster.levels.push_back(
        {level.getAs<StringAttr>("name").str(),
         level.getAs<IntegerAttr>("size").getInt(),
         {level.getAs<FloatAttr>("bandwidth").getValueAsDouble() * 1e9,
          level.getAs<FloatAttr>("latency").getValueAsDouble() * 1e-6,
          level.getAs<BoolAttr>("reduces").getValue()}});
  return cluster;
}

llvm::Expected<std::vector<AxisPlace>> pm::placeMesh(MeshOp mesh) {
  std::vector<AxisPlace> all;
  std::optional<Cluster> cluster = getCluster(mesh);
  if (!cluster)
    return all;
  SmallVector<int64_t> sizes;
  for (auto axis : mesh.getAxes().getAsRange<MeshAxisAttr>())
    if (axis.getKind() != AxisKind::Temporal)
      sizes.push_back(axis.getSize());
  auto places = placeAxes(*cluster, sizes);
  if (!places)
    return places.takeError();
  size_t next = 0;
  for (auto axis : mesh.getAxes().getAsRange<MeshAxisAttr>()) {
    if (axis.getKind() == AxisKind::Temporal)
      all.push_back({0, 0, Link::getDefault()});
    else
      all.push_back((*places)[next++]);
  }
  return all;
}
