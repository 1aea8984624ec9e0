//===- Program.h - the program of a module, read once -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_PROGRAM_H
#define PIPEMESH_LIB_PIPELINE_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/ADT/MapVector.h"

namespace pipemesh {

/// A buffer that a fragment reads or writes, and how its value lies there: an
/// accumulator holds parts until a fragment replaces them by their sum.
struct BufferUse {
  mlir::FlatSymbolRefAttr buffer;
  pm::ShardingAttr sharding;
};

struct Program {
  pm::ProgramOp op;
  pm::MeshOp mesh;
  llvm::MapVector<pm::FragmentAttr, mlir::func::FuncOp> fragments;
  llvm::DenseMap<mlir::Attribute, pm::BufferOp> buffers;
  /// The product of the sizes of the temporal axes.
  int64_t microBatches = 1;

  mlir::func::FuncOp find(pm::FragmentKind kind, int64_t stage) const;

  /// What a fragment reads and writes, except inputs and state, in the order
  /// of its arguments and results.
  mlir::SmallVector<BufferUse> getReads(mlir::func::FuncOp fragment) const;
  mlir::SmallVector<BufferUse> getWrites(mlir::func::FuncOp fragment) const;

  /// Whether a temporal axis cuts the buffer: it has a place for each
  /// micro-batch.
  bool isCut(mlir::Attribute buffer) const;
  /// Whether values of that sharding are added up over the micro-batches.
  bool isPartial(pm::ShardingAttr sharding) const;
};

/// Reads the one program of a module with its fragments, or reports what is
/// missing or there twice.
mlir::FailureOr<Program> readProgram(mlir::ModuleOp module);

/// Whether one fragment runs before the other within a step: by kind, forwards
/// from the first stage on and backwards from the last.
bool runsBefore(pm::FragmentAttr first, pm::FragmentAttr second);

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_PROGRAM_H
