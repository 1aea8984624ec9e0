//===- Compare.h - inputs and comparison of programs ------------*- C++ -*-===//

#ifndef PIPEMESH_VERIFY_COMPARE_H
#define PIPEMESH_VERIFY_COMPARE_H

#include "pipemesh/Verify/Program.h"

namespace pipemesh::interp {

/// The element in which two tensors differ most.
struct Difference {
  std::string name;
  /// |actual - expected| divided by the largest |expected| of the tensor (or by
  /// 1e-30); infinite where only one is NaN, integers differ, or shapes do.
  double error = 0;
  /// |actual - expected| of that element.
  double absolute = 0;
  int64_t index = 0;
  double expected = 0, actual = 0;
};

Difference compareTensors(const Tensor &actual, const Tensor &expected);

/// Random inputs. A value depends on its name and the seed alone:
/// - `input_ids`: token ids below `vocabulary`; `labels`: the same, a fifth of
///   them -100, and a whole row where there are several;
/// - parameters: normal of deviation 0.05, those of norms around 1; first
///   moments of deviation 0.01, second moments squares of such numbers;
/// - the optimizer's scalars: a common setting of each;
/// - other real numbers are multiples of 1/32 in [-2, 2], so that sums and
///   comparisons are exact in any order, other integers are 0, 1 or 2.
NamedTensors makeRandomInputs(llvm::ArrayRef<Port> ports, int64_t vocabulary,
                              uint64_t seed);

/// `pm.vocabulary` of the module, else the rows of the smallest table that a
/// `pm.embedding` reads, else 2.
int64_t getVocabulary(mlir::ModuleOp module);

} // namespace pipemesh::interp

#endif // PIPEMESH_VERIFY_COMPARE_H
