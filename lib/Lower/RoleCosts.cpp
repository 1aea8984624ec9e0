//===- RoleCosts.cpp ------------------------------------------------------===//

#include "pipemesh/Lower/RoleCosts.h"
#include "ProgramBuffers.h"
#include "pipemesh/Lower/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pipemesh;

int64_t RoleCosts::getFlops() const {
  int64_t flops = 0;
  for (const BodyCosts &body : bodies)
    flops += body.runs * (body.gemmFlops + body.kernelFlops);
  return flops;
}

namespace {
class Counter {
public:
  Counter(ModuleOp module, pmrt::RoleOp role)
      : module(module), role(role), buffers(module) {}

  RoleCosts run();

private:
  void addBody(pmrt::BodyOp body, int64_t runs);
  /// `trips`: how often the block runs in one run of the body.
  void addBlock(Block &block, pmrt::BodyOp body, int64_t runs, int64_t trips,
                bool known, BodyCosts &made);
  void addCollective(Operation &op, StringRef kind, ArrayAttr axes,
                     int64_t operands, int64_t operandBytes, pmrt::BodyOp body,
                     int64_t runs, bool known);
  void addTransfers();
  int64_t getKernelFlops(StringRef name);

  ModuleOp module;
  pmrt::RoleOp role;
  ProgramBuffers buffers;
  llvm::StringMap<int64_t> kernelFlops;
  RoleCosts costs;
};
} // namespace

int64_t Counter::getKernelFlops(StringRef name) {
  auto [entry, isNew] = kernelFlops.try_emplace(name, 0);
  if (isNew)
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      for (auto fused : function.getBody().getOps<pmrt::FusedOp>())
        entry->second += countOperations(fused);
  return entry->second;
}

static int64_t flopsOf(pmrt::GemmOp op) {
  int64_t flops = 2 * op.getM() * op.getN() * op.getK();
  for (int64_t size : op.getBatch())
    flops *= size;
  return flops;
}

/// What a rank sends; short pieces count as whole ones.
static int64_t wireBytesOf(Operation &op, int64_t operandBytes,
                           int64_t members) {
  int64_t others = members - 1;
  if (isa<pmrt::AllReduceOp>(op))
    return 2 * others * operandBytes / members;
  if (auto scatter = dyn_cast<pmrt::ReduceScatterOp>(op))
    return others * cast<pmrt::PlaceAttr>(scatter.getPlaces()[1]).getBytes();
  if (auto exchange = dyn_cast<pmrt::AllToAllOp>(op))
    return exchange.getSplitSize() == 0
               ? 0
               : others * (operandBytes / int64_t(exchange.getSplitSize()) *
                           int64_t(exchange.getSplitPiece()));
  if (auto permute = dyn_cast<pmrt::PermuteOp>(op)) {
    // Of the member that sends the most parts.
    ArrayRef<int64_t> sources = permute.getSources();
    SmallVector<int64_t> sent(members, 0);
    for (auto [index, source] : llvm::enumerate(sources))
      if (source >= 0 && source != int64_t(index) % members)
        ++sent[source];
    return operandBytes / std::max<int64_t>(sources.size() / members, 1) *
           *llvm::max_element(sent);
  }
  return others * operandBytes;
}

void Counter::addCollective(Operation &op, StringRef kind, ArrayAttr axes,
                            int64_t operands, int64_t operandBytes,
                            pmrt::BodyOp body, int64_t runs, bool known) {
  Exchange exchange;
  exchange.kind = kind.str();
  for (auto axis : axes.getAsRange<StringAttr>()) {
    exchange.axes.push_back(axis.getValue().str());
    if (auto known = buffers.getMesh().lookupAxis(axis.getValue()))
      exchange.groupSize *= known.getSize();
  }
  exchange.operands = operands;
  exchange.operandBytes = operandBytes;
  exchange.wireBytes = wireBytesOf(op, operandBytes, exchange.groupSize);
  exchange.runs = runs;
  exchange.runsAreKnown = known;
  if (auto reduce = dyn_cast<pmrt::AllReduceOp>(op))
    exchange.isStarted = reduce.getEvent().has_value();
  exchange.module = pm::getModelName(op.getLoc()).str();
  exchange.fragment = body.getKind().str();
  costs.exchanges.push_back(std::move(exchange));
}

void Counter::addBody(pmrt::BodyOp body, int64_t runs) {
  BodyCosts made;
  made.name = body.getSymName().str();
  made.runs = runs;
  addBlock(body.getBody().front(), body, runs, 1, true, made);
  costs.bodies.push_back(std::move(made));
}

void Counter::addBlock(Block &block, pmrt::BodyOp body, int64_t runs,
                       int64_t trips, bool known, BodyCosts &made) {
  for (Operation &op : block) {
    ++made.instructions;
    if (auto loop = dyn_cast<pmrt::WhileOp>(op)) {
      int64_t count = loop.getTrips().value_or(1);
      bool inside = known && loop.getTrips().has_value();
      made.runsAreKnown &= inside;
      addBlock(loop.getCond().front(), body, runs, trips * (count + 1), inside,
               made);
      addBlock(loop.getBody().front(), body, runs, trips * count, inside, made);
    } else if (auto choice = dyn_cast<pmrt::CaseOp>(op)) {
      // All branches are counted.
      made.runsAreKnown = false;
      for (Region &branch : choice.getBranches())
        addBlock(branch.front(), body, runs, trips, false, made);
    } else if (auto gemm = dyn_cast<pmrt::GemmOp>(op)) {
      ++made.gemms;
      made.gemmFlops += trips * flopsOf(gemm);
    } else if (auto attention = dyn_cast<pmrt::AttentionOp>(op)) {
      ++made.attentions;
      made.kernelFlops += trips * attention.getFlops();
    } else if (auto call = dyn_cast<pmrt::CallOp>(op)) {
      ++made.kernels;
      made.kernelFlops += trips * getKernelFlops(call.getKernel());
    } else if (auto reduce = dyn_cast<pmrt::AllReduceOp>(op)) {
      int64_t bytes = 0;
      for (auto place : reduce.getPlaces().getAsRange<pmrt::PlaceAttr>())
        bytes += place.getBytes();
      addCollective(op, "all-reduce", reduce.getAxes(),
                    reduce.getPlaces().size(), bytes, body, runs * trips, known);
    } else if (auto gather = dyn_cast<pmrt::AllGatherOp>(op)) {
      addCollective(op, "all-gather", gather.getAxes(), 1,
                    cast<pmrt::PlaceAttr>(gather.getPlaces()[0]).getBytes(),
                    body, runs * trips, known);
    } else if (auto scatter = dyn_cast<pmrt::ReduceScatterOp>(op)) {
      addCollective(op, "reduce-scatter", scatter.getAxes(), 1,
                    cast<pmrt::PlaceAttr>(scatter.getPlaces()[0]).getBytes(),
                    body, runs * trips, known);
    } else if (auto exchange = dyn_cast<pmrt::AllToAllOp>(op)) {
      addCollective(op, "all-to-all", exchange.getAxes(), 1,
                    cast<pmrt::PlaceAttr>(exchange.getPlaces()[0]).getBytes(),
                    body, runs * trips, known);
    } else if (auto permute = dyn_cast<pmrt::PermuteOp>(op)) {
      addCollective(op, "permute", permute.getAxes(), 1,
                    cast<pmrt::PlaceAttr>(permute.getPlaces()[0]).getBytes(),
                    body, runs * trips, known);
    }
  }
}

/// One entry for each channel that the role sends on.
void Counter::addTransfers() {
  std::string stageAxis = "pp";
  if (pm::MeshOp mesh = buffers.getMesh())
    for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
      if (axis.getKind() == pm::AxisKind::Stage)
        stageAxis = axis.getName().getValue().str();
  llvm::MapVector<int64_t, Exchange> byChannel;
  StringRef fragment;
  for (Operation &op : role.getBody().front()) {
    if (auto action = dyn_cast<pmrt::ActionOp>(op)) {
      if (auto body = dyn_cast_or_null<pmrt::BodyOp>(
              SymbolTable::lookupSymbolIn(role, action.getFragment())))
        fragment = body.getKind();
      continue;
    }
    auto send = dyn_cast<pmrt::SendOp>(op);
    if (!send)
      continue;
    Exchange &exchange = byChannel[send.getChannel()];
    if (exchange.runs++ > 0)
      continue;
    exchange.kind = "transfer";
    exchange.axes = {stageAxis};
    exchange.groupSize = 2;
    if (auto buffer = dyn_cast_or_null<pmrt::BufferOp>(
            SymbolTable::lookupSymbolIn(role, send.getBuffer()))) {
      exchange.operandBytes = exchange.wireBytes = buffer.getBytes();
      exchange.module = pm::getModelName(buffer.getLoc()).str();
    }
    if (exchange.module.empty())
      exchange.module = send.getBuffer().str();
    exchange.fragment = fragment.str();
  }
  for (auto &entry : byChannel)
    costs.exchanges.push_back(std::move(entry.second));
}

RoleCosts Counter::run() {
  for (auto buffer : role.getBody().front().getOps<pmrt::BufferOp>()) {
    pm::BufferOp declared = buffers.lookup(
        FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
    if (declared && declared.getKind() == pm::BufferKind::State &&
        declared.getRole() == "parameter")
      costs.weightBytes += buffer.getBytes();
  }
  llvm::StringMap<int64_t> runs;
  for (auto action : role.getBody().front().getOps<pmrt::ActionOp>())
    ++runs[action.getFragment()];
  for (auto body : role.getBody().front().getOps<pmrt::BodyOp>())
    addBody(body, runs.lookup(body.getSymName()));
  addTransfers();
  return std::move(costs);
}

RoleCosts pipemesh::computeRoleCosts(ModuleOp module, pmrt::RoleOp role) {
  return Counter(module, role).run();
}
