//===- LowerMatmulPrecision.cpp - pm-lower-matmul-precision ---------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Precision/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_LOWERMATMULPRECISION
#include "pipemesh/Precision/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

static bool isSingle(Value value) {
  return getElementTypeOrSelf(value.getType()).isF32();
}

namespace {

/// Rounds what ops take and widens what they give.
class Rounding {
public:
  explicit Rounding(Type type) : type(type) {}

  void round(stablehlo::DotGeneralOp dot) {
    if (!llvm::all_of(dot->getOperands(), isSingle) ||
        !isSingle(dot.getResult()))
      return;
    for (OpOperand &operand : dot->getOpOperands())
      operand.set(getRounded(operand.get(), operand.getOwner()));
  }

  /// All operands but `kept`, and all results but `kept`.
  void round(Operation *op, Value kept) {
    auto changes = [&](Value value) {
      return value != kept && isSingle(value);
    };
    for (OpOperand &operand : op->getOpOperands())
      if (changes(operand.get()))
        operand.set(getRounded(operand.get(), operand.getOwner()));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!changes(result))
        continue;
      Type wide = result.getType();
      result.setType(cast<RankedTensorType>(wide).clone(type));
      Operation *widened = convert(builder, result, wide, op);
      result.replaceAllUsesExcept(widened->getResult(0), widened);
      // What is widened is the same when it is rounded again.
      rounded[widened->getResult(0)] = result;
    }
  }

private:
  /// The convert belongs to the phase of what makes its operand.
  Operation *convert(OpBuilder &builder, Value value, Type to,
                     Operation *like) {
    auto made = stablehlo::ConvertOp::create(
        builder, like->getLoc(), value,
        cast<RankedTensorType>(to).getElementType());
    auto phase =
        like ? like->getAttrOfType<StringAttr>(pm::kPhaseAttr) : StringAttr();
    if (phase)
      made->setAttr(pm::kPhaseAttr, phase);
    return made;
  }

  /// `user` is the first op that takes it: a parameter is rounded there, since what
  /// stands in front of a layer's ops counts as that layer's (pm-assign-stages).
  Value getRounded(Value value, Operation *user) {
    Value &known = rounded[value];
    if (known)
      return known;
    Operation *source = value.getDefiningOp();
    // Of what a region captures, in front of the op that has it.
    Operation *beside = value.getParentBlock()->findAncestorOpInBlock(*user);
    OpBuilder builder(beside);
    if (source)
      builder.setInsertionPointAfter(source);
    return known = convert(builder, value,
                           cast<RankedTensorType>(value.getType()).clone(type),
                           source ? source : beside)
                       ->getResult(0);
  }

  Type type;
  llvm::DenseMap<Value, Value> rounded;
};

struct LowerMatmulPrecision
    : pipemesh::impl::LowerMatmulPrecisionBase<LowerMatmulPrecision> {
  using Base = pipemesh::impl::LowerMatmulPrecisionBase<LowerMatmulPrecision>;
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (type != "bf16") {
      module.emitError("products of '")
          << type
          << "' cannot be had; bf16 can (f16's gradients vanish without a "
             "scaled loss, which no recipe has)";
      return signalPassFailure();
    }
    Rounding rounding(BFloat16Type::get(module.getContext()));
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<stablehlo::DotGeneralOp, pm::AttentionOp, pm::AttentionGradOp>(
              op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
        rounding.round(dot);
      else if (auto attention = dyn_cast<pm::AttentionOp>(op))
        rounding.round(op, attention.getLse());
      else
        rounding.round(op, cast<pm::AttentionGradOp>(op).getLse());
    }
  }
};

} // namespace
