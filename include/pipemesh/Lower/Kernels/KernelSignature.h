//===- KernelSignature.h - what makes two kernels equal ---------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_KERNELS_KERNELSIGNATURE_H
#define PIPEMESH_LOWER_KERNELS_KERNELSIGNATURE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace pipemesh {

/// The ops of a kernel as a list of words: names, attributes and types by the
/// addresses of their unique objects, values by number. Two kernels are equal
/// where the words are. What values and locations are called is not in it, nor
/// are notes of the compiler (attributes of the pm dialect). Of use within one
/// context only.
class KernelSignature {
public:
  /// `inPlace` is part of it where it matters which operand a result replaces;
  /// the code does not depend on it.
  explicit KernelSignature(mlir::Block &body,
                           llvm::ArrayRef<int64_t> inPlace = {});

  bool operator<(const KernelSignature &other) const {
    return words < other.words;
  }

private:
  void add(mlir::Block &block);
  void add(mlir::Operation &op);
  uintptr_t number(mlir::Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  }

  std::vector<uintptr_t> words;
  llvm::DenseMap<mlir::Value, uintptr_t> numbers;
};

} // namespace pipemesh

#endif // PIPEMESH_LOWER_KERNELS_KERNELSIGNATURE_H
