//===- Gathers.cpp --------------------------------------------------------===//

#include "Gathers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Lower/TripCount.h"
#include "pipemesh/Shard/GatherReasons.h"
#include "pipemesh/Support/ByteSize.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

static json::Array listReasons(Operation *gather) {
  json::Array list;
  for (const GatherReason &reason : getGatherReasons(gather))
    list.push_back(json::Object{{"reader", reason.reader.str()},
                                {"reason", reason.reason}});
  return list;
}

/// Whether something reads the value in the end: later levels drop the rest.
static bool isRead(Value value, DenseMap<Operation *, bool> &known) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto [entry, isNew] = known.try_emplace(user, true);
    if (!isNew)
      return entry->second;
    bool read = !isMemoryEffectFree(user) ||
                user->hasTrait<OpTrait::IsTerminator>() ||
                llvm::any_of(user->getResults(), [&](Value result) {
                  return isRead(result, known);
                });
    return known[user] = read;
  });
}

json::Array pipemesh::listGathers(ModuleOp module) {
  json::Array list;
  DenseMap<Operation *, bool> known;
  module.walk([&](pm::AllGatherOp op) {
    if (!isRead(op.getResult(), known))
      return;
    auto type = cast<RankedTensorType>(op.getResult().getType());
    std::string value;
    llvm::raw_string_ostream stream(value);
    if (Operation *maker = op.getInput().getDefiningOp())
      stream << maker->getName();
    else
      stream << "argument";
    stream << " : " << type;
    json::Array axes;
    for (Attribute axis : op.getAxes())
      axes.push_back(cast<StringAttr>(axis).getValue());
    int64_t runs = 1;
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      if (auto loop = dyn_cast<stablehlo::WhileOp>(parent))
        runs *= countTrips(loop).value_or(1);
    list.push_back(json::Object{
        {"value", value},
        {"axes", std::move(axes)},
        {"bytes", byteSizeOf(type)},
        {"function", op->getParentOfType<func::FuncOp>().getName()},
        {"runs", runs},
        {"for", listReasons(op)}});
  });
  return list;
}
