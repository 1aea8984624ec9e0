//===- Program.h - a module of any tensor level, run by names ---*- C++ -*-===//
//
// The levels hold one computation in different forms; their values are matched
// by name. A name is the role alone (`input_ids`, `loss`) or the role and the
// parameter that it belongs to (`parameter model.norm.weight`,
// `gradient model.norm.weight`). Arguments and results without one are called
// `arg0`, ..., `out0`, ....
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_VERIFY_PROGRAM_H
#define PIPEMESH_VERIFY_PROGRAM_H

#include "pipemesh/Verify/Interpreter.h"

namespace pipemesh::interp {

/// An input or an output of a program, with its global type.
struct Port {
  std::string name;
  std::string role;
  mlir::RankedTensorType type;
  /// The shape in files, where it is another one (`pm.stored_shape`).
  llvm::SmallVector<int64_t> storedShape = {};
};

struct ProgramOptions {
  /// The function to run; "" for `main`, or the only function.
  std::string function;
  /// A function of local shapes, run on all ranks of the mesh, although it
  /// holds no collective.
  bool partitioned = false;
};

/// A module of one of these levels:
/// - a function of global shapes, run on one device;
/// - a partitioned function (with collectives over the axes of its `pm.mesh`,
///   its arguments and results placed by `pm.sharding`), run on all ranks in
///   lockstep;
/// - fragments of global shapes around a `pm.program`, each run once;
/// - partitioned fragments (the buffers have a `global_type`), run on all ranks
///   and micro-batches in the order of the roles' actions, with the values that
///   these send and receive, or, where there are none, the prologue, forward and
///   backward of each micro-batch, the reduce, the update.
/// Each pipeline stage has its own copies of the buffers.
class Program {
public:
  static llvm::FailureOr<std::unique_ptr<Program>>
  load(mlir::ModuleOp module, const ProgramOptions &options = {});
  virtual ~Program() = default;

  llvm::ArrayRef<Port> getInputs() const { return inputs; }
  llvm::ArrayRef<Port> getOutputs() const { return outputs; }

  /// Runs one step on global values. Outputs are put together from the ranks'
  /// pieces; replicas that differ between ranks are an error. So is a read of a
  /// buffer that nothing has written.
  virtual llvm::FailureOr<NamedTensors> run(const NamedTensors &inputs) = 0;

  /// What runs, in words.
  virtual std::string describe() const = 0;

private:
  void readStoredShapes(mlir::ModuleOp module);

protected:
  std::vector<Port> inputs, outputs;
};

} // namespace pipemesh::interp

#endif // PIPEMESH_VERIFY_PROGRAM_H
