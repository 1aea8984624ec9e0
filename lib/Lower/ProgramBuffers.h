//===- ProgramBuffers.h - what lowering asks of a pm.program ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_PROGRAMBUFFERS_H
#define PIPEMESH_LIB_LOWER_PROGRAMBUFFERS_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Support/ByteSize.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace pipemesh {

/// On a dot_general: it adds to the buffer that its result is bound to.
inline constexpr llvm::StringLiteral kAccumulateAttr = "pmrt.accumulate";

/// The buffers of a module's program, by name, in order.
class ProgramBuffers {
public:
  explicit ProgramBuffers(mlir::ModuleOp module);

  /// Whether the module has a program on a mesh, and every buffer and value of
  /// its fragments a size; reports what is missing.
  llvm::LogicalResult verify(mlir::ModuleOp module) const;

  pm::ProgramOp getProgram() const { return program; }
  pm::MeshOp getMesh() const { return mesh; }
  llvm::ArrayRef<pm::BufferOp> getBuffers() const { return buffers; }

  /// Null when the name is null or unknown.
  pm::BufferOp lookup(mlir::FlatSymbolRefAttr name) const;

  /// The product of the temporal axes that cut the buffer.
  int64_t getNumMicroBatches(pm::BufferOp buffer) const;

  /// Whether runs of a fragment add to it: partial over a temporal axis that is
  /// longer than 1.
  bool accumulates(pm::BufferOp buffer) const;

private:
  pm::ProgramOp program;
  pm::MeshOp mesh;
  llvm::SmallVector<pm::BufferOp> buffers;
  llvm::DenseMap<mlir::Attribute, pm::BufferOp> byName;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_PROGRAMBUFFERS_H
