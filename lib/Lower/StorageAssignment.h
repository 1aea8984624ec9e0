//===- StorageAssignment.h - a place for every value ------------*- C++ -*-===//
//
// One fragment at a time: values are grouped into *roots*, each of which is one
// stretch of memory. A reshape shares its operand's root; an all-reduce and an
// in-place kernel take their operand's root over when nobody needs the old
// value. Roots are then pinned to the program buffer that their value is
// returned to, and what remains is packed into scratch by lifetime.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_LOWER_STORAGEASSIGNMENT_H
#define PIPEMESH_LIB_LOWER_STORAGEASSIGNMENT_H

#include "ProgramBuffers.h"
#include "RoleProgram.h"
#include "llvm/ADT/MapVector.h"

namespace pipemesh {

/// Every place begins at a multiple of this.
inline constexpr int64_t kAlignment = 64;

inline int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct Root {
  int64_t bytes = 0;
  /// Positions of the first write and of the last use; -1 before the body.
  int64_t begin = 0, end = 0;
  /// The program buffer, or null for scratch.
  mlir::FlatSymbolRefAttr buffer;
  /// In the scratch region.
  int64_t offset = 0;
};

/// A value that must be copied into a buffer at the end of the fragment.
struct FinalCopy {
  mlir::Value value;
  mlir::FlatSymbolRefAttr buffer;
};

class StorageAssignment {
public:
  /// Emits a diagnostic and becomes invalid when a fragment cannot be placed.
  StorageAssignment(mlir::func::FuncOp function, const ProgramBuffers &buffers,
                    const RoleProgram &role);

  const Root &lookup(mlir::Value value) const {
    return roots[rootOf.lookup(value)];
  }
  /// All-reduce operands whose old value is still needed: the op gets a copy.
  bool needsCopy(mlir::OpOperand &operand) const {
    return copiedOperands.contains(&operand);
  }
  llvm::ArrayRef<FinalCopy> getFinalCopies() const { return finalCopies; }
  int64_t getScratchBytes() const { return scratchBytes; }
  /// Output buffers that are the storage of another buffer.
  const llvm::MapVector<mlir::Attribute, mlir::FlatSymbolRefAttr> &
  getAliases() const {
    return aliases;
  }

private:
  void assignRoots();
  void pinResults();
  void packScratch();
  unsigned addRoot(mlir::Value value, int64_t position);
  void join(mlir::Value value, unsigned root);
  /// Whether `value`'s memory may be overwritten at `position` by an op that
  /// reads it there for the last time.
  bool canTakeOver(mlir::Value value, int64_t position,
                   mlir::FlatSymbolRefAttr target);
  /// The last position at which the value or a view of it is used.
  int64_t lastUse(mlir::Value value) const;
  /// The buffer that the value, or a view of it, is returned to; null if none.
  mlir::FlatSymbolRefAttr returnedTo(mlir::Value value);

  mlir::func::FuncOp function;
  const ProgramBuffers &buffers;
  const RoleProgram &role;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  llvm::DenseMap<mlir::Value, unsigned> rootOf;
  llvm::SmallVector<Root> roots;
  llvm::DenseSet<mlir::OpOperand *> copiedOperands;
  llvm::SmallVector<FinalCopy> finalCopies;
  llvm::MapVector<mlir::Attribute, mlir::FlatSymbolRefAttr> aliases;
  int64_t scratchBytes = 0;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_STORAGEASSIGNMENT_H
