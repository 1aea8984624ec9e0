//===- RoleProgram.h - what one pipeline rank runs --------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_ROLEPROGRAM_H
#define PIPEMESH_LIB_LOWER_ROLEPROGRAM_H

#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace pipemesh {

/// The fragments that a `pm.role` runs, the buffers that it holds, and who of
/// them reads what when.
class RoleProgram {
public:
  /// Fails with a diagnostic when an action runs a fragment that the module
  /// does not have, or when there are no actions.
  static mlir::FailureOr<RoleProgram> get(mlir::ModuleOp module,
                                          pm::RoleOp role);

  /// The fragments that the actions run, in the order of the module.
  llvm::ArrayRef<mlir::func::FuncOp> getFragments() const { return fragments; }

  /// The fragment of an action.
  mlir::func::FuncOp lookup(pm::ActionOp action) const;

  /// `pm.action`, `pm.send` and `pm.receive` in the role's order.
  llvm::ArrayRef<mlir::Operation *> getEntries() const { return entries; }

  /// Whether a fragment or a transfer of the role names the buffer.
  bool names(mlir::Attribute buffer) const { return named.contains(buffer); }

  /// Whether a fragment that runs for each micro-batch writes the buffer.
  bool isWrittenPerMicroBatch(mlir::Attribute buffer) const;

  /// Whether nothing of the role reads the buffer's value after `function` has:
  /// of all fragments that read it, it is the last in the order P, F, I, W, B,
  /// R, U; every send of a micro-batch stands before the function's run of it;
  /// and the function either runs once a step or reads a value that each
  /// micro-batch makes anew. What the runtime reads after the step (a buffer
  /// with a `role`) has no last reader.
  bool isLastReader(pm::BufferOp buffer, mlir::func::FuncOp function) const;

  /// Whether a fragment that may run before `function`, or itself, reads the
  /// buffer.
  bool isReadUpTo(mlir::Attribute buffer, mlir::func::FuncOp function) const;

  /// The fewest slots of a buffer such that no two micro-batches whose value is
  /// alive at once share one. Alive from the first entry that writes it (an
  /// action or a receive) to the last that reads it (an action or a send).
  int64_t countSlots(mlir::Attribute buffer, int64_t microBatches) const;

private:
  llvm::SmallVector<mlir::func::FuncOp> fragments;
  llvm::SmallVector<mlir::Operation *> entries;
  llvm::DenseMap<mlir::Attribute, mlir::func::FuncOp> byKind;
  llvm::DenseSet<mlir::Attribute> named;
  /// Of each buffer: the fragments that read and that write it.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::func::FuncOp>> readers,
      writers;
};

/// Numbers the channels of a program: one for each buffer that one role sends
/// to another, the same on both sides.
class Channels {
public:
  explicit Channels(pm::ProgramOp program);

  int64_t lookup(pm::SendOp send) const;
  int64_t lookup(pm::ReceiveOp receive) const;

private:
  using Key = std::tuple<mlir::Attribute, int64_t, int64_t>;

  llvm::DenseMap<Key, int64_t> numbers;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_ROLEPROGRAM_H
