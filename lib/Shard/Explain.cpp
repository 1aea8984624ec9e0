//===- Explain.cpp - why a value lies as it does --------------------------===//

#include "pipemesh/Shard/Explain.h"
#include "ExplainNames.h"
#include "LocalType.h"
#include "Reshard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>

using namespace mlir;
using namespace pipemesh;

/// Values of one name beyond this number are only counted.
static constexpr size_t kMostValues = 12;

namespace {
class Explanation {
public:
  Explanation(ModuleOp module, pm::MeshOp mesh, llvm::raw_ostream &os)
      : module(module), mesh(mesh), os(os) {}

  bool run(StringRef name);

private:
  void explain(Value value);
  void explainAxis(Value value, StringAttr axis, const Twine &what);
  void explainWhole(Value value);
  void explainReshard(pm::ReshardOp op);
  /// The price of going by way of the whole value.
  std::string wholeWay(RankedTensorType type, const ValueSharding &from,
                       const ValueSharding &to) const;
  ValueSharding active(pm::ShardingAttr attr) const;

  ModuleOp module;
  MeshAxes mesh;
  llvm::raw_ostream &os;
};
} // namespace

static std::string bytesText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (bytes >= 1024 && unit < 4)
    bytes /= 1024, ++unit;
  return llvm::formatv(unit == 0 ? "{0:f0} {1}" : "{0:f2} {1}", bytes,
                       units[unit]);
}

static std::string secondsText(double seconds) {
  return seconds < 1e-3 ? llvm::formatv("{0:f2} us", seconds * 1e6).str()
                        : llvm::formatv("{0:f3} ms", seconds * 1e3).str();
}

static StringRef textOf(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "slice";
  case StepKind::AllReduce:
    return "all-reduce";
  case StepKind::ReduceScatter:
    return "reduce-scatter";
  case StepKind::AllGather:
    return "all-gather";
  case StepKind::AllToAll:
    return "all-to-all";
  case StepKind::Permute:
    return "permute";
  case StepKind::Exchange:
    return "exchange of pieces";
  }
  llvm_unreachable("covered");
}

ValueSharding Explanation::active(pm::ShardingAttr attr) const {
  ValueSharding sharding(attr);
  auto keep = [&](Axes &axes) {
    llvm::erase_if(axes, [&](StringAttr axis) {
      return mesh.isTemporal(axis) || mesh.sizeOf(axis) == 1;
    });
  };
  for (DimCut &dim : sharding.dims) {
    keep(dim.axes);
    if (dim.axes.empty())
      dim.block = 0;
  }
  keep(sharding.partial);
  return sharding;
}

/// Whether the axis cuts the value, or it is partial over it.
static bool hasAxis(Value value, StringAttr axis) {
  pm::ShardingAttr sharding = pm::getSharding(value);
  return sharding && (sharding.shardsAxis(axis.getValue()) ||
                      sharding.isPartialOver(axis.getValue()));
}

void Explanation::explainAxis(Value value, StringAttr axis, const Twine &what) {
  os << "  " << what << " \"" << axis.getValue() << "\"";
  // Breadth first over values that have the axis, to where it was given.
  llvm::DenseMap<Value, std::pair<Value, Operation *>> from;
  std::deque<Value> queue{value};
  from[value] = {};
  Value end;
  while (!queue.empty() && !end) {
    Value at = queue.front();
    queue.pop_front();
    auto visit = [&](Value next, Operation *op) {
      if (!from.count(next) && hasAxis(next, axis)) {
        from[next] = {at, op};
        queue.push_back(next);
      }
    };
    auto arg = dyn_cast<BlockArgument>(at);
    if (arg && isa<func::FuncOp>(arg.getOwner()->getParentOp())) {
      end = at;
      break;
    }
    if (Operation *op = at.getDefiningOp()) {
      for (Value operand : op->getOperands())
        visit(operand, op);
      for (Value result : op->getResults())
        visit(result, op);
    }
    for (Operation *user : at.getUsers()) {
      for (Value operand : user->getOperands())
        visit(operand, user);
      for (Value result : user->getResults())
        visit(result, user);
    }
  }
  if (!end) {
    os << ": a constraint inside gives it\n";
    return;
  }
  os << ", which argument '" << nameOf(end) << "' has: "
     << pm::getSharding(end) << "\n";
  for (Value at = end; at != value; at = from[at].first)
    os << "    through " << placeOf(from[at].second) << "\n";
}

std::string Explanation::wholeWay(RankedTensorType type,
                                  const ValueSharding &from,
                                  const ValueSharding &to) const {
  ValueSharding whole(type.getRank());
  whole.partial = to.partial;
  whole.kind = from.kind;
  std::string error;
  auto first = findReshard(type, from, whole, mesh, error);
  auto second = findReshard(type, whole, to, mesh, error);
  if (failed(first) || failed(second))
    return "";
  double bytes = 0;
  for (const auto &steps : {*first, *second})
    for (const ReshardStep &step : steps)
      bytes += step.bytes;
  return llvm::formatv("{0}, {1}", bytesText(bytes),
                       secondsText(secondsOf(*first) + secondsOf(*second)));
}

void Explanation::explainReshard(pm::ReshardOp op) {
  os << " resharded to " << op.getTarget();
  llvm::SetVector<Operation *> users(op->user_begin(), op->user_end());
  if (!users.empty())
    os << " for " << placeOf(users.front());
  if (users.size() > 1)
    os << " and " << users.size() - 1 << " more";
  os << "\n";
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ValueSharding from = active(op.getSource()), to = active(op.getTarget());
  std::string error;
  auto steps = findReshard(type, from, to, mesh, error);
  if (failed(steps)) {
    os << "    " << error << "\n";
    return;
  }
  double bytes = 0;
  for (const ReshardStep &step : *steps) {
    os << "    " << textOf(step.kind);
    if (step.kind != StepKind::Slice) {
      SmallVector<StringRef> axes;
      for (StringAttr axis : step.axes)
        axes.push_back(axis.getValue());
      os << " over " << llvm::join(axes, ", ") << ": "
         << bytesText(step.bytes) << ", " << secondsText(step.seconds);
    }
    os << "\n";
    bytes += step.bytes;
  }
  std::string whole = wholeWay(type, from, to);
  if (whole.empty() || bytes == 0)
    return;
  std::string own = llvm::formatv("{0}, {1}", bytesText(bytes),
                                  secondsText(secondsOf(*steps)));
  if (whole == own)
    os << "    that is by way of the whole value\n";
  else
    os << "    rejected: by way of the whole value, " << whole << " instead of "
       << own << "\n";
  // The fastest ways without each kind of collective that was taken.
  SmallVector<std::string> ways;
  for (const ReshardStep &avoided : *steps) {
    if (avoided.kind == StepKind::Slice)
      continue;
    // An exchange of pieces takes the place of a permute only.
    uint32_t without = 1u << unsigned(avoided.kind);
    if (avoided.kind != StepKind::Permute)
      without |= 1u << unsigned(StepKind::Exchange);
    auto others = findReshard(type, from, to, mesh, error, without);
    if (failed(others))
      continue;
    SmallVector<StringRef> names;
    double sent = 0;
    for (const ReshardStep &step : *others) {
      names.push_back(textOf(step.kind));
      sent += step.bytes;
    }
    std::string price = llvm::formatv("{0}, {1}", bytesText(sent),
                                      secondsText(secondsOf(*others)));
    std::string way = llvm::join(names, " and ") + ", " + price;
    if (price != own && price != whole && !llvm::is_contained(ways, way))
      ways.push_back(way);
  }
  for (const std::string &way : ways)
    os << "    rejected: " << way << " instead of " << own << "\n";
}

/// What became of the axes that the operands have.
void Explanation::explainWhole(Value value) {
  Operation *op = value.getDefiningOp();
  bool hasRule = false, any = false;
  ShardingRule rule = op ? getRule(op, hasRule) : ShardingRule();
  for (unsigned index = 0; hasRule && index < rule.operands.size(); ++index) {
    pm::ShardingAttr operand = pm::getSharding(op->getOperand(index));
    if (!operand)
      continue;
    for (auto [dim, factors] : llvm::enumerate(rule.operands[index]))
      for (StringAttr axis : operand.getDims()[dim].getAxes()) {
        any = true;
        os << "  operand " << index << " is cut over \"" << axis.getValue()
           << "\" in dimension " << dim;
        bool isExchanged = llvm::any_of(factors, [&](int64_t factor) {
          return rule.factors[factor].kind == FactorKind::Exchanged;
        });
        os << (isExchanged ? ", along which the op mixes elements; the ranks "
                             "exchange what that takes\n"
                           : ", which the result does not have\n");
      }
  }
  if (!any)
    os << "  no axis cuts it: what it is computed from and with has none in its "
          "dimensions\n";
}

void Explanation::explain(Value value) {
  pm::ShardingAttr sharding = pm::getSharding(value);
  if (!sharding)
    return;
  if (auto *op = value.getDefiningOp())
    os << placeOf(op);
  else
    os << "argument '" << nameOf(value) << "'";
  os << ": " << value.getType() << " is " << sharding << "\n";
  if (sharding.isReplicated())
    explainWhole(value);
  for (auto [dim, cut] : llvm::enumerate(sharding.getDims()))
    for (StringAttr axis : cut.getAxes())
      explainAxis(value, axis, "dimension " + Twine(dim) + " is cut over");
  for (StringAttr axis : sharding.getPartialAxes())
    explainAxis(value, axis, "partial over");
  if (Operation *op = value.getDefiningOp())
    for (OpOperand &operand : op->getOpOperands())
      if (auto reshard = operand.get().getDefiningOp<pm::ReshardOp>()) {
        os << "  operand " << operand.getOperandNumber() << ", "
           << reshard.getSource() << " before, is";
        explainReshard(reshard);
      }
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (Operation *user : users)
    if (auto reshard = dyn_cast<pm::ReshardOp>(user)) {
      os << " ";
      explainReshard(reshard);
    }
}

bool Explanation::run(StringRef name) {
  SmallVector<Value> values = valuesNamed(module, name);
  for (Value value : ArrayRef(values).take_front(kMostValues))
    explain(value);
  if (values.size() > kMostValues)
    os << "and " << values.size() - kMostValues << " more values of that name\n";
  return !values.empty();
}

bool pipemesh::explain(ModuleOp module, StringRef name, llvm::raw_ostream &os) {
  pm::MeshOp mesh = pm::lookupMesh(module);
  return mesh && Explanation(module, mesh, os).run(name);
}
