//===- SeededFaults.cpp - faults on purpose, to test the tests ------------===//

#include "pipemesh/Shard/SeededFaults.h"
#include <atomic>

using namespace pipemesh;

static std::atomic<Fault> seeded{Fault::None};

bool pipemesh::isSeeded(Fault fault) {
  return seeded.load(std::memory_order_relaxed) == fault;
}

void pipemesh::seedFault(Fault fault) { seeded = fault; }

llvm::ArrayRef<llvm::StringRef> pipemesh::getFaultNames() {
  static const llvm::StringRef names[] = {
      "dropped-mask",      "wrong-neutral",   "lost-last-row",
      "one-row-too-many",  "swapped-axes",    "off-by-one-block",
      "first-block",       "local-iota",      "dropped-sum",
      "sum-of-maxima",     "fewer-axes",      "gather-order",
      "scatter-order",     "partial-nonlinear", "partial-product",
      "trusted-padding",   "unmasked-lookup", "dropped-exchange",
      "move-order",        "permute-back",    "stale-carry",
      "local-move",        "whole-reshards",  "stray-cut",
      "no-rule",           "local-running",   "dropped-permute",
      "floor-blocks",      "whole-carry",     "torn-reshape"};
  return names;
}
