//===- Commands.h - the commands of pmcheck ---------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMCHECK_COMMANDS_H
#define PIPEMESH_TOOLS_PMCHECK_COMMANDS_H

#include "pipemesh/Verify/Compare.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace pipemesh::check {

/// A command line: `--name=value` options and other arguments.
class Arguments {
public:
  /// Splits the arguments; false after a message when an option is not one of
  /// `known`, or the number of other arguments is not `count`.
  bool parse(llvm::ArrayRef<llvm::StringRef> arguments,
             llvm::ArrayRef<llvm::StringRef> known, size_t count,
             llvm::StringRef usage);

  llvm::StringRef operator[](size_t index) const { return positional[index]; }
  bool has(llvm::StringRef name) const { return options.count(name); }
  llvm::StringRef get(llvm::StringRef name) const {
    return options.lookup(name);
  }
  /// The option as a number; `otherwise` when it is not given.
  bool getNumber(llvm::StringRef name, double &value) const;

private:
  llvm::StringMap<llvm::StringRef> options;
  std::vector<llvm::StringRef> positional;
};

/// A file's module, read and verified; null after diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::StringRef path,
                                             mlir::MLIRContext &context);

/// The program's inputs: from `--io`, `--data` and `--weights` where they are
/// given, the rest random from `--seed`.
bool makeInputs(const Arguments &arguments, llvm::ArrayRef<interp::Port> ports,
                int64_t vocabulary, mlir::MLIRContext &context,
                interp::NamedTensors &inputs);

/// The outputs that `--expect` or `--io` hold, under the program's names.
bool readExpected(const Arguments &arguments,
                  llvm::ArrayRef<interp::Port> ports,
                  mlir::MLIRContext &context, interp::NamedTensors &expected);

/// Prints the largest differences. False when one is above the tolerances:
/// |actual - expected| <= absolute + relative * scale, where the scale is the
/// largest magnitude of the tensor, or of the element itself with
/// `elementwise`.
struct Tolerance {
  double relative = 1e-9;
  double absolute = 0;
  bool elementwise = false;
};
bool compareAndReport(const interp::NamedTensors &actual,
                      const interp::NamedTensors &expected,
                      const Tolerance &tolerance);

/// Plants the fault of `--seed-fault`; false after a message.
bool plantFault(const Arguments &arguments);

int runBytes(llvm::ArrayRef<llvm::StringRef> arguments,
             mlir::MLIRContext &context);
int runEquiv(llvm::ArrayRef<llvm::StringRef> arguments,
             mlir::MLIRContext &context);
int runRun(llvm::ArrayRef<llvm::StringRef> arguments,
           mlir::MLIRContext &context);
int runGradients(llvm::ArrayRef<llvm::StringRef> arguments,
                 mlir::MLIRContext &context);
int runPasses(llvm::ArrayRef<llvm::StringRef> arguments,
              mlir::MLIRContext &context);
int runRandom(llvm::ArrayRef<llvm::StringRef> arguments,
              mlir::MLIRContext &context);
int runSchedule(llvm::ArrayRef<llvm::StringRef> arguments,
                mlir::MLIRContext &context);
int runSimulate(llvm::ArrayRef<llvm::StringRef> arguments,
                mlir::MLIRContext &context);
/// Proves the calls that the ranks of a bundle made; see docs/cuda.md.
int runTrace(llvm::ArrayRef<llvm::StringRef> arguments,
             mlir::MLIRContext &context);

} // namespace pipemesh::check

#endif // PIPEMESH_TOOLS_PMCHECK_COMMANDS_H
