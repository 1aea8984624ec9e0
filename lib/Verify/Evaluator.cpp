//===- Evaluator.cpp - evaluation of ops on ranks in lockstep -------------===//

#include "Evaluator.h"
#include "pipemesh/Interfaces/Interfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pipemesh::interp {

//===----------------------------------------------------------------------===//
// Rank grid
//===----------------------------------------------------------------------===//

void RankGrid::addSpatialAxis(StringRef name, int64_t size) {
  axes.push_back({name.str(), size, /*temporal=*/false});
  numRanks *= size;
}

void RankGrid::addTemporalAxis(StringRef name, int64_t size) {
  axes.push_back({name.str(), size, /*temporal=*/true});
  numMicroBatches *= size;
}

const RankGrid::Axis *RankGrid::find(StringRef name) const {
  for (const Axis &axis : axes)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

bool RankGrid::isTemporal(StringRef axis) const {
  const Axis *found = find(axis);
  return found && found->temporal;
}

int64_t RankGrid::getAxisSize(StringRef axis) const {
  const Axis *found = find(axis);
  return found ? found->size : 0;
}

int64_t RankGrid::getCoordinate(StringRef name, unsigned rank,
                                int64_t microBatch) const {
  const Axis *wanted = find(name);
  assert(wanted && "no such axis");
  int64_t rest = wanted->temporal ? microBatch : rank;
  // The last axis of a kind varies fastest.
  for (const Axis &axis : llvm::reverse(axes)) {
    if (axis.temporal != wanted->temporal)
      continue;
    if (&axis == wanted)
      return rest % axis.size;
    rest /= axis.size;
  }
  return 0;
}

SmallVector<unsigned> RankGrid::getGroup(unsigned rank,
                                         ArrayRef<StringRef> over) const {
  SmallVector<unsigned> group;
  for (unsigned other = 0; other < numRanks; ++other) {
    bool same = llvm::all_of(axes, [&](const Axis &axis) {
      return axis.temporal || llvm::is_contained(over, StringRef(axis.name)) ||
             getCoordinate(axis.name, rank, 0) ==
                 getCoordinate(axis.name, other, 0);
    });
    if (same)
      group.push_back(other);
  }
  return group;
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

OpRegistry::OpRegistry() {
  registerElementwiseOps(*this);
  registerShapeOps(*this);
  registerContractionOps(*this);
  registerReductionOps(*this);
  registerIndexOps(*this);
  registerSortOps(*this);
  registerWindowOps(*this);
  registerRandomOps(*this);
  registerControlOps(*this);
  registerChloOps(*this);
  registerPMOps(*this);
  registerManualOps(*this);
}

const OpRegistry &OpRegistry::get() {
  static const OpRegistry registry;
  return registry;
}

const Handler *OpRegistry::lookup(Operation *op) const {
  auto it = handlers.find(op->getName().getStringRef());
  return it == handlers.end() ? nullptr : &it->second;
}

void OpRegistry::addElementwise(StringRef name, LocalHandler handler) {
  handlers[name] = {handler, nullptr, /*elementwise=*/true};
}
void OpRegistry::addLocal(StringRef name, LocalHandler handler) {
  handlers[name] = {handler, nullptr, /*elementwise=*/false};
}
void OpRegistry::addRanked(StringRef name, RankedHandler handler) {
  handlers[name] = {nullptr, handler, /*elementwise=*/false};
}

RankedTensorType LocalCall::getElementwiseType() const {
  RankedTensorType result = getResultType();
  const Tensor *largest = &operands.front();
  for (const Tensor &operand : operands.drop_front())
    if (operand.getRank() > largest->getRank())
      largest = &operand;
  if (largest->getShape() == result.getShape())
    return result;
  return RankedTensorType::get(largest->getShape(), result.getElementType());
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

void Evaluator::bindOn(Value value, const RankTensors &tensors,
                       ArrayRef<unsigned> ranks) {
  RankTensors &bound = values[value];
  bound.resize(grid.getNumRanks());
  for (unsigned rank : ranks)
    bound[rank] = tensors[rank];
}

const std::vector<SmallVector<Value, 2>> &
Evaluator::getDyingValues(Block &block) {
  auto &entry = dyingValues[&block];
  if (entry)
    return *entry;
  auto lists = std::make_unique<std::vector<SmallVector<Value, 2>>>();
  llvm::DenseSet<Value> used;
  for (Operation &op : llvm::reverse(block)) {
    SmallVector<Value, 2> dying;
    auto use = [&](Value value) {
      if (value.getParentBlock() == &block && used.insert(value).second)
        dying.push_back(value);
    };
    // Results that nothing uses die at once.
    for (Value result : op.getResults())
      use(result);
    for (Value operand : op.getOperands())
      use(operand);
    if (op.getNumRegions())
      op.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          use(operand);
      });
    lists->push_back(std::move(dying));
  }
  std::reverse(lists->begin(), lists->end());
  entry = std::move(lists);
  return *entry;
}

LogicalResult Evaluator::run(Region &region, ArrayRef<RankTensors> arguments,
                             ArrayRef<unsigned> active,
                             SmallVectorImpl<RankTensors> &results) {
  if (!region.hasOneBlock())
    return region.getParentOp()->emitError(
        "the interpreter evaluates regions of one block");
  Block &block = region.front();
  assert(arguments.size() == block.getNumArguments());
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    bindOn(argument, value, active);
  const auto &dying = getDyingValues(block);
  for (auto [index, op] : llvm::enumerate(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      results.clear();
      for (Value operand : op.getOperands())
        results.push_back(lookup(operand));
    } else if (failed(runOp(&op, active))) {
      return failure();
    }
    for (Value value : dying[index])
      values.erase(value);
  }
  return success();
}

LogicalResult Evaluator::runOnRank(Region &region, ArrayRef<Tensor> arguments,
                                   unsigned rank,
                                   SmallVectorImpl<Tensor> &results) {
  SmallVector<RankTensors> wide(arguments.size());
  for (auto [tensors, argument] : llvm::zip(wide, arguments)) {
    tensors.resize(grid.getNumRanks());
    tensors[rank] = argument;
  }
  SmallVector<RankTensors> wideResults;
  if (failed(run(region, wide, rank, wideResults)))
    return failure();
  results.clear();
  for (RankTensors &tensors : wideResults)
    results.push_back(tensors[rank]);
  return success();
}

LogicalResult Evaluator::runOp(Operation *op, ArrayRef<unsigned> active) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() ||
        (!Tensor::isSupported(tensor.getElementType()) &&
         !isa<ComplexType>(tensor.getElementType())))
      return op->emitError("the interpreter has no values of type ") << type;
  }
  if (const Handler *handler = OpRegistry::get().lookup(op))
    return handler->local ? runLocal(op, handler->local, active)
                          : handler->ranked(*this, op, active);
  if (isa<DecomposableOpInterface>(op)) {
    Operation *function = getDecomposition(op);
    if (!function)
      return failure();
    SmallVector<RankTensors> arguments, results;
    for (Value operand : op->getOperands())
      arguments.push_back(lookup(operand));
    if (failed(run(function->getRegion(0), arguments, active, results)))
      return failure();
    for (auto [value, tensors] : llvm::zip(op->getResults(), results))
      bindOn(value, tensors, active);
    return success();
  }
  return op->emitError("the interpreter does not evaluate '")
         << op->getName() << "'";
}

LogicalResult Evaluator::runLocal(Operation *op, LocalHandler handler,
                                  ArrayRef<unsigned> active) {
  // What regions use from outside counts as operands when ranks are compared.
  ArrayRef<Value> captured;
  if (op->getNumRegions()) {
    auto [it, isNew] = captures.try_emplace(op);
    if (isNew) {
      llvm::SetVector<Value> above;
      getUsedValuesDefinedAbove(op->getRegions(), above);
      it->second.assign(above.begin(), above.end());
    }
    captured = it->second;
  }
  unsigned numOperands = op->getNumOperands();
  SmallVector<SmallVector<Tensor>> operands;
  SmallVector<RankTensors> results(op->getNumResults(),
                                   RankTensors(grid.getNumRanks()));
  for (auto [position, rank] : llvm::enumerate(active)) {
    SmallVector<Tensor> mine;
    for (Value operand : op->getOperands())
      mine.push_back(lookup(operand)[rank]);
    for (Value value : captured)
      mine.push_back(lookup(value)[rank]);
    bool shared = false;
    for (auto [other, theirs] : llvm::enumerate(operands)) {
      shared = llvm::equal(mine, theirs, [](const Tensor &a, const Tensor &b) {
        return a.identity() == b.identity();
      });
      if (!shared)
        continue;
      for (RankTensors &result : results)
        result[rank] = result[active[other]];
      break;
    }
    if (!shared) {
      SmallVector<Tensor> values;
      LocalCall call{op, ArrayRef(mine).take_front(numOperands), values, *this,
                     rank};
      if (failed(handler(call)))
        return failure();
      assert(values.size() == op->getNumResults());
      for (auto [result, value] : llvm::zip(results, values))
        result[rank] = value;
    }
    operands.push_back(std::move(mine));
  }
  for (auto [value, tensors] : llvm::zip(op->getResults(), results))
    bindOn(value, tensors, active);
  return success();
}

Operation *Evaluator::getDecomposition(Operation *op) {
  OwningOpRef<Operation *> &entry = decompositions[op];
  if (entry)
    return *entry;
  OpBuilder builder(op->getContext());
  SmallVector<Type> operandTypes(op->getOperandTypes());
  auto type = builder.getFunctionType(operandTypes, op->getResultTypes());
  auto function =
      func::FuncOp::create(op->getLoc(), "decomposition", type);
  OwningOpRef<Operation *> owner(function);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip(op->getOperands(), function.getArguments()))
    mapping.map(operand, argument);
  // The same value may be several operands, so they are set one by one.
  Operation *copy = builder.clone(*op, mapping);
  copy->setOperands(function.getArguments());
  SmallVector<Value> results =
      cast<DecomposableOpInterface>(copy).decompose(builder);
  if (results.size() != op->getNumResults()) {
    op->emitError("has no decomposition to evaluate");
    return nullptr;
  }
  for (auto [value, wanted] : llvm::zip(results, op->getResultTypes()))
    if (value.getType() != wanted) {
      op->emitError("the decomposition gives ")
          << value.getType() << " and not " << wanted;
      return nullptr;
    }
  builder.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(builder, op->getLoc(), results);
  copy->erase();
  entry = std::move(owner);
  return *entry;
}

//===----------------------------------------------------------------------===//
// Regions of scalars
//===----------------------------------------------------------------------===//

ScalarRegion::ScalarRegion(LocalCall &call, Region &region)
    : call(call), region(region) {
  Block &block = region.front();
  for (Operation &op : block.without_terminator()) {
    const Handler *handler = OpRegistry::get().lookup(&op);
    elementwise &= (handler && handler->elementwise) ||
                   op.hasTrait<OpTrait::ConstantLike>();
  }
  Operation *end = block.getTerminator();
  if (block.getNumArguments() != 2 || end->getNumOperands() != 1)
    return;
  if (end->getOperand(0) == block.getArgument(1))
    appliedName = "second";
  Operation &first = block.front();
  if (first.getNextNode() == end && first.getNumResults() == 1 &&
      end->getOperand(0) == first.getResult(0) &&
      llvm::equal(first.getOperands(), block.getArguments()))
    appliedName = first.getName().getStringRef();
}

LogicalResult ScalarRegion::run(ArrayRef<Tensor> arguments,
                                SmallVectorImpl<Tensor> &results) {
  ArrayRef<int64_t> shape;
  for (const Tensor &argument : arguments)
    if (argument.getRank())
      shape = argument.getShape();
  if (shape.empty())
    return call.evaluator.runOnRank(region, arguments, call.rank, results);

  if (elementwise) {
    if (failed(
            call.evaluator.runOnRank(region, arguments, call.rank, results)))
      return failure();
    // What does not depend on the arguments is still a scalar.
    for (Tensor &result : results) {
      if (result.getShape() == shape)
        continue;
      Tensor wide(RankedTensorType::get(shape, result.getElementType()));
      SmallVector<int64_t> zeros(shape.size(), 0);
      copyBox(shape, result, {0, zeros}, wide, {0, getStrides(shape)});
      result = wide;
    }
    return success();
  }

  int64_t count = ShapedType::getNumElements(shape);
  SmallVector<Tensor> scalars, scalarResults;
  results.clear();
  for (int64_t i = 0; i < count; ++i) {
    scalars.clear();
    for (const Tensor &argument : arguments) {
      Tensor scalar(RankedTensorType::get({}, argument.getElementType()));
      copyBox({}, argument, {argument.getRank() ? i : 0, {}}, scalar, {0, {}});
      scalars.push_back(scalar);
    }
    if (failed(call.evaluator.runOnRank(region, scalars, call.rank,
                                        scalarResults)))
      return failure();
    for (auto [index, scalar] : llvm::enumerate(scalarResults)) {
      if (i == 0)
        results.push_back(
            Tensor(RankedTensorType::get(shape, scalar.getElementType())));
      copyBox({}, scalar, {0, {}}, results[index], {i, {}});
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<SmallVector<Tensor>>>
runFunctionOnRanks(func::FuncOp function, const RankGrid &grid,
                   ArrayRef<SmallVector<Tensor>> arguments,
                   int64_t microBatch) {
  unsigned numRanks = grid.getNumRanks();
  if (function.isExternal()) {
    function.emitError("function '") << function.getName() << "' has no body";
    return failure();
  }
  if (arguments.size() != numRanks) {
    function.emitError("needs arguments for ")
        << numRanks << " ranks, and got them for " << arguments.size();
    return failure();
  }
  SmallVector<RankTensors> values(function.getNumArguments(),
                                  RankTensors(numRanks));
  SmallVector<unsigned> active;
  for (auto [rank, list] : llvm::enumerate(arguments)) {
    active.push_back(rank);
    if (list.size() != values.size()) {
      function.emitError("takes ")
          << values.size() << " arguments, and got " << list.size();
      return failure();
    }
    for (auto [index, tensor] : llvm::enumerate(list)) {
      Type type = function.getArgumentTypes()[index];
      if (tensor.getType() != type) {
        function.emitError("argument ")
            << index << " is of type " << type << ", and got a value of "
            << tensor.getType();
        return failure();
      }
      values[index][rank] = tensor;
    }
  }
  Evaluator evaluator(grid);
  evaluator.setMicroBatch(microBatch);
  SmallVector<RankTensors> results;
  if (failed(evaluator.run(function.getBody(), values, active, results)))
    return failure();
  SmallVector<SmallVector<Tensor>> lists(numRanks);
  for (RankTensors &tensors : results)
    for (unsigned rank : active)
      lists[rank].push_back(tensors[rank]);
  return lists;
}

FailureOr<SmallVector<Tensor>> runFunction(func::FuncOp function,
                                           ArrayRef<Tensor> arguments) {
  SmallVector<Tensor> list(arguments);
  auto results = runFunctionOnRanks(function, RankGrid(), ArrayRef<SmallVector<Tensor>>(list));
  if (failed(results))
    return failure();
  return std::move(results->front());
}

} // namespace pipemesh::interp
