// rng_bit_generator: verification and names.
#include "pipemesh/Dialect/StableHLO/Random.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

LogicalResult RngBitGeneratorOp::verify() {
  RankedTensorType state = getInitialState().getType();
  if (getOutputState().getType() != state)
    return emitOpError() << "makes a state of type "
                         << getOutputState().getType() << " from one of type "
                         << state;
  bool isThreefry = getRngAlgorithm() == RngAlgorithm::THREE_FRY;
  if (state.getRank() != 1 || !state.getElementType().isUnsignedInteger(64) ||
      (state.getDimSize(0) != 2 && (isThreefry || state.getDimSize(0) != 3)))
    return emitOpError() << "has a state of type " << state << ", but "
                         << stringifyRngAlgorithm(getRngAlgorithm())
                         << " needs "
                         << (isThreefry ? "tensor<2xui64>"
                                        : "tensor<2xui64> or tensor<3xui64>");
  Type element = getOutput().getType().getElementType();
  unsigned width =
      element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (width != 8 && width != 16 && width != 32 && width != 64)
    return emitOpError() << "makes elements of type " << element
                         << ", not of 8, 16, 32 or 64 bits";
  return success();
}

void RngBitGeneratorOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutputState(), "output_state");
  setName(getOutput(), "output");
}

ThreefrySplit
pipemesh::stablehlo::getThreefrySplit(RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  ThreefrySplit split;
  if (shape.empty())
    return split;
  const int64_t *cut =
      llvm::find_if(shape, [](int64_t size) { return size % 2 == 0; });
  if (cut == shape.end())
    cut = std::max_element(shape.begin(), shape.end());
  for (const int64_t *dim = shape.begin(); dim != shape.end(); ++dim)
    (dim < cut ? split.outer : dim > cut ? split.inner : split.dim) *= *dim;
  return split;
}
