//===- Program.cpp - the program of a module, read once -------------------===//

#include "Program.h"

using namespace mlir;
using namespace pipemesh;

func::FuncOp Program::find(pm::FragmentKind kind, int64_t stage) const {
  auto found =
      fragments.find(pm::FragmentAttr::get(op->getContext(), kind, stage));
  return found == fragments.end() ? func::FuncOp() : found->second;
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
  for (auto axis : program.mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    if (axis.getKind() == pm::AxisKind::Temporal)
      program.microBatches *= axis.getSize();
  return program;
}
