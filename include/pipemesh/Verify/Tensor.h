//===- Tensor.h - values of the reference interpreter -----------*- C++ -*-===//
//
// Floating-point elements are held in float64 whatever their type says, so that
// what is compared is the meaning of a program and not its rounding. Integers
// are exact and wrap to their width. A complex element is two numbers.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_VERIFY_TENSOR_H
#define PIPEMESH_VERIFY_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pipemesh::interp {

/// Width and signedness of an integer element type. Signless is signed.
struct IntegerFormat {
  unsigned width = 64;
  bool isUnsigned = false;

  static IntegerFormat get(mlir::Type elementType);
  /// The value modulo 2^width, in the range of the format; of i1 the low bit.
  /// Unsigned 64-bit values keep their bits.
  int64_t wrap(int64_t value) const;
  /// The value as a real number.
  double toDouble(int64_t value) const;
  /// Truncated towards zero; saturated; 0 of NaN.
  int64_t fromDouble(double value) const;
};

/// A tensor, shared until it is written. A default one is null.
class Tensor {
public:
  Tensor() = default;
  /// All zero.
  explicit Tensor(mlir::RankedTensorType type);

  static Tensor fromAttribute(mlir::ElementsAttr elements);
  static Tensor splat(mlir::RankedTensorType type, double value);
  /// Every element undefined: NaN, or large odd integers.
  static Tensor poison(mlir::RankedTensorType type);

  explicit operator bool() const { return storage != nullptr; }
  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t size() const { return type.getNumElements(); }
  bool isFloat() const {
    return llvm::isa<mlir::FloatType>(type.getElementType());
  }

  bool isComplex() const {
    return llvm::isa<mlir::ComplexType>(type.getElementType());
  }

  /// Of a complex tensor real and imaginary parts in turn.
  const double *floats() const { return storage->floats.data(); }
  const int64_t *ints() const { return storage->ints.data(); }
  /// For the maker of a tensor: others that share the elements see the writes.
  double *floats() { return storage->floats.data(); }
  int64_t *ints() { return storage->ints.data(); }

  /// The real part of a complex element.
  double asDouble(int64_t index) const;
  /// An element of an integer tensor.
  int64_t asInt(int64_t index) const { return storage->ints[index]; }

  /// The same elements in another shape.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  Tensor withType(mlir::RankedTensorType newType) const;
  Tensor clone() const;
  /// Equal for tensors that share their elements.
  const void *identity() const { return storage.get(); }
  /// Whether a type can be given to a program and read from it: real numbers and
  /// integers of up to 64 bits. Complex numbers live inside of functions.
  static bool isSupported(mlir::Type elementType);

private:
  struct Storage {
    std::vector<double> floats;
    std::vector<int64_t> ints;
  };
  mlir::RankedTensorType type;
  std::shared_ptr<Storage> storage;
};

/// Row-major strides.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);

/// Where a box of elements lies in a tensor.
struct StridedBox {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// Copies the elements of a box of `shape` between tensors of one element type.
void copyBox(llvm::ArrayRef<int64_t> shape, const Tensor &from,
             const StridedBox &fromBox, Tensor &to, const StridedBox &toBox);

/// Values by name: `input_ids`, `loss`, `parameter model.norm.weight`.
using NamedTensors = std::map<std::string, Tensor>;

} // namespace pipemesh::interp

#endif // PIPEMESH_VERIFY_TENSOR_H
