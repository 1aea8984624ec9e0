//===- Program.cpp - the program of a module, read once -------------------===//

#include "Program.h"
#include "Stage.h"

using namespace mlir;
using namespace pipemesh;

func::FuncOp Program::find(pm::FragmentKind kind, int64_t stage) const {
  auto found =
      fragments.find(pm::FragmentAttr::get(op->getContext(), kind, stage));
  return found == fragments.end() ? func::FuncOp() : found->second;
}

/// Keeps the uses of what fragments hand on.
static void addUse(const Program &program, DictionaryAttr attrs,
                   SmallVector<BufferUse> &uses) {
  auto name = attrs ? attrs.getAs<FlatSymbolRefAttr>(pm::kBufferAttr)
                    : FlatSymbolRefAttr();
  pm::BufferOp buffer = program.buffers.lookup(name);
  if (!buffer || buffer.getKind() == pm::BufferKind::Input ||
      buffer.getKind() == pm::BufferKind::State)
    return;
  auto sharding = attrs.getAs<pm::ShardingAttr>(pm::kShardingAttr);
  uses.push_back({name, sharding ? sharding : buffer.getSharding()});
}

SmallVector<BufferUse> Program::getReads(func::FuncOp fragment) const {
  SmallVector<BufferUse> uses;
  for (unsigned i = 0; i < fragment.getNumArguments(); ++i)
    addUse(*this, fragment.getArgAttrDict(i), uses);
  return uses;
}

SmallVector<BufferUse> Program::getWrites(func::FuncOp fragment) const {
  SmallVector<BufferUse> uses;
  for (unsigned i = 0; i < fragment.getNumResults(); ++i)
    addUse(*this, fragment.getResultAttrDict(i), uses);
  return uses;
}

static bool isTemporal(pm::MeshOp mesh, StringAttr axis) {
  pm::MeshAxisAttr found = mesh.lookupAxis(axis.getValue());
  return found && found.getKind() == pm::AxisKind::Temporal;
}

bool Program::isCut(Attribute buffer) const {
  pm::BufferOp op = buffers.lookup(buffer);
  return llvm::any_of(op.getSharding().getDims(), [&](pm::DimShardingAttr dim) {
    return llvm::any_of(
        dim.getAxes(), [&](StringAttr axis) { return isTemporal(mesh, axis); });
  });
}

bool Program::isPartial(pm::ShardingAttr sharding) const {
  return llvm::any_of(sharding.getPartialAxes(),
                      [&](StringAttr axis) { return isTemporal(mesh, axis); });
}

bool pipemesh::runsBefore(pm::FragmentAttr first, pm::FragmentAttr second) {
  if (first.getKind() != second.getKind())
    return first.getKind() < second.getKind();
  switch (first.getKind()) {
  case pm::FragmentKind::InputGradient:
  case pm::FragmentKind::WeightGradient:
  case pm::FragmentKind::Backward:
    return first.getStage() > second.getStage();
  default:
    return first.getStage() < second.getStage();
  }
}

/// Stages and pipeline ranks that the module names are there.
static LogicalResult verifyStages(ModuleOp module, const Program &program) {
  SmallVector<int64_t> rankOfStage = getRankOfStage(module, program.mesh);
  int64_t stages = rankOfStage.size(),
          ranks = getNumPipelineRanks(program.mesh);
  for (auto [stage, rank] : llvm::enumerate(rankOfStage))
    if (rank < 0 || rank >= ranks)
      return module.emitError("stage ")
             << stage << " lies on pipeline rank " << rank << ", but the mesh has "
             << ranks << " of them";
  for (auto &[fragment, function] : program.fragments)
    if (fragment.getStage() < 0 || fragment.getStage() >= stages)
      return func::FuncOp(function).emitError("is a fragment of stage ")
             << fragment.getStage() << ", but there are " << stages << " stages";
  for (auto role : pm::ProgramOp(program.op).getBody().getOps<pm::RoleOp>())
    if (int64_t rank = role.getPipelineRank(); rank < 0 || rank >= ranks)
      return role.emitError("is of pipeline rank ")
             << rank << ", but the mesh has " << ranks
             << " of them";
  return success();
}

FailureOr<Program> pipemesh::readProgram(ModuleOp module) {
  Program program;
  program.mesh = pm::lookupMesh(module);
  auto programs = llvm::to_vector(module.getOps<pm::ProgramOp>());
  if (!program.mesh || programs.size() != 1)
    return LogicalResult(
        module.emitError("expected a mesh and one program, but the module has ")
        << (program.mesh ? "a mesh" : "no mesh") << " and " << programs.size()
        << " programs; run pm-split-stages");
  program.op = programs[0];
  for (auto buffer : program.op.getBody().getOps<pm::BufferOp>())
    program.buffers[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffer;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto fragment =
        function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
    if (!fragment)
      return LogicalResult(
          function.emitError("is no fragment; next to a program stand its "
                             "fragments only"));
    auto [other, isNew] = program.fragments.insert({fragment, function});
    if (!isNew) {
      InFlightDiagnostic diagnostic = function.emitError("is a second ")
                                      << fragment;
      diagnostic.attachNote(other->second.getLoc()) << "the first is here";
      return LogicalResult(diagnostic);
    }
  }
  if (failed(verifyStages(module, program)))
    return failure();
  program.microBatches = getAxesSize(program.mesh, pm::AxisKind::Temporal);
  return program;
}
