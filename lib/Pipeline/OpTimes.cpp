//===- OpTimes.cpp - the time of one op on one rank -----------------------===//

#include "OpTimes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Interfaces/Interfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

OpTimes::OpTimes(pm::MeshOp mesh, pm::MeshOp placed)
    : device(pm::getDevice(placed)) {
  Link host = Cluster::getHost().getOutermost().link;
  stageLink = host;
  // Where the mesh does not fit, other passes say so.
  llvm::Expected<std::vector<AxisPlace>> places = pm::placeMesh(placed);
  if (!places)
    llvm::consumeError(places.takeError());
  size_t numPlaced = places ? places->size() : 0;
  for (auto [number, axis] :
       llvm::enumerate(mesh.getAxes().getAsRange<pm::MeshAxisAttr>())) {
    Link link = number < numPlaced ? (*places)[number].link : host;
    axes[axis.getName().getValue()] = {
        axis.getSize(), axis.getKind() == pm::AxisKind::Spatial, link};
    if (axis.getKind() == pm::AxisKind::Stage)
      stageLink = link;
  }
}

int64_t OpTimes::sizeOf(ArrayRef<StringAttr> names) const {
  int64_t size = 1;
  for (StringAttr name : names)
    if (auto axis = axes.find(name.getValue()); axis != axes.end())
      size *= axis->second.size;
  return size;
}

/// Of one rank and micro-batch, where the value has a sharding.
RankedTensorType OpTimes::localType(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  pm::ShardingAttr sharding = pm::getSharding(value);
  if (!type || !type.hasStaticShape() || !sharding ||
      sharding.getDims().size() != static_cast<size_t>(type.getRank()))
    return type;
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, dim] : llvm::zip(shape, sharding.getDims()))
    size = llvm::divideCeil(size, sizeOf(dim.getAxes()));
  return RankedTensorType::get(shape, type.getElementType());
}

double OpTimes::bytesOf(Type type, pm::ShardingAttr sharding) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return 0;
  double bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
    int64_t parts = 1;
    if (sharding && dim < sharding.getDims().size())
      parts = sizeOf(sharding.getDims()[dim].getAxes());
    bytes *= static_cast<double>(llvm::divideCeil(size, parts));
  }
  return bytes;
}

double OpTimes::ofTransfer(double bytes) const {
  return bytes > 0 ? stageLink.latency + bytes / stageLink.bandwidth : 0;
}

/// The bytes that a rank sends: 2(n-1)/n of its operand for a sum, what it gets
/// for a gather, (n-1)/n for an exchange, nothing for a slice.
double OpTimes::ofReshard(pm::ReshardOp op) const {
  pm::ShardingAttr from = op.getSource(), to = op.getTarget();
  double before = bytesOf(op.getInput().getType(), from);
  double after = bytesOf(op.getInput().getType(), to);
  std::optional<Link> link;
  auto cross = [&](StringAttr name) -> int64_t {
    auto axis = axes.find(name.getValue());
    if (axis == axes.end() || !axis->second.isSpatial || axis->second.size < 2)
      return 1;
    link = link ? slowerOf(*link, axis->second.link) : axis->second.link;
    return axis->second.size;
  };
  int64_t summed = 1, moved = 1;
  for (StringAttr axis : from.getPartialAxes())
    if (!to.isPartialOver(axis.getValue()))
      summed *= cross(axis);
  if (summed > 1) {
    double share = double(summed - 1) / summed;
    double factor = after < before ? 1 : link->reduces ? 1 / share : 2;
    return link->latency + factor * share * before / link->bandwidth;
  }
  for (auto [source, target] : llvm::zip(from.getDims(), to.getDims()))
    for (StringAttr axis : source.getAxes())
      if (!llvm::is_contained(target.getAxes(), axis))
        moved *= cross(axis);
  if (moved == 1)
    return 0;
  double sent =
      after > before ? after - before : before * double(moved - 1) / moved;
  return link->latency + sent / link->bandwidth;
}

double OpTimes::of(Operation *op) const {
  if (auto reshard = dyn_cast<pm::ReshardOp>(op))
    return ofReshard(reshard);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return 0;
  bool isTyped = llvm::all_of(op->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType());
  });
  double inside = 0;
  if (op->getNumRegions() > 0 && !isa<RegionKindInterface>(op))
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          if (llvm::any_of(inner.getResultTypes(), [](Type type) {
                auto tensor = dyn_cast<RankedTensorType>(type);
                return tensor && tensor.hasStaticShape() &&
                       tensor.getNumElements() > 1;
              }))
            inside += of(&inner);
  if (!isTyped)
    return inside;
  // The op as one rank has it: the interface looks at types only.
  Block arguments;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand,
                  arguments.addArgument(localType(operand), operand.getLoc()));
  Operation *local = op->clone(mapping);
  for (auto [result, value] : llvm::zip(local->getResults(), op->getResults()))
    if (RankedTensorType type = localType(value))
      result.setType(type);
  OpCost cost = getOpCost(local);
  local->destroy();
  double bytes = double(cost.bytesRead) + double(cost.bytesWritten);
  return inside +
         std::max(double(cost.flops) / device.flops, bytes / device.bandwidth);
}
