//===- AttentionInstructions.cpp - pm-attention-instructions --------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Cuda/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace pipemesh {
#define GEN_PASS_DEF_ATTENTIONINSTRUCTIONS
#include "pipemesh/Lower/Cuda/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

/// The widest heads of fused engines for the gradient.
static constexpr int64_t kMostElements = 128;

namespace {

/// A kernel that is attention or its gradient, as the instruction says it.
struct AttentionKernel {
  Operation *op;
  RankedTensorType query, key;
  FloatAttr scale;
  bool isCausal, isGradient;
  int64_t window;

  /// Why the library does not have it; empty where it does.
  std::string getProblem() const {
    std::string text;
    llvm::raw_string_ostream problem(text);
    Type element = query.getElementType();
    int64_t size = query.getDimSize(3);
    if (!element.isBF16() && !element.isF16())
      problem << "its operands are " << query << ", not of bf16 or f16";
    else if (size % 8 != 0 || size > kMostElements)
      problem << "its heads have " << size
              << " elements, which is no multiple of 8 up to " << kMostElements;
    else if (window > 0)
      problem << "it has a window of " << window;
    else if (query.getNumElements() == 0 || key.getNumElements() == 0)
      problem << "its operands are empty";
    return text;
  }
};

struct AttentionInstructions
    : pipemesh::impl::AttentionInstructionsBase<AttentionInstructions> {
  using AttentionInstructionsBase::AttentionInstructionsBase;
  void runOnOperation() override;
};

} // namespace

static std::optional<AttentionKernel> getAttention(func::FuncOp function) {
  auto fused = *function.getBody().front().getOps<pmrt::FusedOp>().begin();
  Operation *op = &fused.getBody().front().front();
  auto describe = [&](auto attention, bool isGradient) {
    return AttentionKernel{
        op,
        cast<RankedTensorType>(attention.getQuery().getType()),
        cast<RankedTensorType>(attention.getKey().getType()),
        attention.getScaleAttr(),
        attention.getCausal(),
        isGradient,
        static_cast<int64_t>(attention.getWindow())};
  };
  if (auto attention = dyn_cast<pm::AttentionOp>(op))
    return describe(attention, false);
  if (auto gradient = dyn_cast<pm::AttentionGradOp>(op))
    return describe(gradient, true);
  return std::nullopt;
}

/// The places of the op's operands and results among the call's.
static ArrayAttr getPlaces(pmrt::CallOp call, Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Attribute> places;
  for (Value operand : op->getOperands())
    places.push_back(
        call.getPlaces()[cast<BlockArgument>(operand).getArgNumber()]);
  for (OpResult result : op->getResults())
    for (auto [i, yielded] :
         llvm::enumerate(block->getTerminator()->getOperands()))
      if (yielded == result) {
        places.push_back(call.getPlaces()[block->getNumArguments() + i]);
        break;
      }
  return ArrayAttr::get(call.getContext(), places);
}

void AttentionInstructions::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::StringSet<> replaced, called;
  SmallVector<pmrt::CallOp> calls;
  module.walk([&](pmrt::CallOp call) { calls.push_back(call); });
  for (pmrt::CallOp call : calls) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getKernel());
    std::optional<AttentionKernel> kernel = getAttention(function);
    std::string problem = kernel ? kernel->getProblem() : "";
    if (kernel && all && !problem.empty()) {
      call.emitError("is attention that cuDNN does not have: ")
          << problem << "; compile with --attention=auto";
      return signalPassFailure();
    }
    if (!kernel || !problem.empty()) {
      called.insert(call.getKernel());
      continue;
    }
    ArrayRef<int64_t> query = kernel->query.getShape();
    ArrayRef<int64_t> key = kernel->key.getShape();
    OpBuilder builder(call);
    auto number = [&](int64_t value) {
      return builder.getI64IntegerAttr(value);
    };
    pmrt::AttentionOp::create(
        builder, call.getLoc(), getPlaces(call, kernel->op), number(query[0]),
        number(query[2]), number(key[2]), number(query[1]), number(key[1]),
        number(query[3]), kernel->scale,
        kernel->isCausal ? builder.getUnitAttr() : UnitAttr(),
        kernel->isGradient ? builder.getUnitAttr() : UnitAttr(),
        TypeAttr::get(kernel->query.getElementType()));
    replaced.insert(call.getKernel());
    call.erase();
  }
  for (const auto &name : replaced)
    if (!called.contains(name.getKey()))
      module.lookupSymbol<func::FuncOp>(name.getKey()).erase();
}
