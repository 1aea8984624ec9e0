//===- StorageAssignment.cpp ----------------------------------------------===//

#include "StorageAssignment.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

StorageAssignment::StorageAssignment(func::FuncOp function,
                                     const ProgramBuffers &buffers,
                                     const RoleProgram &role)
    : function(function), buffers(buffers), role(role) {
  for (auto [position, op] : llvm::enumerate(function.getBody().front()))
    positions[&op] = position;
  assignRoots();
  pinResults();
  packScratch();
}

static bool isView(Operation *op) { return isa<stablehlo::ReshapeOp>(op); }

int64_t StorageAssignment::lastUse(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    last = std::max(last, positions.lookup(user));
    if (isView(user))
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
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

unsigned StorageAssignment::addRoot(Value value, int64_t position) {
  unsigned index = roots.size();
  Root &root = roots.emplace_back();
  root.bytes = getByteSize(value.getType());
  root.begin = position;
  root.end = std::max(lastUse(value), position);
  rootOf[value] = index;
  return index;
}

void StorageAssignment::join(Value value, unsigned root) {
  rootOf[value] = root;
  roots[root].end = std::max(roots[root].end, lastUse(value));
}

bool StorageAssignment::canTakeOver(Value value, int64_t position,
                                    FlatSymbolRefAttr target) {
  unsigned rootIndex = rootOf.lookup(value);
  // Nobody may read the memory later, through whatever name.
  for (auto [other, root] : rootOf)
    if (root == rootIndex && lastUse(other) > position)
      return false;
  FlatSymbolRefAttr name = roots[rootIndex].buffer;
  if (!name)
    return true;
  if (name == target)
    return true;
  pm::BufferOp buffer = buffers.lookup(name);
  // A dead activation, an accumulator whose sum is consumed: the memory is free
  // until it is written again. Inputs and state keep their values.
  return buffer && role.isLastReader(buffer, function);
}

void StorageAssignment::assignRoots() {
  Block &block = function.getBody().front();
  for (BlockArgument arg : block.getArguments()) {
    unsigned root = addRoot(arg, -1);
    roots[root].buffer = function.getArgAttrOfType<FlatSymbolRefAttr>(
        arg.getArgNumber(), pm::kBufferAttr);
  }
  for (Operation &op : block) {
    int64_t position = positions.lookup(&op);
    if (isView(&op)) {
      join(op.getResult(0), rootOf.lookup(op.getOperand(0)));
      continue;
    }
    if (isa<pm::AllReduceOp>(op)) {
      for (OpOperand &operand : op.getOpOperands()) {
        Value result = op.getResult(operand.getOperandNumber());
        bool repeated =
            llvm::count(op.getOperands(), operand.get()) > 1;
        if (!repeated &&
            canTakeOver(operand.get(), position, returnedTo(result))) {
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
      if (source >= 0 && canTakeOver(op.getOperand(source), position,
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
