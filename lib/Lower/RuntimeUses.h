//===- RuntimeUses.h - which instructions of a role use what ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_RUNTIMEUSES_H
#define PIPEMESH_LIB_LOWER_RUNTIMEUSES_H

#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace pipemesh {

/// The entries of a role's order, and in each body the uses of each buffer.
/// Buffers that share a place in the arena are one here.
class RuntimeUses {
public:
  /// A use by an instruction of the body itself: a loop uses what is used in it.
  struct Use {
    mlir::Operation *op;
    size_t position; ///< of the op in the body
  };

  explicit RuntimeUses(pmrt::RoleOp role);

  size_t size() const { return entries.size(); }
  /// A `pmrt.action`, `pmrt.send` or `pmrt.receive`.
  mlir::Operation *getEntry(size_t index) const { return entries[index]; }

  /// Null where the role has none of that name.
  pmrt::BodyOp getBody(pmrt::ActionOp action) const {
    return bodies.lookup(action.getFragment());
  }
  /// Null for scratch.
  pmrt::BufferOp lookup(pmrt::PlaceAttr place) const;

  /// The last instruction of the body that uses the buffer.
  std::optional<Use> getLast(pmrt::BodyOp body, pmrt::BufferOp buffer) const;
  /// Whether an instruction in front of `op`, in its body, uses the buffer.
  bool isUsedBefore(mlir::Operation *op, pmrt::BufferOp buffer) const;
  /// Whether a send or a receive moves the buffer.
  bool transfers(mlir::Operation *transfer, pmrt::BufferOp buffer) const;

  /// Gives the action a copy of its body, with `_last` behind the name, unless no
  /// other action runs it. Returns what has become of `op`, an instruction of the
  /// body it had before.
  mlir::Operation *makeBodyOfItsOwn(pmrt::ActionOp action, mlir::Operation *op);

private:
  using Uses = llvm::DenseMap<int64_t, Use>; ///< by offset in the arena

  void addUses(pmrt::BodyOp body);

  pmrt::RoleOp role;
  llvm::SmallVector<mlir::Operation *> entries;
  llvm::StringMap<pmrt::BodyOp> bodies;
  llvm::StringMap<pmrt::BufferOp> buffers;
  llvm::DenseMap<mlir::Operation *, Uses> last; ///< of each body
  llvm::StringMap<int64_t> runs;
  llvm::DenseMap<mlir::Operation *, llvm::DenseMap<mlir::Operation *,
                                                   mlir::Operation *>>
      copies; ///< of each body that was copied: by action, its instructions
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_RUNTIMEUSES_H
