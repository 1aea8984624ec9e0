//===- CheckProgram.cpp - the proof of a scheduled program ----------------===//

#include "Program.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Support/ByteSize.h"
#include "llvm/ADT/MapVector.h"

namespace pipemesh {
#define GEN_PASS_DEF_CHECKPROGRAMPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

static ArrayAttr getMeetingAxes(Operation *op) {
  if (isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
          pm::AllToAllOp, pm::CollectivePermuteOp>(op))
    return op->getAttrOfType<ArrayAttr>("axes");
  return {};
}

namespace {
/// What a role holds while its actions run.
class RoleMemory {
public:
  RoleMemory(const Program &program, pm::RoleOp role)
      : program(program), role(role) {}

  /// Finds the most that is held, and where.
  void run();

  int64_t peak = 0;
  Operation *at = nullptr;

private:
  using Key = std::pair<Attribute, int64_t>; // buffer, micro-batch

  /// The buffers of a fragment, and whether they are cut; found once.
  ArrayRef<std::pair<Attribute, bool>> usesOf(pm::FragmentAttr fragment) const {
    auto [entry, isNew] = uses.try_emplace(fragment);
    func::FuncOp function = program.fragments.lookup(fragment);
    if (isNew && function)
      for (bool reads : {true, false})
        for (const BufferUse &of : reads ? program.getReads(function)
                                         : program.getWrites(function))
          entry->second.push_back({of.buffer, program.isCut(of.buffer)});
    return entry->second;
  }
  template <typename Visit> void forEachUse(Operation &op, Visit visit) const;
  bool stays(pm::BufferOp buffer) const {
    return buffer.getKind() == pm::BufferKind::Input ||
           buffer.getKind() == pm::BufferKind::State ||
           buffer.getKind() == pm::BufferKind::Output;
  }

  const Program &program;
  pm::RoleOp role;
  mutable llvm::DenseMap<Attribute, SmallVector<std::pair<Attribute, bool>>>
      uses;
};

class CheckProgram
    : public pipemesh::impl::CheckProgramPassBase<CheckProgram> {
public:
  using CheckProgramPassBase::CheckProgramPassBase;

  void runOnOperation() override {
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    for (auto &[fragment, function] : program->fragments)
      if (failed(checkCollectives(function, *program)))
        return signalPassFailure();
    int64_t limit = memoryLimit, actions = 0, transfers = 0, collectives = 0;
    SmallVector<int64_t> peaks;
    for (auto role : program->op.getBody().getOps<pm::RoleOp>()) {
      for (Operation &op : role.getBody().front()) {
        ++actions;
        transfers += isa<pm::SendOp>(op);
        if (auto action = dyn_cast<pm::ActionOp>(op))
          collectives += counts.lookup(pm::FragmentAttr::get(
              &getContext(), action.getKind(), action.getStage()));
      }
      RoleMemory memory(*program, role);
      memory.run();
      peaks.push_back(memory.peak);
      if (limit > 0 && memory.peak > limit) {
        InFlightDiagnostic diagnostic =
            role.emitError("role ")
            << role.getPipelineRank() << " holds " << memory.peak
            << " bytes at its peak, but a rank has " << limit
            << "; use more stages, shards or micro-batches, or recompute=full";
        if (memory.at)
          diagnostic.attachNote(memory.at->getLoc()) << "it holds them here";
        return signalPassFailure();
      }
    }
    if (!report)
      return;
    InFlightDiagnostic remark = program->op.emitRemark("proved: ")
                                << peaks.size() << " roles, " << actions
                                << " actions, " << transfers << " transfers, "
                                << collectives << " collectives; peaks of ";
    llvm::interleaveComma(peaks, remark);
    remark << " bytes";
  }

private:
  /// The ranks that meet run the same fragment.
  LogicalResult checkCollectives(func::FuncOp function,
                                 const Program &program) {
    auto fragment =
        function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
    auto result = function.walk([&](Operation *op) {
      ArrayAttr axes = getMeetingAxes(op);
      if (!axes)
        return WalkResult::advance();
      ++counts[fragment];
      for (auto name : axes.getAsRange<StringAttr>()) {
        pm::MeshAxisAttr axis =
            pm::MeshOp(program.mesh).lookupAxis(name.getValue());
        if (axis && axis.getKind() == pm::AxisKind::Spatial)
          continue;
        InFlightDiagnostic diagnostic = op->emitError("meets along axis ");
        diagnostic << name;
        if (!axis)
          diagnostic << ", which the mesh does not have";
        else if (axis.getKind() == pm::AxisKind::Temporal)
          diagnostic << ", over which there are no ranks, but micro-batches";
        else
          diagnostic << ", but the other stages run other fragments and never "
                        "come here; use pm.send and pm.receive";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  llvm::DenseMap<Attribute, int64_t> counts;
};
} // namespace

/// Calls visit(buffer, micro-batch) for what an entry of the role touches.
template <typename Visit>
void RoleMemory::forEachUse(Operation &op, Visit visit) const {
  if (auto send = dyn_cast<pm::SendOp>(op))
    return visit(send.getBufferAttr(), int64_t(send.getMicroBatch()));
  if (auto receive = dyn_cast<pm::ReceiveOp>(op))
    return visit(receive.getBufferAttr(), int64_t(receive.getMicroBatch()));
  auto action = dyn_cast<pm::ActionOp>(op);
  if (!action)
    return;
  auto fragment = pm::FragmentAttr::get(action.getContext(), action.getKind(),
                                        action.getStage());
  for (auto [buffer, isCut] : usesOf(fragment)) {
    bool each = isCut && !fragment.isPerMicroBatch();
    int64_t first = isCut && !each ? action.getMicroBatch() : 0;
    int64_t last = each ? program.microBatches - 1 : first;
    for (int64_t i = first; i <= last; ++i)
      visit(buffer, i);
  }
}

void RoleMemory::run() {
  Block &entries = role.getBody().front();
  // What the runtime fills, and results, stay for the whole step.
  int64_t held = 0;
  llvm::DenseSet<Attribute> known;
  llvm::DenseMap<Key, int64_t> left;
  auto sizeOf = [&](Attribute name) {
    pm::BufferOp buffer = program.buffers.lookup(name);
    return buffer ? byteSizeOf(buffer.getType()) : 0;
  };
  auto hold = [&](FlatSymbolRefAttr name) {
    pm::BufferOp buffer = program.buffers.lookup(name);
    if (buffer && stays(buffer) && known.insert(name).second)
      held += sizeOf(name) *
              (program.isCut(name) ? program.microBatches : 1);
  };
  for (Operation &op : entries) {
    forEachUse(op, [&](Attribute buffer, int64_t microBatch) {
      ++left[{buffer, microBatch}];
    });
    auto action = dyn_cast<pm::ActionOp>(op);
    func::FuncOp function =
        action ? program.fragments.lookup(pm::FragmentAttr::get(
                     action.getContext(), action.getKind(), action.getStage()))
               : func::FuncOp();
    if (!function || int64_t(action.getMicroBatch()) > 0)
      continue;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(
              i, pm::kBufferAttr))
        hold(name);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(
              i, pm::kBufferAttr))
        hold(name);
  }
  peak = held;
  llvm::DenseSet<Key> live;
  for (Operation &op : entries) {
    SmallVector<Key> dead;
    forEachUse(op, [&](Attribute buffer, int64_t microBatch) {
      if (known.contains(buffer))
        return;
      Key key(buffer, microBatch);
      if (live.insert(key).second)
        held += sizeOf(buffer);
      if (--left[key] == 0)
        dead.push_back(key);
    });
    if (held > peak) {
      peak = held;
      at = &op;
    }
    for (const Key &key : dead) {
      live.erase(key);
      held -= sizeOf(key.first);
    }
  }
}
