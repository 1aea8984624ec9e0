//===- Partitioner.cpp - one function becomes that of a rank --------------===//

#include "Partitioner.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "../FunctionAttrs.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pipemesh;

OpHandlers::OpHandlers() {
  registerDynamicSliceHandlers(*this);
  registerGatherScatterHandlers(*this);
  registerGeneratedHandlers(*this);
  registerManualHandlers(*this);
  registerRegionHandlers(*this);
  registerMovedHandlers(*this);
  registerReductionHandlers(*this);
  registerReshardHandlers(*this);
  registerSizedHandlers(*this);
  registerTopKHandlers(*this);
  registerVocabularyHandlers(*this);
  registerWindowHandlers(*this);
}

const OpHandlers &OpHandlers::get() {
  static const OpHandlers handlers;
  return handlers;
}

Partitioner::Partitioner(func::FuncOp function, const MeshAxes &mesh,
                         const Padding &padding)
    : mesh(mesh), padding(padding), builder(function.getContext()),
      function(function), temporal(isPerMicroBatch(function)),
      reshards(mesh) {}

//===----------------------------------------------------------------------===//
// Original values
//===----------------------------------------------------------------------===//

const ValueSharding &Partitioner::shardingOf(Value original) {
  pm::ShardingAttr attr = pm::getSharding(original);
  std::unique_ptr<ValueSharding> &sharding = shardings[attr];
  if (!sharding)
    sharding = std::make_unique<ValueSharding>(attr);
  return *sharding;
}

LogicalResult Partitioner::check(Value value) {
  pm::ShardingAttr attr = pm::getSharding(value);
  if (!attr)
    return emitError(value.getLoc())
           << "a value without a sharding cannot be partitioned; run "
              "pm-propagate";
  RankedTensorType &known = localTypes[{value.getType(), attr}];
  if (known)
    return success();
  FailureOr<RankedTensorType> type = pipemesh::localTypeOf(
      value.getLoc(), globalTypeOf(value), shardingOf(value), mesh, temporal);
  if (failed(type))
    return failure();
  known = *type;
  return success();
}

LogicalResult Partitioner::check(Region &region) {
  for (Block &block : region) {
    for (BlockArgument arg : block.getArguments())
      if (failed(check(arg)))
        return failure();
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (failed(check(result)))
          return failure();
  }
  return success();
}

RankedTensorType Partitioner::localTypeOf(Value original) {
  RankedTensorType type =
      localTypes.lookup({original.getType(), pm::getSharding(original)});
  assert(type && "checked before anything is converted");
  return type;
}

RankedTensorType Partitioner::localTypeOf(RankedTensorType global,
                                          const ValueSharding &sharding) {
  SmallVector<int64_t> shape;
  for (auto [size, dim] : llvm::zip(global.getShape(), sharding.dims))
    shape.push_back(cutOf(size, dim).block);
  return global.clone(shape);
}

Axes Partitioner::cutting(ArrayRef<StringAttr> axes) const {
  Axes list = activeAxes(axes, mesh, temporal);
  llvm::erase_if(list, [&](StringAttr a) { return mesh.sizeOf(a) == 1; });
  return list;
}

Cut Partitioner::cutOf(int64_t size, const DimCut &dim) {
  Cut cut;
  cut.axes = cutting(dim.axes);
  cut.size = size;
  for (StringAttr axis : cut.axes)
    cut.blocks *= mesh.sizeOf(axis);
  cut.block = blockOf(size, dim, mesh, temporal);
  return cut;
}

Cut Partitioner::cutOf(Value original, unsigned dim) {
  return cutOf(globalTypeOf(original).getDimSize(dim),
               shardingOf(original).dims[dim]);
}

SmallVector<Cut> Partitioner::cutsOf(Value original) {
  SmallVector<Cut> cuts;
  for (unsigned dim = 0, rank = globalTypeOf(original).getRank(); dim < rank;
       ++dim)
    cuts.push_back(cutOf(original, dim));
  return cuts;
}

ShardingRule Partitioner::ruleOf(Operation *op) const {
  bool hasRule;
  return getRule(op, hasRule);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult Partitioner::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function with ")
           << function.getBody().getBlocks().size()
           << " blocks cannot be partitioned; use structured control flow";
  if (failed(check(function.getBody())))
    return failure();
  if (!function->hasAttr(pm::kFragmentAttr))
    noteGlobalTypes();

  Block *original = &function.getBody().front();
  entry = new Block;
  function.getBody().push_back(entry);
  for (BlockArgument arg : original->getArguments())
    define(arg, entry->addArgument(localTypeOf(arg), arg.getLoc()));
  builder.setInsertionPointToEnd(entry);
  if (failed(convertOps(*original)))
    return failure();
  Operation *end = original->getTerminator();
  func::ReturnOp::create(builder, end->getLoc(), locals(end->getOperands()));
  function.setFunctionType(builder.getFunctionType(
      entry->getArgumentTypes(), entry->getTerminator()->getOperandTypes()));
  original->erase();
  return success();
}

/// The local types do not tell how long a value is whose last blocks are short.
/// The buffers of fragments do.
void Partitioner::noteGlobalTypes() {
  auto typeOf = [&](Value value) -> Attribute {
    return padding.hasPadding(value) ? TypeAttr::get(value.getType()) : nullptr;
  };
  SmallVector<Attribute> arguments, results;
  for (BlockArgument arg : function.getArguments())
    arguments.push_back(typeOf(arg));
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back(typeOf(value));
  if (llvm::any_of(arguments, [](Attribute a) { return a; }))
    setArgAttrs(function, "pm.global_type", arguments);
  if (llvm::any_of(results, [](Attribute a) { return a; }))
    setResultAttrs(function, "pm.global_type", results);
}

LogicalResult Partitioner::convertOps(Block &original) {
  for (Operation &op : original.without_terminator())
    if (failed(convert(&op)))
      return failure();
  return success();
}

LogicalResult Partitioner::convertRegion(
    Region &original, Region &region, TypeRange argumentTypes,
    llvm::function_ref<LogicalResult(Operation *)> finish) {
  OpBuilder::InsertionGuard guard(builder);
  Block &from = original.front();
  SmallVector<Location> locations;
  for (BlockArgument arg : from.getArguments())
    locations.push_back(arg.getLoc());
  Block *block =
      builder.createBlock(&region, region.end(), argumentTypes, locations);
  define(from.getArguments(), block->getArguments());
  if (failed(check(original)) || failed(convertOps(from)))
    return failure();
  return finish(from.getTerminator());
}

LogicalResult Partitioner::convert(Operation *op) {
  if (Attribute own = op->getDiscardableAttr(pm::kPhaseAttr))
    phase = own;
  else if (isa<func::FuncOp>(op->getParentOp()))
    phase = {};
  llvm::SaveAndRestore<Operation *> outer(current, op);
  llvm::SaveAndRestore<const char *> outerWhy(why, nullptr);
  if (OpHandler handler = OpHandlers::get().lookup(op))
    return handler(*this, op);
  return convertPlain(op);
}

//===----------------------------------------------------------------------===//
// Ops that are copied
//===----------------------------------------------------------------------===//

SmallVector<Value> Partitioner::locals(ValueRange originals) const {
  SmallVector<Value> list;
  for (Value original : originals)
    list.push_back(local(original));
  return list;
}

void Partitioner::define(ValueRange originals, ValueRange all) {
  for (auto [original, value] : llvm::zip_equal(originals, all))
    define(original, value);
}

Operation *Partitioner::copy(Operation *op, ValueRange operands,
                             TypeRange types, bool withRegions) {
  // There are few sets of attributes and many ops.
  DictionaryAttr own = op->getDiscardableAttrDictionary();
  DictionaryAttr &attributes = attributesWithoutShardings[own];
  if (!attributes) {
    NamedAttrList list(own);
    list.erase(pm::kShardingsAttr);
    attributes = list.getDictionary(op->getContext());
  }
  Operation *made =
      Operation::create(op->getLoc(), op->getName(), types, operands,
                        attributes, op->getPropertiesStorage(),
                        /*successors=*/{}, op->getNumRegions());
  if (withRegions && op->getNumRegions()) {
    IRMapping mapping;
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      mapping.map(value, local(value));
    for (auto [from, to] : llvm::zip(op->getRegions(), made->getRegions()))
      from.cloneInto(&to, mapping);
  }
  builder.insert(made);
  return made;
}

Value Partitioner::localAs(Operation *op, Value original,
                           const ValueSharding &sharding) {
  ValueSharding own = shardingOf(original);
  if (own == sharding)
    return local(original);
  if (sharding.partial.empty() || sharding.kind != pm::ReductionKind::Sum ||
      !isKnownZero(original) ||
      (!own.partial.empty() && own.kind != sharding.kind))
    return bring(op, original, sharding);
  // Zero is partial over everything.
  Axes given = own.partial;
  own.kind = sharding.kind;
  own.partial.clear();
  for (StringAttr axis : mesh.all())
    if (llvm::is_contained(given, axis) ||
        llvm::is_contained(sharding.partial, axis))
      own.partial.push_back(axis);
  return reshard(op, local(original), globalTypeOf(original), own, sharding);
}

Operation *Partitioner::copy(Operation *op, ValueRange operands) {
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(localTypeOf(result));
  return copy(op, operands, types);
}

SmallVector<Value> Partitioner::maskedOperands(Operation *op) {
  SmallVector<Value> operands = locals(op->getOperands());
  if (llvm::none_of(op->getOperands(),
                    [&](Value value) { return padding.hasPadding(value); }))
    return operands;
  ShardingRule rule = ruleOf(op);
  for (auto [index, original] : llvm::enumerate(op->getOperands())) {
    if (!padding.hasPadding(original))
      continue;
    for (unsigned dim = 0, rank = globalTypeOf(original).getRank(); dim < rank;
         ++dim) {
      Cut cut = cutOf(original, dim);
      if (!cut.isUneven())
        continue;
      for (int64_t number : rule.operands[index][dim]) {
        const Factor &factor = rule.factors[number];
        if (factor.kind != FactorKind::Reduction)
          continue;
        // Zero is neutral in a sum, and no maximum of what is negative.
        if (factor.reduction == ReductionKind::Sum && !mayHoldGarbage(original))
          break;
        operands[index] =
            mask(op->getLoc(), operands[index], dim, cut, factor.reduction);
        break;
      }
    }
  }
  return operands;
}

LogicalResult Partitioner::convertPlain(Operation *op) {
  if (isSeeded(Fault::DroppedPermute) && isa<pm::CollectivePermuteOp>(op)) {
    define(op->getResults(), locals(op->getOperands()));
    return success();
  }
  define(op->getResults(), copy(op, maskedOperands(op))->getResults());
  return success();
}
