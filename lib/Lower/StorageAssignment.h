//===- StorageAssignment.h - a place for every value ------------*- C++ -*-===//
//
// One fragment at a time: values are grouped into *roots*, each of which is one
// stretch of memory. A reshape shares its operand's root; an all-reduce and an
// in-place kernel take their operand's root over when nobody needs the old
// value. What a loop carries is one root from its initial value to the loop's
// result, and so is each result of a choice; what a region gives is computed
// there where that disturbs nobody, else copied at the region's end. Roots are
// then pinned to the program buffer that their value is returned to, and what
// remains is packed into scratch by lifetime.
//
// Lifetimes are intervals of positions, in the order in which ops stand, those
// of regions in their op. A value that was made outside of a loop lives to the
// loop's end when it is used inside.
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
  /// All values that lie there, one after the other.
  llvm::SmallVector<mlir::Value, 2> members;
};

/// A value that must be copied into a buffer at the end of the fragment.
struct FinalCopy {
  mlir::Value value;
  mlir::FlatSymbolRefAttr buffer;
};

/// A copy at the begin of a loop or at the end of a region, by numbers of roots.
struct RootCopy {
  unsigned from, to;
};

class StorageAssignment {
public:
  StorageAssignment(mlir::func::FuncOp function, const ProgramBuffers &buffers,
                    const RoleProgram &role);

  const Root &lookup(mlir::Value value) const {
    return roots[rootOf.lookup(value)];
  }
  const Root &getRoot(unsigned index) const { return roots[index]; }
  /// All-reduce operands whose old value is still needed: the op gets a copy.
  bool needsCopy(mlir::OpOperand &operand) const {
    return copiedOperands.contains(&operand);
  }
  llvm::ArrayRef<FinalCopy> getFinalCopies() const { return finalCopies; }
  /// What stands in front of a loop, or where a region's terminator stands, in
  /// this order.
  llvm::ArrayRef<RootCopy> getCopies(mlir::Operation *op) const {
    auto it = copies.find(op);
    return it == copies.end() ? llvm::ArrayRef<RootCopy>() : it->second;
  }
  int64_t getScratchBytes() const { return scratchBytes; }
  /// Output buffers that are the storage of another buffer.
  const llvm::MapVector<mlir::Attribute, mlir::FlatSymbolRefAttr> &
  getAliases() const {
    return aliases;
  }

private:
  struct Interval {
    int64_t begin, end;
  };

  void number(mlir::Block &block);
  void assignRoots(mlir::Block &block);
  void assignLoop(mlir::Operation *op);
  void assignChoice(mlir::Operation *op);
  /// Puts what the terminator gives to the roots of the op's results.
  void placeYields(mlir::Operation *terminator, mlir::Operation *op);
  bool canMerge(mlir::Operation *op, unsigned from, unsigned into) const;
  void merge(unsigned from, unsigned into);
  void pinResults();
  void packScratch();
  unsigned addRoot(mlir::Value value, int64_t position);
  void join(mlir::Value value, unsigned root);
  /// Whether `value`'s memory may be overwritten at `position`, where it is read
  /// for the last time, and hold something else until `end`.
  bool canTakeOver(mlir::Value value, int64_t position, int64_t end,
                   mlir::FlatSymbolRefAttr target);
  /// When a value is in its memory.
  Interval getInterval(mlir::Value value) const;
  Interval computeInterval(mlir::Value value) const;
  /// Where `user`, which may stand in a region, reads what `block` has made.
  int64_t usePosition(mlir::Block *block, mlir::Operation *user) const;
  /// The last position at which the value or a view of it is used; -1 if none.
  int64_t lastUse(mlir::Value value) const;
  /// The buffer that the value, or a view of it, is returned to; null if none.
  mlir::FlatSymbolRefAttr returnedTo(mlir::Value value);

  mlir::func::FuncOp function;
  const ProgramBuffers &buffers;
  const RoleProgram &role;
  int64_t nextPosition = 0;
  llvm::DenseMap<mlir::Operation *, Interval> positions;
  llvm::DenseMap<mlir::Block *, int64_t> blockBegins;
  mutable llvm::DenseMap<mlir::Value, Interval> intervals;
  llvm::DenseMap<mlir::Value, unsigned> rootOf;
  llvm::SmallVector<Root> roots;
  llvm::DenseSet<mlir::OpOperand *> copiedOperands;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<RootCopy>> copies;
  llvm::SmallVector<FinalCopy> finalCopies;
  llvm::MapVector<mlir::Attribute, mlir::FlatSymbolRefAttr> aliases;
  int64_t scratchBytes = 0;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_STORAGEASSIGNMENT_H
