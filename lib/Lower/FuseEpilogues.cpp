//===- FuseEpilogues.cpp - pm-fuse-epilogues ------------------------------===//

#include "GemmLayout.h"
#include "ProgramBuffers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Lower/Kernels/LibraryProduct.h"
#include "pipemesh/Lower/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace pipemesh {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

/// The alignment of rows that the library wants of GELU's argument.
static constexpr int64_t kBeforeAlignment = 8;

/// What every element of the value is, where that is one constant.
static std::optional<double> getSplat(Value value) {
  while (auto view = value.getDefiningOp()) {
    if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(view))
      break;
    value = view->getOperand(0);
  }
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                           : DenseFPElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

namespace {

/// Recognises GELU of a value, whatever the order of its factors.
class GeluMatcher {
public:
  explicit GeluMatcher(Value x) : x(x) {}

  bool matches(Value root) {
    ops.clear();
    SmallVector<Value> outer = factors(root, 0.5);
    if (outer.size() != 2)
      return false;
    if (outer[1] == x)
      std::swap(outer[0], outer[1]);
    if (outer[0] != x)
      return false;
    Value bounded = summand(outer[1], [](Value one) {
      auto splat = getSplat(one);
      return splat && *splat == 1;
    });
    auto tanh = bounded ? bounded.getDefiningOp<stablehlo::TanhOp>()
                        : stablehlo::TanhOp();
    if (!tanh)
      return false;
    ops.insert(tanh);
    SmallVector<Value> inner = factors(tanh.getOperand(), std::sqrt(2 / M_PI));
    if (inner.size() != 1)
      return false;
    Value cube = summand(inner[0], [&](Value other) { return other == x; });
    if (!cube)
      return false;
    SmallVector<Value> cubed = factors(cube, 0.044715);
    return cubed.size() == 3 &&
           llvm::all_of(cubed, [&](Value factor) { return factor == x; });
  }

  /// The ops of the last match.
  const llvm::SetVector<Operation *> &getOps() const { return ops; }

private:
  /// The factors of a product whose constants make `constant`; none where they
  /// make another.
  SmallVector<Value> factors(Value product, double constant) {
    SmallVector<Value> found, left = {product};
    double made = 1;
    while (!left.empty()) {
      Value value = left.pop_back_val();
      auto multiply = value.getDefiningOp<stablehlo::MulOp>();
      if (value != x && multiply) {
        ops.insert(multiply);
        left.append({multiply.getLhs(), multiply.getRhs()});
      } else if (auto splat = getSplat(value)) {
        made *= *splat;
      } else {
        found.push_back(value);
      }
      if (found.size() > 3)
        return {};
    }
    // Constants of float32 are off by their last bit.
    if (std::abs(made - constant) > 1e-6 * constant)
      return {};
    return found;
  }

  /// The other operand of an add of which one is what is looked for.
  Value summand(Value sum, llvm::function_ref<bool(Value)> isOne) {
    auto add = sum.getDefiningOp<stablehlo::AddOp>();
    if (!add)
      return {};
    ops.insert(add);
    if (isOne(add.getLhs()))
      return add.getRhs();
    return isOne(add.getRhs()) ? add.getLhs() : Value();
  }

  Value x;
  llvm::SetVector<Operation *> ops;
};

/// A product and what follows it.
struct Epilogue {
  Value bias;
  /// What the product's result becomes: the sum, GELU of it, or the result.
  Value sum, result;
  /// What GELU consists of.
  llvm::SetVector<Operation *> gelu;
  bool keepsSum = false;
};

} // namespace

/// The one reader of a value, through views of it.
static Operation *getReader(Value &value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!isa<stablehlo::ReshapeOp>(user))
      return user;
    value = user->getResult(0);
  }
  return nullptr;
}

/// Whether a kernel of several ops reads the value.
static bool isReadByKernel(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<stablehlo::ReshapeOp>(user))
      return isReadByKernel(user->getResult(0));
    return !isLibraryProduct(user) &&
           !isa<pmrt::ProductOp, func::ReturnOp, pm::AttentionOp,
                pm::AttentionGradOp, pm::AllReduceOp, pm::AllGatherOp,
                pm::ReduceScatterOp, pm::AllToAllOp, pm::CollectivePermuteOp>(
               user);
  });
}

/// The row of `columns` elements that is broadcast to `value`, or nothing.
static Value getRow(Value value, int64_t columns) {
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return {};
  auto row = cast<RankedTensorType>(broadcast.getOperand().getType());
  auto whole = cast<RankedTensorType>(value.getType());
  int64_t behind = whole.getRank() - row.getRank();
  for (auto [i, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (dim != behind + static_cast<int64_t>(i) ||
        row.getDimSize(i) != whole.getDimSize(dim))
      return {};
  return row.getNumElements() == columns ? broadcast.getOperand() : Value();
}

/// Products of `sum`, not far behind it.
static SmallVector<Value> getProductsOf(Value sum) {
  llvm::SetVector<Value> found;
  found.insert(sum);
  for (size_t i = 0; i < found.size() && found.size() < 64; ++i)
    for (Operation *user : found[i].getUsers())
      if (isa<stablehlo::MulOp, stablehlo::AddOp, stablehlo::TanhOp>(user))
        found.insert(user->getResult(0));
  return llvm::filter_to_vector(found, [](Value value) {
    return value.getDefiningOp<stablehlo::MulOp>() != nullptr;
  });
}

/// Finds GELU of the sum whose readers are all no kernels.
static bool findGelu(Epilogue &epilogue, const GemmLayout &layout) {
  GeluMatcher matcher(epilogue.sum);
  auto isBeside = [&](Operation *op) {
    return op->getBlock() == epilogue.sum.getParentBlock();
  };
  for (Value candidate : getProductsOf(epilogue.sum)) {
    if (!matcher.matches(candidate) || isReadByKernel(candidate) ||
        !llvm::all_of(matcher.getOps(), isBeside))
      continue;
    // What only GELU reads is not computed any more.
    llvm::SmallPtrSet<Operation *, 8> gone = {candidate.getDefiningOp()};
    SmallVector<Operation *> ops(matcher.getOps().begin(),
                                 matcher.getOps().end());
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    auto isGone = [&](Operation *op) { return gone.contains(op); };
    for (Operation *op : ops)
      if (llvm::all_of(op->getUsers(), isGone))
        gone.insert(op);
    bool keeps = !llvm::all_of(epilogue.sum.getUsers(), isGone);
    if (keeps && layout.ldc % kBeforeAlignment)
      continue;
    epilogue.result = candidate;
    epilogue.keepsSum = keeps;
    epilogue.gelu.insert(ops.begin(), ops.end());
    return true;
  }
  return false;
}

static std::optional<Epilogue> findEpilogue(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  if (!isLibraryProduct(dot) || dot->hasAttr(kAccumulateAttr) ||
      !numbers.getLhsBatchingDimensions().empty() ||
      !getElementTypeOrSelf(dot.getResult()).isF32())
    return std::nullopt;
  auto layout = computeGemmLayout(dot);
  if (!layout || !layout->batch.empty() || !layout->m || !layout->n ||
      !layout->k)
    return std::nullopt;
  Epilogue epilogue;
  epilogue.sum = dot.getResult();
  if (auto add = dyn_cast_or_null<stablehlo::AddOp>(getReader(epilogue.sum))) {
    for (Value other : {add.getRhs(), add.getLhs()})
      if (Value row =
              other == epilogue.sum ? Value() : getRow(other, layout->n)) {
        epilogue.bias = row;
        epilogue.sum = add.getResult();
        break;
      }
  }
  epilogue.result = epilogue.sum;
  if (findGelu(epilogue, *layout))
    return epilogue;
  if (!epilogue.bias || isReadByKernel(epilogue.sum))
    return std::nullopt;
  return epilogue;
}

static void fuse(stablehlo::DotGeneralOp dot, const Epilogue &epilogue) {
  OpBuilder builder(epilogue.sum.getContext());
  builder.setInsertionPointAfterValue(epilogue.sum);
  Location loc = epilogue.sum.getLoc();
  auto numbers = dot.getDotDimensionNumbers();
  auto view = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    if (cast<RankedTensorType>(value.getType()).getShape() == shape)
      return value;
    return stablehlo::ReshapeOp::create(builder, loc, value, shape);
  };
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  int64_t columns = TensorBuilder::typeOf(dot.getRhs()).getRank() -
                    numbers.getRhsContractingDimensions().size();
  Value bias = epilogue.bias
                   ? view(epilogue.bias, type.getShape().take_back(columns))
                   : Value();
  auto made = pmrt::ProductOp::create(
      builder, loc, type, epilogue.keepsSum ? Type(type) : Type(), dot.getLhs(),
      dot.getRhs(), bias, numbers.getLhsContractingDimensions(),
      numbers.getRhsContractingDimensions(),
      /*gelu=*/epilogue.result != epilogue.sum);
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  Value result = view(made.getResult(), shapeOf(epilogue.result));
  Value kept = epilogue.keepsSum
                   ? view(made.getBefore(), shapeOf(epilogue.sum))
                   : Value();
  Value old = epilogue.result, sum = epilogue.sum;
  old.replaceAllUsesWith(result);
  for (Operation *op : epilogue.gelu)
    if (op->use_empty())
      op->erase();
  if (kept)
    sum.replaceAllUsesWith(kept);
  // From the sum back to the product.
  Value product = dot.getResult();
  SmallVector<Operation *> dead = {sum.getDefiningOp()};
  while (!dead.empty()) {
    Operation *op = dead.pop_back_val();
    if (!op || !op->use_empty())
      continue;
    llvm::SmallSetVector<Operation *, 2> sources;
    for (Value operand : op->getOperands())
      if (operand == product ||
          isa_and_present<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(
              operand.getDefiningOp()))
        sources.insert(operand.getDefiningOp());
    op->erase();
    llvm::append_range(dead, sources);
  }
}

namespace {
struct FuseEpilogues : pipemesh::impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk(
        [&](stablehlo::DotGeneralOp dot) { dots.push_back(dot); });
    for (stablehlo::DotGeneralOp dot : dots)
      if (auto epilogue = findEpilogue(dot))
        fuse(dot, *epilogue);
  }
};
} // namespace
