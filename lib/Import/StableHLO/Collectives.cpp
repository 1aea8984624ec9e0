// Collectives of manual computations, over mesh axes.
#include "Collectives.h"
#include "mlir/IR/Builders.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh;
namespace shlo = pipemesh::stablehlo;

bool pipemesh::isCollective(Operation *op) {
  return isa<shlo::AllReduceOp, shlo::AllGatherOp, shlo::ReduceScatterOp,
             shlo::AllToAllOp, shlo::CollectivePermuteOp, shlo::PartitionIdOp,
             shlo::ReplicaIdOp>(op);
}

namespace {

/// One collective being imported.
class Importer {
public:
  Importer(Operation *op, const MeshMap &mesh, ArrayRef<StringAttr> manual)
      : op(op), mesh(mesh), manual(manual), builder(op),
        location(op->getLoc()) {}

  LogicalResult run();

private:
  LogicalResult importOp(shlo::AllReduceOp reduce);
  LogicalResult importOp(shlo::AllGatherOp gather);
  LogicalResult importOp(shlo::ReduceScatterOp scatter);
  LogicalResult importOp(shlo::AllToAllOp exchange);
  LogicalResult importOp(shlo::CollectivePermuteOp permute);
  LogicalResult importOp(shlo::PartitionIdOp number);

  LogicalResult findAxes(DenseIntElementsAttr groups, bool partitions,
                         bool anyOrder, SmallVectorImpl<StringAttr> &names);
  bool isManual(StringAttr axis) { return llvm::is_contained(manual, axis); }
  std::optional<SmallVector<int64_t>>
  findSources(DenseIntElementsAttr pairs, ArrayRef<ImportedAxis> axes);
  ArrayAttr strings(ArrayRef<StringAttr> names) {
    return builder.getArrayAttr(
        SmallVector<Attribute>(names.begin(), names.end()));
  }
  pm::ReductionKindAttr kindAttr(pm::ReductionKind kind) {
    return pm::ReductionKindAttr::get(op->getContext(), kind);
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType()).clone(shape);
    return shlo::ReshapeOp::create(builder, location, type, value);
  }
  Value axisIndex(StringAttr axis, Type type) {
    auto index = pm::AxisIndexOp::create(
        builder, location, RankedTensorType::get({}, builder.getI32Type()),
        axis, mesh.getName());
    return shlo::ConvertOp::create(builder, location, type, index);
  }
  Value scalar(int64_t value, RankedTensorType type) {
    return shlo::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(type, APInt(32, value)));
  }

  Operation *op;
  const MeshMap &mesh;
  ArrayRef<StringAttr> manual;
  OpBuilder builder;
  Location location;
};

} // namespace

LogicalResult pipemesh::importCollective(Operation *op, const MeshMap &mesh,
                                         ArrayRef<StringAttr> manual) {
  return Importer(op, mesh, manual).run();
}

LogicalResult Importer::run() {
  // Programs of several replicas are refused as a whole.
  if (auto replica = dyn_cast<shlo::ReplicaIdOp>(op)) {
    replica.getResult().replaceAllUsesWith(scalar(0, replica.getType()));
    op->erase();
    return success();
  }
  if (mesh.empty())
    return op->emitError() << "'" << op->getName()
                           << "' needs an sdy.mesh, which the module lacks";
  LogicalResult result =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<shlo::AllReduceOp, shlo::AllGatherOp, shlo::ReduceScatterOp,
                shlo::AllToAllOp, shlo::CollectivePermuteOp,
                shlo::PartitionIdOp>([&](auto it) { return importOp(it); })
          .Default([](Operation *) { return success(); });
  if (succeeded(result))
    op->erase();
  return result;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

LogicalResult Importer::findAxes(DenseIntElementsAttr attr, bool partitions,
                                 bool anyOrder,
                                 SmallVectorImpl<StringAttr> &names) {
  int64_t size = attr.getType().getDimSize(1);
  SmallVector<SmallVector<int64_t>> groups(attr.getType().getDimSize(0));
  if (size > 0)
    for (auto [i, id] : llvm::enumerate(attr.getValues<int64_t>()))
      groups[i / size].push_back(id);
  if (anyOrder)
    for (SmallVector<int64_t> &group : groups)
      llvm::sort(group);
  // Without a channel the members are replicas, of which there is one.
  if (size == 1)
    return success();
  if (!partitions)
    return op->emitError() << "'" << op->getName()
                           << "' is between replicas (it has no "
                              "channel_handle); only those between partitions "
                              "are understood";
  std::optional<SmallVector<ImportedAxis>> axes = findGroupAxes(groups, mesh);
  if (!axes)
    return op->emitError() << "'" << op->getName() << "' has the groups "
                           << attr << ", which are not those of mesh axes";
  for (const ImportedAxis &axis : *axes) {
    if (!isManual(axis.name))
      return op->emitError()
             << "'" << op->getName() << "' is over the axis " << axis.name
             << ", which is not a manual axis here";
    names.push_back(axis.name);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The op that a body applies to its two arguments and returns, or null.
static Operation *getAppliedOp(Region &body) {
  Block &block = body.front();
  if (block.getOperations().size() != 2)
    return nullptr;
  Operation *applied = &block.front();
  Operation *end = block.getTerminator();
  bool both = applied->getNumOperands() == 2 &&
              applied->getNumResults() == 1 && end->getNumOperands() == 1 &&
              end->getOperand(0) == applied->getResult(0) &&
              applied->getOperand(0) != applied->getOperand(1) &&
              llvm::all_of(applied->getOperands(), [&](Value operand) {
                return llvm::is_contained(block.getArguments(), operand);
              });
  return both ? applied : nullptr;
}

/// How partial values of the body are combined; none where no kind of `pm` is it.
static std::optional<pm::ReductionKind> getKind(Operation *applied,
                                                Type element) {
  bool boolean = element.isInteger(1);
  if (isa<shlo::AddOp>(applied) && !boolean)
    return pm::ReductionKind::Sum;
  if (isa<shlo::MaxOp>(applied) || (boolean && isa<shlo::OrOp>(applied)) ||
      isa<shlo::AddOp>(applied))
    return pm::ReductionKind::Max;
  if (isa<shlo::MinOp>(applied) || (boolean && isa<shlo::AndOp>(applied)))
    return pm::ReductionKind::Min;
  return std::nullopt;
}

/// The element that changes nothing; null where there is no such element known.
static TypedAttr getIdentity(Operation *applied, Type element) {
  Builder builder(element.getContext());
  if (isa<shlo::MulOp>(applied))
    return isa<FloatType, IntegerType>(element) ? builder.getOneAttr(element)
                                                : TypedAttr();
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && isa<shlo::OrOp, shlo::XorOp>(applied))
    return builder.getZeroAttr(element);
  if (integer && isa<shlo::AndOp>(applied))
    return IntegerAttr::get(element, APInt::getAllOnes(integer.getWidth()));
  return {};
}

LogicalResult Importer::importOp(shlo::AllReduceOp reduce) {
  SmallVector<StringAttr> names;
  if (failed(findAxes(reduce.getReplicaGroups(),
                      bool(reduce.getChannelHandle()), /*anyOrder=*/true,
                      names)))
    return failure();
  if (names.empty()) {
    op->replaceAllUsesWith(reduce.getOperands());
    return success();
  }
  Operation *applied = getAppliedOp(reduce.getComputation());
  Type element =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  if (applied)
    if (auto kind = getKind(applied, element)) {
      auto result = pm::AllReduceOp::create(
          builder, location, op->getResultTypes(), reduce.getOperands(),
          kindAttr(*kind), strings(names), mesh.getName());
      op->replaceAllUsesWith(result->getResults());
      return success();
    }
  TypedAttr identity = applied ? getIdentity(applied, element) : TypedAttr();
  if (!identity)
    return op->emitError()
           << "'" << op->getName()
           << "' with a body that is not one op of add, maximum, minimum, "
              "multiply, and, or, xor is not understood";
  // Gathered, and reduced by each rank in the order of the members.
  for (auto [operand, result] :
       llvm::zip(reduce.getOperands(), op->getResults())) {
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), 1);
    Value part = reshape(operand, shape);
    for (StringAttr axis : names)
      for (const ImportedAxis &one : mesh.getAxes())
        if (one.name == axis)
          shape[0] *= one.size;
    Value parts = pm::AllGatherOp::create(builder, location, type.clone(shape),
                                          part, builder.getI64IntegerAttr(0), strings(names),
                                          mesh.getName());
    auto scalarType = RankedTensorType::get({}, element);
    Value init = shlo::ConstantOp::create(
        builder, location, DenseElementsAttr::get(scalarType, ArrayRef<Attribute>(identity)));
    Value whole = shlo::ReduceOp::create(builder, location, parts, init,
                                         ArrayRef<int64_t>{0},
                                         applied->getName().getStringRef())
                      ->getResult(0);
    result.replaceAllUsesWith(whole);
  }
  return success();
}

LogicalResult Importer::importOp(shlo::ReduceScatterOp scatter) {
  SmallVector<StringAttr> names;
  if (failed(findAxes(scatter.getReplicaGroups(),
                      bool(scatter.getChannelHandle()), /*anyOrder=*/false,
                      names)))
    return failure();
  Operation *applied = getAppliedOp(scatter.getComputation());
  auto kind = applied ? getKind(applied, scatter.getType().getElementType())
                      : std::nullopt;
  if (!kind)
    return op->emitError() << "'" << op->getName()
                           << "' with a body that is not one op of add, "
                              "maximum, minimum is not understood";
  Value result = scatter.getOperand();
  if (!names.empty())
    result = pm::ReduceScatterOp::create(
        builder, location, scatter.getType(), result, kindAttr(*kind),
        scatter.getScatterDimensionAttr(), strings(names), mesh.getName());
  scatter.getResult().replaceAllUsesWith(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

LogicalResult Importer::importOp(shlo::AllGatherOp gather) {
  SmallVector<StringAttr> names;
  if (failed(findAxes(gather.getReplicaGroups(),
                      bool(gather.getChannelHandle()), /*anyOrder=*/false,
                      names)))
    return failure();
  for (auto [operand, result] :
       llvm::zip(gather.getOperands(), op->getResults())) {
    Value whole = operand;
    if (!names.empty())
      whole = pm::AllGatherOp::create(builder, location, result.getType(),
                                      operand, gather.getAllGatherDimAttr(),
                                      strings(names), mesh.getName());
    result.replaceAllUsesWith(whole);
  }
  return success();
}

LogicalResult Importer::importOp(shlo::AllToAllOp exchange) {
  SmallVector<StringAttr> names;
  if (failed(findAxes(exchange.getReplicaGroups(),
                      bool(exchange.getChannelHandle()), /*anyOrder=*/false,
                      names)))
    return failure();
  int64_t split = exchange.getSplitDimension();
  int64_t concat = exchange.getConcatDimension();
  int64_t members = exchange.getSplitCount();
  for (auto [operand, result] :
       llvm::zip(exchange.getOperands(), op->getResults())) {
    Value moved = operand;
    auto type = cast<RankedTensorType>(operand.getType());
    if (!names.empty() && split != concat) {
      moved = pm::AllToAllOp::create(builder, location, result.getType(),
                                     operand, exchange.getSplitDimensionAttr(),
                                     exchange.getConcatDimensionAttr(),
                                     strings(names), mesh.getName());
    } else if (!names.empty()) {
      // Block i for member i, and what comes in their order: the blocks are a
      // dimension of their own, which is cut while another one is joined.
      SmallVector<int64_t> shape(type.getShape());
      shape[split] /= members;
      shape.insert(shape.begin() + split, {1, members});
      moved = reshape(operand, shape);
      std::swap(shape[split], shape[split + 1]);
      moved = pm::AllToAllOp::create(builder, location, type.clone(shape),
                                     moved, builder.getI64IntegerAttr(split + 1),
                                     builder.getI64IntegerAttr(split),
                                     strings(names), mesh.getName());
      moved = reshape(moved, type.getShape());
    }
    result.replaceAllUsesWith(moved);
  }
  return success();
}

/// The source of each member of the groups of `axes`; none where groups differ, or
/// where a pair leaves its group.
std::optional<SmallVector<int64_t>>
Importer::findSources(DenseIntElementsAttr pairs, ArrayRef<ImportedAxis> axes) {
  int64_t members = 1;
  for (const ImportedAxis &axis : axes)
    members *= axis.size;
  auto memberOf = [&](int64_t id) {
    int64_t member = 0;
    for (const ImportedAxis &axis : axes)
      member = member * axis.size + id / axis.stride % axis.size;
    return member;
  };
  auto groupOf = [&](int64_t id) {
    for (const ImportedAxis &axis : axes)
      id -= id / axis.stride % axis.size * axis.stride;
    return id;
  };
  SmallVector<int64_t> sources(members, -1), counts(members, 0);
  SmallVector<int64_t> ids(pairs.getValues<int64_t>());
  for (size_t i = 0; i + 1 < ids.size(); i += 2) {
    if (groupOf(ids[i]) != groupOf(ids[i + 1]))
      return std::nullopt;
    int64_t source = memberOf(ids[i]), target = memberOf(ids[i + 1]);
    if (sources[target] != -1 && sources[target] != source)
      return std::nullopt;
    sources[target] = source;
    ++counts[target];
  }
  // Each group has each pair.
  for (auto [source, count] : llvm::zip(sources, counts))
    if (source != -1 && count != mesh.getNumDevices() / members)
      return std::nullopt;
  return sources;
}

LogicalResult Importer::importOp(shlo::CollectivePermuteOp permute) {
  DenseIntElementsAttr pairs = permute.getSourceTargetPairs();
  SmallVector<int64_t> ids(pairs.getValues<int64_t>());
  if (!permute.getChannelHandle())
    return op->emitError() << "'" << op->getName()
                           << "' is between replicas (it has no "
                              "channel_handle); only those between partitions "
                              "are understood";
  for (int64_t id : ids)
    if (id < 0 || id >= mesh.getNumDevices())
      return op->emitError() << "'" << op->getName() << "' names the device "
                             << id << " of " << mesh.getNumDevices();
  // The axes on which a pair differs; all manual ones where that does not do.
  SmallVector<ImportedAxis> differing, all;
  for (const ImportedAxis &axis : mesh.getAxes()) {
    if (!isManual(axis.name))
      continue;
    all.push_back(axis);
    for (size_t i = 0; i + 1 < ids.size(); i += 2)
      if (ids[i] / axis.stride % axis.size !=
          ids[i + 1] / axis.stride % axis.size) {
        differing.push_back(axis);
        break;
      }
  }
  for (ArrayRef<ImportedAxis> axes : {ArrayRef(differing), ArrayRef(all)}) {
    if (axes.empty())
      continue;
    auto sources = findSources(pairs, axes);
    if (!sources)
      continue;
    SmallVector<StringAttr> names;
    for (const ImportedAxis &axis : axes)
      names.push_back(axis.name);
    Value result = pm::CollectivePermuteOp::create(
        builder, location, permute.getType(), permute.getOperand(),
        strings(names), builder.getDenseI64ArrayAttr(*sources), mesh.getName());
    permute.getResult().replaceAllUsesWith(result);
    return success();
  }
  return op->emitError() << "'" << op->getName() << "' has the pairs " << pairs
                         << ", which are not the same in all groups of the "
                            "manual axes";
}

//===----------------------------------------------------------------------===//
// Numbers of devices
//===----------------------------------------------------------------------===//

/// Still to be visited for its sharding, and not to be erased before.
static bool isMarked(Operation *op) {
  return bool(op->getDiscardableAttr(sdy::kShardingAttr));
}

/// The constant that the value is in all elements, or none.
static std::optional<int64_t> getConstant(Value value) {
  auto constant = value.getDefiningOp<shlo::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APInt>().getZExtValue();
}

LogicalResult Importer::importOp(shlo::PartitionIdOp number) {
  RankedTensorType type = number.getType();
  // (number / stride) rem size is the coordinate on an axis: axis_index.
  for (Operation *user : llvm::make_early_inc_range(number->getUsers())) {
    auto divide = dyn_cast<shlo::DivOp>(user);
    if (!divide || divide.getLhs() != number.getResult() || isMarked(divide))
      continue;
    std::optional<int64_t> stride = getConstant(divide.getRhs());
    for (Operation *next :
         llvm::make_early_inc_range(divide->getUsers())) {
      auto remainder = dyn_cast<shlo::RemOp>(next);
      if (!stride || !remainder ||
          remainder.getLhs() != divide.getResult() || isMarked(remainder))
        continue;
      std::optional<int64_t> size = getConstant(remainder.getRhs());
      for (const ImportedAxis &axis : mesh.getAxes()) {
        if (!size || axis.stride != *stride || axis.size != *size ||
            !isManual(axis.name))
          continue;
        builder.setInsertionPoint(remainder);
        remainder.getResult().replaceAllUsesWith(axisIndex(axis.name, type));
        remainder.erase();
        break;
      }
    }
    if (divide->use_empty())
      divide.erase();
  }
  if (number->use_empty())
    return success();
  builder.setInsertionPoint(op);
  Value sum = scalar(0, type);
  for (const ImportedAxis &axis : mesh.getAxes()) {
    if (axis.size == 1)
      continue;
    if (!isManual(axis.name))
      return op->emitError()
             << "'" << op->getName() << "' depends on the axis " << axis.name
             << ", which is not a manual axis here";
    Value part = shlo::MulOp::create(builder, location, type,
                                     axisIndex(axis.name, type),
                                     scalar(axis.stride, type));
    sum = shlo::AddOp::create(builder, location, type, sum, part);
  }
  number.getResult().replaceAllUsesWith(sum);
  return success();
}
