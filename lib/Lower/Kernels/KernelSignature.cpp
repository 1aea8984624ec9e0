//===- KernelSignature.cpp ------------------------------------------------===//

#include "pipemesh/Lower/Kernels/KernelSignature.h"

using namespace mlir;
using namespace pipemesh;

KernelSignature::KernelSignature(Block &body, ArrayRef<int64_t> inPlace) {
  for (int64_t operand : inPlace)
    words.push_back(operand);
  add(body);
  numbers.clear();
}

void KernelSignature::add(Block &block) {
  words.push_back(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    number(argument);
    words.push_back(
        reinterpret_cast<uintptr_t>(argument.getType().getAsOpaquePointer()));
  }
  for (Operation &op : block)
    add(op);
}

void KernelSignature::add(Operation &op) {
  auto address = [](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  };
  words.push_back(address(op.getName().getAsOpaquePointer()));
  words.push_back(address(op.getPropertiesAsAttribute().getAsOpaquePointer()));
  for (NamedAttribute attribute : op.getDiscardableAttrs()) {
    if (attribute.getName().getValue().starts_with("pm."))
      continue;
    words.push_back(address(attribute.getName().getAsOpaquePointer()));
    words.push_back(address(attribute.getValue().getAsOpaquePointer()));
  }
  words.push_back(op.getNumOperands());
  for (Value operand : op.getOperands())
    words.push_back(number(operand));
  words.push_back(op.getNumResults());
  for (Value result : op.getResults()) {
    number(result);
    words.push_back(address(result.getType().getAsOpaquePointer()));
  }
  for (Region &region : op.getRegions()) {
    words.push_back(region.getBlocks().size());
    for (Block &block : region)
      add(block);
  }
}
