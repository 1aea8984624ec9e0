//===- RulesTest.cpp - which ops have a sharding rule ---------------------===//

#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Interfaces/Interfaces.h"
#include "pipemesh/Shard/Models.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace pipemesh;

/// Ops that propagation and partitioning know by themselves (control flow,
/// reshards, exchanges between ranks, programs), that import replaces
/// (composites, collectives of manual computations) or refuses (custom calls).
static const llvm::StringSet<> withoutRule = {
    "stablehlo.return",         "stablehlo.while",
    "stablehlo.if",             "stablehlo.case",
    "stablehlo.composite",      "stablehlo.custom_call",
    "stablehlo.all_gather",     "stablehlo.all_reduce",
    "stablehlo.all_to_all",     "stablehlo.collective_permute",
    "stablehlo.partition_id",   "stablehlo.reduce_scatter",
    "stablehlo.replica_id",     "stablehlo.collective_broadcast",
    "pm.action",                "pm.all_gather",
    "pm.all_reduce",            "pm.all_to_all",
    "pm.axis_index",            "pm.buffer",
    "pm.collective_permute",    "pm.constrain",
    "pm.manual_computation",    "pm.mesh",
    "pm.program",               "pm.receive",
    "pm.reduce_scatter",        "pm.reshard",
    "pm.return",                "pm.role",
    "pm.send",                  "pm.sharding_group"};

TEST(Rules, EveryOpThatComputesHasOne) {
  DialectRegistry registry;
  registry.insert<stablehlo::StableHLODialect, chlo::CHLODialect,
                  pm::PMDialect>();
  registerShardingRules(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    StringRef dialect = name.getDialectNamespace();
    if (dialect != "stablehlo" && dialect != "chlo" && dialect != "pm")
      continue;
    bool isExempt = withoutRule.contains(name.getStringRef());
    EXPECT_NE(name.hasInterface<ShardingRuleOpInterface>(), isExempt)
        << name.getStringRef().str();
    count += !isExempt;
  }
  EXPECT_GT(count, 90u);
}
