// What the meshes and shardings of sdy become. An axis, or a part of one, is the
// range of distances between devices that it covers: with the axes x=2, y=4 the
// axis y covers 1 to 4 and x covers 4 to 8. Ranges of one mesh are cut at the
// borders of the axes of the other.
#include "MeshMap.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pipemesh;

// As many as a pm.mesh may have; their numbers fit into the i32 of a partition_id.
static constexpr int64_t maxDevices = int64_t(1) << 20;

/// The product of the axes' sizes; 0 where it is too large.
static int64_t countDevices(sdy::MeshAttr mesh) {
  int64_t count = 1;
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    if (axis.getSize() > maxDevices / count)
      return 0;
    count *= axis.getSize();
  }
  return count;
}

/// One device that has everything, or no axes at all.
static bool saysNothing(sdy::MeshAttr mesh) { return mesh.getAxes().empty(); }

static bool isOrdered(ArrayRef<int64_t> ids) {
  for (auto [i, id] : llvm::enumerate(ids))
    if (id != int64_t(i))
      return false;
  return true;
}

FailureOr<MeshMap> MeshMap::create(ModuleOp module) {
  MeshMap map;
  SmallVector<int64_t> order;
  std::string firstName;
  auto add = [&](Location location, sdy::MeshAttr mesh,
                 StringRef meshName) -> LogicalResult {
    if (saysNothing(mesh))
      return success();
    int64_t count = countDevices(mesh);
    if (count == 0)
      return emitError(location) << "mesh @" << meshName << " has more than "
                                 << maxDevices << " devices";
    llvm::SmallDenseSet<StringAttr> names;
    for (sdy::MeshAxisAttr axis : mesh.getAxes())
      if (!names.insert(axis.getName()).second)
        return emitError(location) << "mesh @" << meshName << " has two axes "
                                   << axis.getName();
    SmallVector<int64_t> ids(mesh.getDeviceIds());
    if (isOrdered(ids))
      ids.clear();
    if (map.empty()) {
      int64_t stride = count;
      for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
        stride /= axis.getSize();
        map.axes.push_back({axis.getName(), stride, axis.getSize()});
      }
      map.devices = count;
      map.name = FlatSymbolRefAttr::get(module.getContext(), meshName);
      order = ids;
      firstName = meshName.str();
      return success();
    }
    if (count != map.devices)
      return emitError(location)
             << "mesh @" << meshName << " has " << count << " devices, but @"
             << firstName << " has " << map.devices
             << "; all meshes of a module must have the same devices";
    if (ids != order)
      return emitError(location) << "mesh @" << meshName
                                 << " has its devices in another order than @"
                                 << firstName;
    return success();
  };
  for (auto op : module.getOps<sdy::MeshOp>()) {
    if (failed(add(op.getLoc(), op.getMesh(), op.getSymName())))
      return failure();
    map.meshes[FlatSymbolRefAttr::get(op.getSymNameAttr())] = op.getMesh();
  }
  return map;
}

void MeshMap::build(ModuleOp module) const {
  if (empty())
    return;
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Attribute> list;
  for (const ImportedAxis &axis : axes)
    list.push_back(pm::MeshAxisAttr::get(context, axis.name,
                                         pm::AxisKind::Spatial, axis.size));
  pm::MeshOp::create(builder, module.getLoc(), name.getValue(),
                     builder.getArrayAttr(list));
}

FailureOr<sdy::MeshAttr> MeshMap::lookup(Location location, Attribute mesh) {
  if (auto inlined = dyn_cast<sdy::MeshAttr>(mesh)) {
    if (saysNothing(inlined))
      return inlined;
    if (countDevices(inlined) != devices || !isOrdered(inlined.getDeviceIds()))
      return emitError(location)
             << "a mesh written into a sharding must have the " << devices
             << " devices of the module's, in order";
    return inlined;
  }
  auto found = meshes.find(mesh);
  if (found == meshes.end())
    return emitError(location) << "there is no sdy.mesh " << mesh;
  return found->second;
}

FailureOr<MeshMap::Range> MeshMap::findRange(Location location,
                                             sdy::MeshAttr mesh,
                                             sdy::AxisRefAttr ref) {
  int64_t stride = countDevices(mesh);
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    stride /= axis.getSize();
    if (axis.getName() != ref.getName())
      continue;
    if (ref.getSize() == 0)
      return Range{stride, stride * axis.getSize()};
    int64_t size = axis.getSize(), pre = ref.getPreSize();
    if (size % pre != 0 || (size / pre) % ref.getSize() != 0)
      return emitError(location)
             << "axis " << ref.getName() << " of size " << size
             << " has no part of size " << ref.getSize() << " behind "
             << ref.getPreSize();
    int64_t high = stride * (size / pre);
    return Range{high / ref.getSize(), high};
  }
  return emitError(location) << "the mesh has no axis " << ref.getName();
}

LogicalResult MeshMap::append(Location location, sdy::MeshAttr mesh,
                              ArrayRef<sdy::AxisRefAttr> refs,
                              SmallVectorImpl<StringAttr> &names) {
  // Neighbouring parts of one axis are one part.
  SmallVector<Range> ranges;
  for (sdy::AxisRefAttr ref : refs) {
    FailureOr<Range> range = findRange(location, mesh, ref);
    if (failed(range))
      return failure();
    if (!ranges.empty() && ranges.back().low == range->high)
      ranges.back().low = range->low;
    else
      ranges.push_back(*range);
  }
  for (Range range : ranges) {
    size_t before = names.size();
    for (const ImportedAxis &axis : axes) {
      int64_t end = axis.stride * axis.size;
      int64_t low = std::max(range.low, axis.stride);
      int64_t high = std::min(range.high, end);
      if (low >= high)
        continue;
      if (low == axis.stride && high == end) {
        names.push_back(axis.name);
        continue;
      }
      if (low % axis.stride != 0 || high % low != 0 || end % high != 0)
        return emitError(location)
               << "an axis of one mesh does not fit axis " << axis.name
               << " of size " << axis.size << " of the first mesh";
      names.push_back(StringAttr::get(
          axis.name.getContext(), Twine(axis.name.getValue()) + ":(" +
                                      Twine(end / high) + ")" +
                                      Twine(high / low)));
    }
    // An axis of size 1 covers nothing, and is there by its name.
    if (names.size() == before && range.low == range.high)
      for (sdy::AxisRefAttr ref : refs)
        for (const ImportedAxis &axis : axes)
          if (axis.name == ref.getName() && axis.size == 1 &&
              !llvm::is_contained(names, axis.name))
            names.push_back(axis.name);
  }
  return success();
}

FailureOr<SmallVector<StringAttr>>
MeshMap::convertAxes(Location location, Attribute mesh, ArrayAttr list) {
  FailureOr<sdy::MeshAttr> found = lookup(location, mesh);
  if (failed(found))
    return failure();
  SmallVector<StringAttr> names;
  for (auto axisName : list.getAsRange<StringAttr>()) {
    auto ref = sdy::AxisRefAttr::get(location.getContext(), axisName, 1, 0);
    if (failed(append(location, *found, ref, names)))
      return failure();
  }
  for (StringAttr part : names)
    if (llvm::none_of(axes, [&](const ImportedAxis &axis) {
          return axis.name == part;
        }))
      return emitError(location)
             << "the manual axes " << list << " cut the axis " << part
             << " of the first mesh";
  return names;
}

FailureOr<pm::ShardingAttr> MeshMap::convert(Location location,
                                             sdy::ShardingAttr sharding,
                                             Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(location) << "has a sharding, but is " << type;
  // The checks depend on the rank alone.
  auto key = std::make_pair(Attribute(sharding), tensor.getRank());
  auto known = done.find(key);
  if (known != done.end())
    return known->second;
  FailureOr<sdy::MeshAttr> mesh = lookup(location, sharding.getMesh());
  if (failed(mesh))
    return failure();
  if (saysNothing(*mesh))
    return pm::ShardingAttr();
  if (int64_t(sharding.getDims().size()) != tensor.getRank())
    return emitError(location)
           << "has a sharding of " << sharding.getDims().size()
           << " dimensions, but is " << type;
  SmallVector<pm::DimShardingAttr> dims;
  SmallVector<StringAttr> partial, replicated;
  for (sdy::DimensionShardingAttr dim : sharding.getDims()) {
    SmallVector<StringAttr> names;
    if (failed(append(location, *mesh, dim.getAxes(), names)))
      return failure();
    dims.push_back(pm::DimShardingAttr::get(
        location.getContext(), names, dim.getOpen(),
        std::max<int64_t>(dim.getPriority(), 0), /*blockSize=*/0));
  }
  if (failed(append(location, *mesh, sharding.getUnreducedAxes(), partial)) ||
      failed(append(location, *mesh, sharding.getReplicatedAxes(), replicated)))
    return failure();
  auto report = [&] { return emitError(location); };
  if (failed(pm::ShardingAttr::verify(report, name, dims, partial,
                                      pm::ReductionKind::Sum, replicated)))
    return failure();
  auto result =
      pm::ShardingAttr::get(location.getContext(), name, dims, partial,
                            pm::ReductionKind::Sum, replicated);
  done[key] = result;
  return result;
}
