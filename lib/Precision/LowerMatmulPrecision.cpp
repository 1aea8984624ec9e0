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
      operand.set(getRounded(operand.get()));
  }

  /// All operands but `kept`, and all results but `kept`.
  void round(Operation *op, Value kept) {
    auto changes = [&](Value value) {
      return value != kept && isSingle(value);
    };
    for (OpOperand &operand : op->getOpOperands())
      if (changes(operand.get()))
        operand.set(getRounded(operand.get()));
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
        builder, value.getLoc(), value,
        cast<RankedTensorType>(to).getElementType());
    auto phase =
        like ? like->getAttrOfType<StringAttr>(pm::kPhaseAttr) : StringAttr();
    if (phase)
      made->setAttr(pm::kPhaseAttr, phase);
    return made;
  }

  Value getRounded(Value value) {
    Value &known = rounded[value];
    if (known)
      return known;
    Operation *source = value.getDefiningOp();
    OpBuilder builder(value.getContext());
    Operation *like = source;
    if (source) {
      builder.setInsertionPointAfter(source);
    } else {
      Block *block = cast<BlockArgument>(value).getOwner();
      builder.setInsertionPointToStart(block);
      like = &block->front();
    }
    return known = convert(builder, value,
                           cast<RankedTensorType>(value.getType()).clone(type),
                           like)
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
