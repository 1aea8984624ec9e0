//===- StorageAssignment.cpp ----------------------------------------------===//

#include "StorageAssignment.h"
#include "ControlFlow.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

StorageAssignment::StorageAssignment(func::FuncOp function,
                                     const ProgramBuffers &buffers,
                                     const RoleProgram &role)
    : function(function), buffers(buffers), role(role) {
  Block &block = function.getBody().front();
  number(block);
  for (BlockArgument arg : block.getArguments()) {
    unsigned root = addRoot(arg, -1);
    roots[root].buffer = function.getArgAttrOfType<FlatSymbolRefAttr>(
        arg.getArgNumber(), pm::kBufferAttr);
  }
  assignRoots(block);
  pinResults();
  packScratch();
}

static bool isView(Operation *op) { return isa<stablehlo::ReshapeOp>(op); }

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

void StorageAssignment::number(Block &block) {
  blockBegins[&block] = nextPosition++;
  for (Operation &op : block) {
    int64_t begin = nextPosition++, end = begin;
    if (isControlFlow(&op)) {
      for (Region &region : op.getRegions())
        number(region.front());
      end = nextPosition++;
    }
    positions[&op] = {begin, end};
  }
}

int64_t StorageAssignment::usePosition(Block *block, Operation *user) const {
  int64_t position = positions.lookup(user).begin;
  for (Operation *op = user; op->getBlock() != block;) {
    op = op->getParentOp();
    if (isa<stablehlo::WhileOp>(op))
      position = positions.lookup(op).end;
  }
  return position;
}

int64_t StorageAssignment::lastUse(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    last = std::max(last, usePosition(value.getParentBlock(), user));
    if (isView(user))
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
}

StorageAssignment::Interval StorageAssignment::getInterval(Value value) const {
  auto [entry, isNew] = intervals.try_emplace(value);
  if (isNew) {
    Interval found = computeInterval(value);
    intervals[value] = found;
    return found;
  }
  return entry->second;
}

StorageAssignment::Interval
StorageAssignment::computeInterval(Value value) const {
  if (Operation *op = value.getDefiningOp()) {
    int64_t begin = positions.lookup(op).end;
    return {begin, std::max(begin, lastUse(value))};
  }
  Block *block = value.getParentBlock();
  Operation *parent = block->getParentOp();
  if (!isa<stablehlo::WhileOp>(parent))
    return {-1, lastUse(value)};
  // What a loop carries must outlast the condition, which decides whether it is
  // the body or the result that gets it.
  int64_t begin = blockBegins.lookup(block), last = lastUse(value);
  if (block->getParent() == &parent->getRegion(0))
    last = std::max(last, positions.lookup(block->getTerminator()).begin);
  return {begin, std::max(begin, last)};
}

FlatSymbolRefAttr StorageAssignment::returnedTo(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isa<func::ReturnOp>(use.getOwner()))
      return function.getResultAttrOfType<FlatSymbolRefAttr>(
          use.getOperandNumber(), pm::kBufferAttr);
    if (isView(use.getOwner()))
      if (auto buffer = returnedTo(use.getOwner()->getResult(0)))
        return buffer;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

unsigned StorageAssignment::addRoot(Value value, int64_t position) {
  unsigned index = roots.size();
  Root &root = roots.emplace_back();
  root.bytes = byteSizeOf(value.getType());
  root.begin = position;
  root.end = position;
  join(value, index);
  return index;
}

void StorageAssignment::join(Value value, unsigned root) {
  rootOf[value] = root;
  roots[root].members.push_back(value);
  roots[root].end = std::max(roots[root].end, getInterval(value).end);
}

bool StorageAssignment::canTakeOver(Value value, int64_t position, int64_t end,
                                    FlatSymbolRefAttr target) {
  const Root &root = roots[rootOf.lookup(value)];
  // Nobody may read what is there now later, through whatever name, and nothing
  // else may come there meanwhile.
  for (Value other : root.members) {
    Interval interval = getInterval(other);
    if (interval.end > position && interval.begin <= end)
      return false;
  }
  if (!root.buffer || root.buffer == target)
    return true;
  pm::BufferOp buffer = buffers.lookup(root.buffer);
  // A dead activation, an accumulator whose sum is consumed: the memory is free
  // until it is written again. Inputs and state keep their values.
  return buffer && role.isLastReader(buffer, function);
}

void StorageAssignment::assignRoots(Block &block) {
  for (Operation &op : block) {
    int64_t position = positions.lookup(&op).begin;
    if (isView(&op)) {
      join(op.getResult(0), rootOf.lookup(op.getOperand(0)));
      continue;
    }
    if (isa<stablehlo::WhileOp>(op)) {
      assignLoop(&op);
      continue;
    }
    if (isControlFlow(&op)) {
      assignChoice(&op);
      continue;
    }
    if (isa<pm::AllReduceOp>(op)) {
      for (OpOperand &operand : op.getOpOperands()) {
        Value result = op.getResult(operand.getOperandNumber());
        bool repeated =
            llvm::count(op.getOperands(), operand.get()) > 1;
        if (!repeated &&
            canTakeOver(operand.get(), position, getInterval(result).end,
                        returnedTo(result))) {
          join(result, rootOf.lookup(operand.get()));
        } else {
          copiedOperands.insert(&operand);
          addRoot(result, position);
        }
      }
      continue;
    }
    auto fused = dyn_cast<pmrt::FusedOp>(op);
    for (OpResult result : op.getResults()) {
      int64_t source = fused ? fused.getInPlace()[result.getResultNumber()] : -1;
      if (source >= 0 &&
          canTakeOver(op.getOperand(source), position, getInterval(result).end,
                      returnedTo(result)))
        join(result, rootOf.lookup(op.getOperand(source)));
      else
        addRoot(result, position);
    }
    // Matrix products that add to their buffer begin where its value is.
    if (op.hasAttr(kAccumulateAttr))
      roots[rootOf.lookup(op.getResult(0))].begin = -1;
  }
}

void StorageAssignment::assignLoop(Operation *op) {
  Block &cond = op->getRegion(0).front(), &body = op->getRegion(1).front();
  Interval position = positions.lookup(op);
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    Value initial = op->getOperand(index);
    bool repeated = llvm::count(op->getOperands(), initial) > 1;
    unsigned root;
    if (!repeated && canTakeOver(initial, position.begin,
                                 getInterval(result).end, returnedTo(result))) {
      root = rootOf.lookup(initial);
      join(result, root);
    } else {
      root = addRoot(result, position.begin);
      copies[op].push_back({rootOf.lookup(initial), root});
    }
    join(cond.getArgument(index), root);
    join(body.getArgument(index), root);
  }
  assignRoots(cond);
  assignRoots(body);
  // The condition is read behind its region.
  Value condition = cond.getTerminator()->getOperand(0);
  Root &read = roots[rootOf.lookup(condition)];
  read.end = std::max(read.end, blockBegins.lookup(&body));
  placeYields(body.getTerminator(), op);
}

void StorageAssignment::assignChoice(Operation *op) {
  for (Value result : op->getResults())
    addRoot(result, positions.lookup(op).begin);
  for (Region &region : op->getRegions()) {
    assignRoots(region.front());
    placeYields(region.front().getTerminator(), op);
  }
}

/// Whether all values of root `from` are made inside of `op`, and none of them is
/// there while a value of root `into` is.
bool StorageAssignment::canMerge(Operation *op, unsigned from,
                                 unsigned into) const {
  if (roots[from].buffer || roots[from].bytes != roots[into].bytes)
    return false;
  for (Value value : roots[from].members) {
    Operation *owner = value.getParentBlock()->getParentOp();
    if (owner != op && !op->isProperAncestor(owner))
      return false;
    if (isa<BlockArgument>(value) && owner == op)
      return false;
    Interval own = getInterval(value);
    for (Value other : roots[into].members) {
      Interval interval = getInterval(other);
      if (own.begin <= interval.end && interval.begin <= own.end)
        return false;
    }
  }
  return true;
}

void StorageAssignment::merge(unsigned from, unsigned into) {
  Root &source = roots[from], &target = roots[into];
  for (Value value : source.members) {
    rootOf[value] = into;
    target.members.push_back(value);
  }
  target.begin = std::min(target.begin, source.begin);
  target.end = std::max(target.end, source.end);
  for (auto &entry : copies)
    for (RootCopy &copy : entry.second) {
      copy.from = copy.from == from ? into : copy.from;
      copy.to = copy.to == from ? into : copy.to;
    }
  // Nothing is left there.
  source = Root();
}

void StorageAssignment::placeYields(Operation *terminator, Operation *op) {
  SmallVector<RootCopy> late;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned from = rootOf.lookup(operand.get());
    unsigned into = rootOf.lookup(op->getResult(operand.getOperandNumber()));
    if (from == into)
      continue;
    if (canMerge(op, from, into))
      merge(from, into);
    else
      late.push_back({from, into});
  }
  // What is copied from a place that is overwritten here goes over a place of
  // its own, so that the order does not matter.
  SmallVector<RootCopy> saved, direct, restored;
  int64_t position = positions.lookup(terminator).begin;
  for (RootCopy copy : late) {
    bool overwritten = llvm::any_of(late, [&](const RootCopy &other) {
      return other.to == copy.from;
    });
    if (!overwritten) {
      direct.push_back(copy);
      continue;
    }
    unsigned spare = roots.size();
    int64_t bytes = roots[copy.from].bytes;
    Root &root = roots.emplace_back();
    root.bytes = bytes;
    root.begin = root.end = position;
    saved.push_back({copy.from, spare});
    restored.push_back({spare, copy.to});
  }
  auto &list = copies[terminator];
  llvm::append_range(list, saved);
  llvm::append_range(list, direct);
  llvm::append_range(list, restored);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void StorageAssignment::pinResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto target = function.getResultAttrOfType<FlatSymbolRefAttr>(
        operand.getOperandNumber(), pm::kBufferAttr);
    Root &root = roots[rootOf.lookup(operand.get())];
    if (root.buffer == target)
      continue;
    if (root.buffer) {
      // The value lies in another buffer. An output that nobody reads as an
      // argument before it is written is that buffer; anything else is copied.
      pm::BufferOp source = buffers.lookup(root.buffer);
      pm::BufferOp output = buffers.lookup(target);
      bool canAlias = source && output &&
                      output.getKind() == pm::BufferKind::Output &&
                      !role.isReadUpTo(target, function) && !aliases.contains(target) &&
                      source.getType() == output.getType() &&
                      role.isLastReader(source, function);
      if (canAlias)
        aliases[target] = root.buffer;
      else
        finalCopies.push_back({operand.get(), target});
      continue;
    }
    // Writing the buffer early is safe when its old value is not read at or
    // after the first write.
    bool safe = true;
    for (BlockArgument arg : function.getArguments())
      if (function.getArgAttr(arg.getArgNumber(), pm::kBufferAttr) == target &&
          lastUse(arg) >= root.begin)
        safe = false;
    if (llvm::any_of(roots, [&](Root &other) {
          return &other != &root && other.buffer == target && other.begin >= 0;
        }))
      safe = false;
    if (safe)
      root.buffer = target;
    else
      finalCopies.push_back({operand.get(), target});
  }
}

void StorageAssignment::packScratch() {
  struct Block {
    int64_t offset, bytes, end;
  };
  SmallVector<Root *> order;
  for (Root &root : roots)
    if (!root.buffer && root.bytes > 0)
      order.push_back(&root);
  // Roots are numbered in the order of their first write, so equal positions
  // keep a fixed order.
  llvm::sort(order, [](Root *a, Root *b) {
    return std::make_pair(a->begin, a) < std::make_pair(b->begin, b);
  });
  SmallVector<Block> live; // by offset
  for (Root *root : order) {
    llvm::erase_if(live, [&](Block &block) { return block.end < root->begin; });
    int64_t bytes = alignUp(root->bytes), best = -1, bestGap = 0, cursor = 0;
    for (Block &block : live) {
      int64_t gap = block.offset - cursor;
      if (gap >= bytes && (best < 0 || gap < bestGap))
        best = cursor, bestGap = gap;
      cursor = block.offset + block.bytes;
    }
    root->offset = best >= 0 ? best : cursor;
    auto *it = llvm::partition_point(
        live, [&](Block &block) { return block.offset < root->offset; });
    live.insert(it, {root->offset, bytes, root->end});
    scratchBytes = std::max(scratchBytes, root->offset + bytes);
  }
}
