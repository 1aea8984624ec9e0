//===- TensorParallel.cpp -------------------------------------------------===//

#include "TensorParallel.h"
#include "CutTrace.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace pipemesh;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t TensorParallelism::keyAxisSize(int64_t tp) const {
  for (const CutGroup &group : groups)
    if (group.sharesKeyHeads(tp))
      return group.keyHeads;
  return 0;
}

/// The first attention whose key-value heads do not lie on "tp.kv".
static const CutGroup *findOtherKeyAxis(ArrayRef<CutGroup> groups, int64_t tp,
                                        int64_t keyAxis) {
  if (keyAxis == 0)
    return nullptr;
  for (const CutGroup &group : groups)
    if (group.sharesKeyHeads(tp) ? group.keyHeads != keyAxis
                                 : group.keyHeads != 0 && group.isUneven(tp))
      return &group;
  return nullptr;
}

static bool fits(const TensorParallelism &found, int64_t tp) {
  return llvm::all_of(found.groups,
                      [&](const CutGroup &group) {
                        return group.isVocabulary || group.isCutOver(tp);
                      }) &&
         !findOtherKeyAxis(found.groups, tp, found.keyAxisSize(tp));
}

/// The sizes that fit, "1 to 4, 6". None beyond the smallest number of parts
/// does.
static std::string listSizes(const TensorParallelism &found) {
  int64_t largest = std::numeric_limits<int64_t>::max();
  for (const CutGroup &group : found.groups)
    if (!group.isVocabulary)
      largest = std::min(largest, group.parts);
  std::string sizes;
  for (int64_t first = 1; first <= largest; ++first) {
    if (!fits(found, first))
      continue;
    int64_t last = first;
    while (last < largest && fits(found, last + 1))
      ++last;
    sizes += (sizes.empty() ? "" : ", ") + llvm::itostr(first);
    if (last != first)
      sizes += (last == first + 1 ? ", " : " to ") + llvm::itostr(last);
    first = last;
  }
  return sizes;
}

LogicalResult TensorParallelism::check(int64_t tp) const {
  if (fits(*this, tp))
    return success();
  std::string sizes = listSizes(*this);
  for (const CutGroup &group : groups)
    if (!group.isVocabulary && !group.isCutOver(tp))
      return emitError(group.anchor->getLoc())
             << "tp=" << tp
             << (group.parts < tp ? " is more than" : " does not divide")
             << " the " << group.parts << " " << group.what << "; tp can be "
             << sizes;
  const CutGroup *other = findOtherKeyAxis(groups, tp, keyAxisSize(tp));
  return emitError(other->anchor->getLoc())
         << "tp=" << tp << " lets groups of ranks share the "
         << keyAxisSize(tp) << " key-value heads of one attention, which does "
         << "not suit the " << other->keyHeads << " of " << other->keyHeadsOf
         << "; tp can be "
         << sizes;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
class Finder {
public:
  explicit Finder(func::FuncOp function)
      : function(function), dependence(function) {}

  TensorParallelism run();

private:
  static bool isForward(Operation *op);
  std::string nameOf(Operation *op);
  std::string nameOf(BlockArgument parameter);
  bool isFree(ArrayRef<ParameterCut> cuts);
  bool add(Operation *anchor, const CutTrace &trace, std::string what);
  void addVocabulary(Operation *anchor, Value value, unsigned dim);
  void setKeyHeads(CutGroup &group, pm::AttentionOp op);
  void addAttention(pm::AttentionOp op);
  void addRows(stablehlo::DotGeneralOp dot);

  func::FuncOp function;
  Dependence dependence;
  CutTrace::Failures failures;
  TensorParallelism found;
  llvm::DenseMap<Value, ParameterCut> assigned;
};
} // namespace

bool Finder::isForward(Operation *op) {
  auto phase = op->getAttrOfType<StringAttr>(pm::kPhaseAttr);
  return !phase || phase.getValue() == "forward";
}

/// The op's place in the model, or else what it is.
std::string Finder::nameOf(Operation *op) {
  StringRef name = pm::getModelName(op->getLoc());
  if (name.empty())
    name = op->getName().getStringRef();
  return ("'" + name + "'").str();
}

std::string Finder::nameOf(BlockArgument parameter) {
  auto state = function.getArgAttrOfType<pm::StateAttr>(
      parameter.getArgNumber(), pm::kStateAttr);
  return ("'" + state.getName().getValue() + "'").str();
}

/// Whether no parameter is cut along another dimension already.
bool Finder::isFree(ArrayRef<ParameterCut> cuts) {
  llvm::SmallDenseMap<Value, unsigned> dims;
  return llvm::all_of(cuts, [&](const ParameterCut &cut) {
    auto other = assigned.find(cut.parameter);
    return (other == assigned.end() || other->second == cut) &&
           dims.try_emplace(cut.parameter, cut.dim).first->second == cut.dim;
  });
}

bool Finder::add(Operation *anchor, const CutTrace &trace, std::string what) {
  if (trace.cuts.empty() || !isFree(trace.cuts))
    return false;
  for (const ParameterCut &cut : trace.cuts)
    assigned[cut.parameter] = cut;
  CutGroup &group = found.groups.emplace_back();
  group.anchor = anchor;
  group.cuts = trace.cuts;
  group.what = std::move(what);
  group.parts = trace.parts;
  // What is split or joined by the way can only be cut evenly.
  group.mayBeUneven = llvm::all_of(trace.cuts, [&](const ParameterCut &cut) {
    return cast<RankedTensorType>(cut.parameter.getType()).getDimSize(cut.dim) ==
           trace.parts;
  });
  return true;
}

/// Dimension `dim` of `value` is the vocabulary.
void Finder::addVocabulary(Operation *anchor, Value value, unsigned dim) {
  CutTrace trace(dependence, failures);
  if (!trace.follow(value, dim) || trace.cuts.empty())
    return;
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  if (!add(anchor, trace, "tokens"))
    return;
  found.groups.back().isVocabulary = true;
  found.groups.back().mayBeUneven &= trace.parts == size;
}

void Finder::setKeyHeads(CutGroup &group, pm::AttentionOp op) {
  group.keyHeads = op.getKey().getType().getDimSize(2);
  group.keyHeadsOf = nameOf(op);
  // Pieces of whole heads, if heads are what the way can be cut in.
  group.mayBeUneven =
      group.parts == op.getQuery().getType().getDimSize(/*heads=*/2);
}

void Finder::addAttention(pm::AttentionOp op) {
  CutTrace trace(dependence, failures);
  if (!trace.follow(op.getResult(), 2) || trace.columnProducts == 0) {
    found.whole.push_back({op, trace.reason.empty()
                                   ? "no product with a parameter"
                                   : trace.reason});
    return;
  }
  if (!add(op, trace, "query heads of " + nameOf(op))) {
    found.whole.push_back({op, "parameters that are cut in another way"});
    return;
  }
  setKeyHeads(found.groups.back(), op);
}

/// A product whose activation is made by columns takes its weight by rows.
void Finder::addRows(stablehlo::DotGeneralOp dot) {
  auto product = getWeightProduct(dot, dependence);
  if (!product)
    return;
  auto numbers = dot.getDotDimensionNumbers();
  for (auto [l, r] : llvm::zip(numbers.getLhsContractingDimensions(),
                               numbers.getRhsContractingDimensions())) {
    int64_t dims[] = {l, r};
    CutTrace trace(dependence, failures);
    if (!trace.follow(dot->getOperand(product->activation),
                      dims[product->activation]) ||
        trace.columnProducts == 0)
      continue;
    std::string what;
    if (!trace.attentions.empty())
      what = "query heads of " + nameOf(trace.attentions.front());
    else
      what = "columns of " + nameOf(trace.cuts.front().parameter);
    if (trace.follow(dot->getOperand(product->weight), dims[product->weight]) &&
        add(dot, trace, what)) {
      if (!trace.attentions.empty())
        setKeyHeads(found.groups.back(), trace.attentions.front());
      return;
    }
  }
}

TensorParallelism Finder::run() {
  Block &body = function.getBody().front();
  auto forEach = [&](auto visit) {
    for (Operation &op : body.without_terminator())
      if (isForward(&op))
        visit(&op);
  };
  // A tied weight is cut along the vocabulary, whatever else uses it.
  forEach([&](Operation *op) {
    auto lookup = dyn_cast<pm::EmbeddingOp>(op);
    // Ids that no input gives are positions; their tables are small.
    if (lookup && dependence.hasInput(lookup.getIds()))
      addVocabulary(op, lookup.getTable(), 0);
    if (auto loss = dyn_cast<pm::CrossEntropyOp>(op))
      addVocabulary(op, loss.getLogits(),
                    loss.getLogits().getType().getRank() - 1);
  });
  forEach([&](Operation *op) {
    if (auto attention = dyn_cast<pm::AttentionOp>(op))
      addAttention(attention);
    else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      addRows(dot);
  });
  return std::move(found);
}

TensorParallelism pipemesh::findTensorParallelism(func::FuncOp function) {
  return Finder(function).run();
}
