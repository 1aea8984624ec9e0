//===- RuleBuilder.h - helpers to write sharding rules ----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_RULES_RULEBUILDER_H
#define PIPEMESH_LIB_SHARD_RULES_RULEBUILDER_H

#include "mlir/IR/BuiltinTypes.h"
#include "pipemesh/Interfaces/Interfaces.h"

namespace pipemesh {

/// A rule of one op in the making: every dimension starts without a factor.
class RuleBuilder {
public:
  explicit RuleBuilder(mlir::Operation *op);

  /// A new factor of that size.
  int64_t parallel(int64_t size) { return rule.addFactor(size); }
  int64_t reduction(int64_t size, ReductionKind kind = ReductionKind::Sum) {
    return rule.addFactor(size, FactorKind::Reduction, kind);
  }
  /// A factor along which elements meet or move, and that may be cut:
  /// partitioning exchanges what is needed.
  int64_t exchanged(int64_t size) {
    return rule.addFactor(size, FactorKind::Exchanged);
  }
  /// A factor that must be whole, because of `reason`: what follows "the
  /// dimension is gathered: ".
  int64_t replicated(int64_t size, const char *reason) {
    int64_t factor = rule.addFactor(size, FactorKind::NeedsReplication);
    rule.factors[factor].reason = reason;
    return factor;
  }

  /// Appends a factor to a dimension of an operand or a result.
  RuleBuilder &operand(unsigned index, unsigned dim, int64_t factor) {
    rule.operands[index][dim].push_back(factor);
    return *this;
  }
  RuleBuilder &result(unsigned index, unsigned dim, int64_t factor) {
    rule.results[index][dim].push_back(factor);
    return *this;
  }
  /// The dimensions of an operand or a result, in order; -1 is no factor.
  RuleBuilder &operandDims(unsigned index, llvm::ArrayRef<int64_t> factors);
  RuleBuilder &resultDims(unsigned index, llvm::ArrayRef<int64_t> factors);

  /// The op is jointly linear in these operands.
  RuleBuilder &linear(llvm::ArrayRef<unsigned> operands) {
    rule.linearSets.emplace_back(operands.begin(), operands.end());
    return *this;
  }

  ShardingRule take() { return std::move(rule); }

private:
  ShardingRule rule;
};

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline int64_t rankOf(mlir::Value value) { return shapeOf(value).size(); }
inline mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// Whether two dimensions, between which elements move, are cut alike: the
/// smaller one has at least an eighth of the larger one's elements, so that most
/// ranks have some of it.
inline bool areCutAlike(int64_t a, int64_t b) {
  constexpr int64_t smallestPart = 8;
  return a > 0 && b > 0 && a <= b * smallestPart && b <= a * smallestPart;
}

/// Every result has the shape of the operands with a rank, dimension by
/// dimension; operands of rank 0 belong to no factor.
ShardingRule pointwiseRule(mlir::Operation *op,
                           llvm::ArrayRef<llvm::SmallVector<unsigned>> linear);

/// An external model that calls `rule`, which takes the op or an Operation *.
template <typename OpTy, auto rule>
struct RuleModel
    : ShardingRuleOpInterface::ExternalModel<RuleModel<OpTy, rule>, OpTy> {
  ShardingRule getShardingRule(mlir::Operation *op) const {
    return rule(llvm::cast<OpTy>(op));
  }
};

template <typename OpTy, auto rule>
void attachRule(mlir::MLIRContext *context) {
  OpTy::template attachInterface<RuleModel<OpTy, rule>>(*context);
}

void attachElementwiseRules(mlir::MLIRContext *context);
void attachShapeRules(mlir::MLIRContext *context);
void attachContractionRules(mlir::MLIRContext *context);
void attachIndexRules(mlir::MLIRContext *context);
void attachMovedRules(mlir::MLIRContext *context);
void attachWindowRules(mlir::MLIRContext *context);
void attachCHLORules(mlir::MLIRContext *context);
void attachModelRules(mlir::MLIRContext *context);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_RULES_RULEBUILDER_H
