//===- RandomCheck.h - a program and its partitioned form -------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMCHECK_RANDOMCHECK_H
#define PIPEMESH_TOOLS_PMCHECK_RANDOMCHECK_H

#include "RandomProgram.h"
#include "mlir/Pass/PassManager.h"

namespace pipemesh::check {

struct Verdict {
  enum Kind {
    Same,      ///< The values agree.
    Refused,   ///< A refusal that the documents name.
    Different, ///< Values differ, or the partitioned program does not run.
    Diagnosed, ///< A pass refuses a legal program.
    Crashed,
    Invalid, ///< The program itself is wrong: an error of this tester.
  };
  static constexpr unsigned kNumKinds = Invalid + 1;
  Kind kind = Same;
  std::string message;
  /// Number of the refusal in `getRefusals`.
  unsigned refusal = 0;

  bool isFinding() const { return kind >= Different; }
};

/// What the passes refuse, and the documents say so.
struct Refusal {
  const char *message;
  const char *what;
};
llvm::ArrayRef<Refusal> getRefusals();

/// Propagates, partitions, and runs both on the reference interpreter.
class RandomChecker {
public:
  RandomChecker();
  mlir::MLIRContext &getContext() { return context; }
  Verdict check(llvm::StringRef text, uint64_t seed);
  /// Collectives of the partitioned program that was checked last.
  unsigned getNumCollectives() const { return collectives; }
  /// Ops that propagation had no rule for, with a remark, in it.
  unsigned getNumRemarks() const { return remarks; }

private:
  mlir::MLIRContext context;
  mlir::PassManager passes;
  unsigned collectives = 0, remarks = 0;
};

/// Fewer and smaller choices for which `fails` still holds.
ChoiceLists shrink(ChoiceLists lists,
                   llvm::function_ref<bool(const ChoiceLists &)> fails,
                   unsigned budget);

} // namespace pipemesh::check

#endif // PIPEMESH_TOOLS_PMCHECK_RANDOMCHECK_H
