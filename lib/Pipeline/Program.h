//===- Program.h - the program of a module, read once -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_PROGRAM_H
#define PIPEMESH_LIB_PIPELINE_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/ADT/MapVector.h"

namespace pipemesh {

struct Program {
  pm::ProgramOp op;
  pm::MeshOp mesh;
  llvm::MapVector<pm::FragmentAttr, mlir::func::FuncOp> fragments;
  llvm::DenseMap<mlir::Attribute, pm::BufferOp> buffers;
  /// The product of the sizes of the temporal axes.
  int64_t microBatches = 1;

  mlir::func::FuncOp find(pm::FragmentKind kind, int64_t stage) const;
};

/// Reads the one program of a module with its fragments, or reports what is
/// missing or there twice.
mlir::FailureOr<Program> readProgram(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_PROGRAM_H
