//===- FusionGroups.cpp - which ops become one kernel ---------------------===//

#include "FusionGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/LibraryProduct.h"
#include "llvm/ADT/MapVector.h"
#include <queue>

using namespace mlir;
using namespace pipemesh;

/// Limits that keep a kernel's code and its operand table small.
static constexpr size_t kMaxOps = 96, kMaxOperands = 40;
/// A kernel that runs on one thread holds at most so many elements.
static constexpr int64_t kSmall = 1 << 16;

static bool isWhole(Operation *op) { return isWholeKernel(op); }

/// Stays outside of kernels.
static bool staysOutside(Operation *op) {
  return isLibraryProduct(op) ||
         isa<pmrt::ProductOp, pm::AllReduceOp, pm::AllGatherOp,
             pm::ReduceScatterOp, pm::AllToAllOp, pm::CollectivePermuteOp>(
             op) ||
         hasProgramRegions(op);
}

static bool isCopied(Operation *op) {
  return isa<stablehlo::ConstantOp, stablehlo::IotaOp,
             stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op) &&
         !op->hasAttr(kMaterializedAttr);
}

void pipemesh::materializeOperands(Block &block) {
  llvm::DenseMap<Value, Value> copies;
  std::function<Value(Value)> copy = [&](Value value) -> Value {
    Operation *op = value.getDefiningOp();
    if (!op || !isCopied(op))
      return value;
    auto it = copies.find(value);
    if (it != copies.end())
      return it->second;
    Value source;
    if (isa<stablehlo::ReshapeOp>(op)) {
      source = copy(op->getOperand(0));
      if (source == op->getOperand(0))
        return value;
    }
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *made = builder.clone(*op);
    if (source)
      made->setOperand(0, source);
    else
      made->setAttr(kMaterializedAttr, builder.getUnitAttr());
    return copies[value] = made->getResult(0);
  };
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isWhole(&op) || staysOutside(&op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      for (OpOperand &operand : op.getOpOperands())
        operand.set(copy(operand.get()));
}

void pipemesh::sinkCopiedOps(Operation *function) {
  llvm::DenseMap<std::pair<Block *, Value>, Value> copies;
  std::function<Value(Value, Block *)> copy = [&](Value value,
                                                  Block *block) -> Value {
    Operation *op = value.getDefiningOp();
    if (!op || !isCopied(op) || op->getBlock() == block)
      return value;
    auto it = copies.find({block, value});
    if (it != copies.end())
      return it->second;
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, copy(operand, block));
    // Sources stand in front of the region, or in front of this copy.
    OpBuilder builder = OpBuilder::atBlockBegin(block);
    for (Value operand : op->getOperands())
      if (Operation *source = mapping.lookup(operand).getDefiningOp();
          source && source->getBlock() == block)
        builder.setInsertionPointAfter(source);
    return copies[{block, value}] = builder.clone(*op, mapping)->getResult(0);
  };
  function->walk([&](Operation *op) {
    Operation *parent = op->getParentOp();
    if (!parent || !hasProgramRegions(parent))
      return;
    for (OpOperand &operand : op->getOpOperands())
      operand.set(copy(operand.get(), op->getBlock()));
  });
}

//===----------------------------------------------------------------------===//
// Sources and readers
//===----------------------------------------------------------------------===//

FusionGroup *FusionGroups::getSource(Value value) const {
  Operation *op = value.getDefiningOp();
  while (op && isCopied(op))
    op = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  return op ? groupOf.lookup(op) : nullptr;
}

void FusionGroups::collectSources(
    Operation *op, llvm::SmallSetVector<FusionGroup *, 4> &sources) const {
  auto add = [&](Operation *reader) {
    for (Value operand : reader->getOperands())
      if (FusionGroup *source = getSource(operand))
        sources.insert(source);
  };
  add(op);
  // What a loop or a choice captures.
  if (hasProgramRegions(op))
    op->walk(add);
}

static bool isReadOutside(Value value,
                          const llvm::SetVector<Operation *> &inside) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (inside.contains(user))
      return false;
    return !isCopied(user) || isReadOutside(user->getResult(0), inside);
  });
}

SmallVector<Value> FusionGroups::getOutputs(const FusionGroup &group) const {
  SmallVector<Value> outputs;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (group.whole || isReadOutside(result, group.ops))
        outputs.push_back(result);
  return outputs;
}

static bool isCopiedIntoOps(Value value,
                            const llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || !isCopied(op))
    return false;
  if (!isa<stablehlo::ReshapeOp>(op))
    return true;
  Value source = op->getOperand(0);
  Operation *sourceOp = source.getDefiningOp();
  return sourceOp && (ops.contains(sourceOp) || isCopiedIntoOps(source, ops));
}

bool FusionGroups::isCopiedInto(Value value, const FusionGroup &group) const {
  return !group.whole && isCopiedIntoOps(value, group.ops);
}

static KernelBody makeBody(const llvm::SetVector<Operation *> &ops) {
  KernelBody body;
  std::function<void(Operation *)> add = [&](Operation *op) {
    if (body.ops.contains(op))
      return;
    for (Value operand : op->getOperands())
      if (isCopiedIntoOps(operand, ops))
        add(operand.getDefiningOp());
    body.ops.insert(op);
  };
  for (Operation *op : ops)
    add(op);
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isReadOutside(result, ops))
        body.outputs.push_back(result);
  return body;
}

static size_t countOperands(const KernelBody &body) {
  llvm::SmallDenseSet<Value> operands;
  for (Operation *op : body.ops)
    for (Value operand : op->getOperands())
      if (!body.defines(operand))
        operands.insert(operand);
  return operands.size() + body.outputs.size();
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// Whether an op costs less than to read its result back from memory.
static bool isCheap(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MulOp,
             stablehlo::NegOp, stablehlo::SelectOp, stablehlo::CompareOp,
             stablehlo::ConvertOp, stablehlo::MaxOp, stablehlo::MinOp>(op);
}

/// Whether something that stays outside of fused kernels reads the value, which
/// is then written in any case.
static bool isReadWhole(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != value.getParentBlock())
      return true;
    if (isa<stablehlo::ReshapeOp>(user))
      return isReadWhole(user->getResult(0));
    return staysOutside(user) || isWhole(user) ||
           user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Gives a sum over rows its own copy of the cheap ops between it and what is
/// in memory anyway, so that no intermediate is written only for it.
static void copyProducers(Operation *reduce) {
  OpBuilder builder(reduce);
  llvm::DenseMap<Value, Value> copies;
  unsigned budget = 16;
  std::function<bool(Value, int64_t)> isInMemory = [&](Value value,
                                                       int64_t elements) {
    Operation *op = value.getDefiningOp();
    if (op && isCopied(op) && op->getBlock() == reduce->getBlock())
      return op->getNumOperands() == 0 ||
             isInMemory(op->getOperand(0), elements);
    return !op || op->getBlock() != reduce->getBlock() || staysOutside(op) ||
           isWhole(op) || isReadWhole(value) ||
           getNumElements(value) * 8 <= elements;
  };
  std::function<bool(Value, int64_t)> canCopy = [&](Value value,
                                                    int64_t elements) {
    if (isInMemory(value, elements))
      return true;
    Operation *op = value.getDefiningOp();
    if (isCopied(op))
      return canCopy(op->getOperand(0), elements);
    return isCheap(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return canCopy(operand, elements);
           });
  };
  std::function<Value(Value, int64_t)> copy = [&](Value value,
                                                  int64_t elements) -> Value {
    if (isInMemory(value, elements) || budget == 0)
      return value;
    auto it = copies.find(value);
    if (it != copies.end())
      return it->second;
    --budget;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, copy(operand, elements));
    return copies[value] = builder.clone(*op, mapping)->getResult(0);
  };
  Value input = reduce->getOperand(0);
  int64_t elements = getNumElements(input);
  Operation *op = input.getDefiningOp();
  if (op && !isInMemory(input, elements) && canCopy(input, elements))
    reduce->setOperand(0, copy(input, elements));
}

static bool isColumnSum(Operation *op) {
  FailureOr<SimpleReduction> reduction = matchReduction(op);
  return succeeded(reduction) && reduction->leading && !reduction->trailing &&
         reduction->keptElements > 1;
}

static bool isColumnSums(const FusionGroup &group) {
  return llvm::any_of(group.ops, isColumnSum);
}

void FusionGroups::formColumnSums() {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isColumnSum(&op))
      copyProducers(&op);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (auto [index, op] : llvm::enumerate(block))
    position[&op] = index;
  numNodes = position.size();
  for (Operation &op : block) {
    if (!isColumnSum(&op) || groupOf.contains(&op))
      continue;
    FusionGroup *group = create(&op);
    // Backwards, so that all readers of an op were looked at before it.
    std::priority_queue<std::pair<unsigned, Operation *>> queue;
    auto push = [&](Operation *reader) {
      for (Value operand : reader->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        while (producer && isCopied(producer))
          producer = producer->getNumOperands()
                         ? producer->getOperand(0).getDefiningOp()
                         : nullptr;
        if (producer)
          queue.push({position.lookup(producer), producer});
      }
    };
    push(&op);
    while (!queue.empty()) {
      Operation *producer = queue.top().second;
      queue.pop();
      if (groupOf.contains(producer) || producer->getBlock() != &block ||
          !producer->hasTrait<stablehlo::Elementwise>() ||
          !hasElementCode(producer) ||
          isReadOutside(producer->getResult(0), group->ops))
        continue;
      llvm::SetVector<Operation *> wider = group->ops;
      wider.insert(producer);
      FailureOr<KernelPlan> plan = planKernel(makeBody(wider));
      if (failed(plan) || plan->kind != KernelPlan::Columns)
        continue;
      insert(*group, producer);
      push(producer);
    }
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

FusionGroup *FusionGroups::create(Operation *op) {
  auto group = std::make_unique<FusionGroup>();
  group->number = groups.size();
  group->waits.resize(std::max<size_t>(numNodes, 1));
  // A number that is free again keeps the sets small.
  if (!groups.empty() && groups.back()->gone) {
    group->number = groups.back()->number;
    groups.pop_back();
  }
  groups.push_back(std::move(group));
  insert(*groups.back(), op);
  return groups.back().get();
}

void FusionGroups::insert(FusionGroup &group, Operation *op) {
  group.ops.insert(op);
  groupOf[op] = &group;
}

/// Merging is wrong when another group would have to run in between.
bool FusionGroups::canMerge(FusionGroup &into, FusionGroup &other) const {
  if (!into.waits[other.number] && !other.waits[into.number])
    return true;
  for (const auto &between : groups) {
    if (between->gone || between.get() == &into || between.get() == &other)
      continue;
    if ((into.waits[between->number] && between->waits[other.number]) ||
        (other.waits[between->number] && between->waits[into.number]))
      return false;
  }
  return true;
}

/// Whether the ops of both make a good kernel.
static bool isGoodKernel(const llvm::SetVector<Operation *> &ops) {
  if (ops.size() > kMaxOps)
    return false;
  KernelBody body = makeBody(ops);
  if (countOperands(body) > kMaxOperands)
    return false;
  FailureOr<KernelPlan> plan = planKernel(body);
  if (failed(plan))
    return false;
  switch (plan->kind) {
  case KernelPlan::Flat:
    return true;
  case KernelPlan::Rows:
    return plan->rows >= 16 || plan->rows * plan->columns <= kSmall;
  default:
    return false;
  }
}

void FusionGroups::merge(FusionGroup &into, FusionGroup &other) {
  for (Operation *op : other.ops)
    insert(into, op);
  into.waits |= other.waits;
  into.waits.reset(into.number);
  into.waits.reset(other.number);
  other.gone = true;
  for (const auto &group : groups) {
    if (group->gone || group.get() == &into)
      continue;
    if (group->waits[other.number]) {
      group->waits.reset(other.number);
      group->waits.set(into.number);
    }
    if (group->waits[into.number])
      group->waits |= into.waits;
  }
}

LogicalResult FusionGroups::place(Operation *op) {
  FusionGroup *group = groupOf.lookup(op);
  bool isNew = !group;
  if (isNew)
    group = create(op);
  llvm::SmallSetVector<FusionGroup *, 4> sources;
  collectSources(op, sources);
  for (FusionGroup *source : sources) {
    if (source == group)
      continue;
    group->waits |= source->waits;
    group->waits.set(source->number);
  }
  group->waits.reset(group->number);
  if (!isNew) {
    group->fusable = true;
    return success();
  }
  if (staysOutside(op))
    return success();
  if (isWhole(op)) {
    group->whole = true;
    return success();
  }
  if (op->getNumResults() != 1 || !hasElementCode(op))
    return op->emitError("cannot be computed by a kernel; rewrite it with ops "
                         "that move or combine elements at fixed places");
  group->fusable = true;
  SmallVector<FusionGroup *> order(sources.begin(), sources.end());
  llvm::sort(order, [](FusionGroup *a, FusionGroup *b) {
    return a->number > b->number;
  });
  for (FusionGroup *source : order) {
    if (source->gone || source == group || !source->fusable ||
        isColumnSums(*source) || !canMerge(*source, *group))
      continue;
    llvm::SetVector<Operation *> both = source->ops;
    both.insert(group->ops.begin(), group->ops.end());
    if (!isGoodKernel(both))
      continue;
    merge(*source, *group);
    group = source;
  }
  return success();
}

/// Sums over the same rows that read a common tensor are made together.
void FusionGroups::mergeColumnSums() {
  for (size_t i = 0; i < groups.size(); ++i) {
    FusionGroup &first = *groups[i];
    if (first.gone || !first.fusable || !isColumnSums(first))
      continue;
    for (size_t j = i + 1; j < groups.size() && j < i + 16; ++j) {
      FusionGroup &second = *groups[j];
      if (second.gone || !second.fusable || !isColumnSums(second) ||
          !canMerge(first, second))
        continue;
      llvm::SetVector<Operation *> both = first.ops;
      both.insert(second.ops.begin(), second.ops.end());
      KernelBody one = makeBody(first.ops), two = makeBody(second.ops),
                 body = makeBody(both);
      size_t separate = countOperands(one) + countOperands(two);
      if (body.outputs.size() > 2 || countOperands(body) >= separate)
        continue;
      FailureOr<KernelPlan> plan = planKernel(body);
      if (succeeded(plan) && plan->kind == KernelPlan::Columns)
        merge(first, second);
    }
  }
}

/// Kernels that stand near each other and read the same large tensor read it
/// once.
void FusionGroups::mergeSiblings() {
  constexpr int64_t large = 1 << 12;
  constexpr unsigned near = 48;
  llvm::MapVector<Value, llvm::SmallSetVector<FusionGroup *, 4>> readers;
  for (Operation &op : block.without_terminator()) {
    FusionGroup *group = groupOf.lookup(&op);
    if (!group || !group->fusable || isColumnSums(*group))
      continue;
    for (Value operand : op.getOperands()) {
      while (auto reshape = operand.getDefiningOp<stablehlo::ReshapeOp>())
        operand = reshape.getOperand();
      Operation *source = operand.getDefiningOp();
      if (getNumElements(operand) >= large &&
          !(source && (isCopied(source) || group->ops.contains(source))))
        readers[operand].insert(group);
    }
  }
  auto first = [&](FusionGroup *group) {
    unsigned result = ~0u;
    for (Operation *op : group->ops)
      result = std::min(result, position.lookup(op));
    return result;
  };
  for (auto &entry : readers) {
    ArrayRef<FusionGroup *> list = entry.second.getArrayRef();
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      FusionGroup *one = list[i], *two = list[i + 1];
      if (one->gone || two->gone || one == two ||
          first(two) > first(one) + near || first(one) > first(two) + near ||
          !canMerge(*one, *two))
        continue;
      llvm::SetVector<Operation *> both = one->ops;
      both.insert(two->ops.begin(), two->ops.end());
      KernelBody body = makeBody(both);
      int64_t largest = 0;
      for (Value output : body.outputs)
        largest = std::max(largest, getNumElements(output));
      if (getNumElements(entry.first) * 2 >= largest && isGoodKernel(both))
        merge(*one, *two);
    }
  }
}

LogicalResult FusionGroups::form() {
  formColumnSums();
  for (Operation &op : block.without_terminator())
    if (!isCopied(&op) && failed(place(&op)))
      return failure();
  mergeColumnSums();
  mergeSiblings();
  sort();
  return success();
}

void FusionGroups::sort() {
  SmallVector<FusionGroup *> present;
  llvm::DenseMap<unsigned, FusionGroup *> byNumber;
  for (const auto &group : groups) {
    if (group->gone)
      continue;
    SmallVector<Operation *> ops(group->ops.begin(), group->ops.end());
    llvm::sort(ops, [&](Operation *a, Operation *b) {
      return position.lookup(a) < position.lookup(b);
    });
    group->ops.clear();
    group->ops.insert(ops.begin(), ops.end());
    present.push_back(group.get());
    byNumber[group->number] = group.get();
  }
  auto last = [&](FusionGroup *group) {
    return position.lookup(group->ops.back());
  };
  llvm::sort(present,
             [&](FusionGroup *a, FusionGroup *b) { return last(a) < last(b); });
  llvm::DenseSet<FusionGroup *> done;
  std::function<void(FusionGroup *)> visit = [&](FusionGroup *group) {
    if (!done.insert(group).second)
      return;
    SmallVector<FusionGroup *> before;
    for (unsigned number : group->waits.set_bits())
      if (FusionGroup *other = byNumber.lookup(number))
        if (!done.contains(other))
          before.push_back(other);
    llvm::sort(before, [&](FusionGroup *a, FusionGroup *b) {
      return last(a) < last(b);
    });
    for (FusionGroup *other : before)
      visit(other);
    order.push_back(group);
  };
  for (FusionGroup *group : present)
    visit(group);
}
