//===- Elementwise.h - loops of elementwise ops -----------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_VERIFY_ELEMENTWISE_H
#define PIPEMESH_LIB_VERIFY_ELEMENTWISE_H

#include "Evaluator.h"
#include <cmath>
#include <cstring>

namespace pipemesh::interp {

/// IEEE 754 totalOrder of two numbers: negative, zero or positive.
int compareTotal(double a, double b);

/// Evaluates an elementwise op on complex numbers.
llvm::LogicalResult evaluateComplex(LocalCall &call);

template <double (*F)(double)>
llvm::LogicalResult unaryFloat(LocalCall &call) {
  if (call.operands[0].isComplex())
    return evaluateComplex(call);
  if (!call.operands[0].isFloat())
    return call.op->emitError("the interpreter evaluates it on real numbers, "
                              "not on ")
           << call.operands[0].getElementType();
  Tensor result(call.getElementwiseType());
  const double *x = std::as_const(call.operands[0]).floats();
  double *out = result.floats();
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    out[i] = F(x[i]);
  call.results.push_back(result);
  return llvm::success();
}

template <double (*F)(double, double)>
llvm::LogicalResult binaryFloat(LocalCall &call) {
  if (call.operands[0].isComplex())
    return evaluateComplex(call);
  Tensor result(call.getElementwiseType());
  const double *a = call.operands[0].floats(), *b = call.operands[1].floats();
  int64_t strideA = call.operands[0].getRank() == result.getRank();
  int64_t strideB = call.operands[1].getRank() == result.getRank();
  double *out = result.floats();
  if (strideA && strideB)
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      out[i] = F(a[i], b[i]);
  else
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      out[i] = F(a[i * strideA], b[i * strideB]);
  call.results.push_back(result);
  return llvm::success();
}

} // namespace pipemesh::interp

#endif // PIPEMESH_LIB_VERIFY_ELEMENTWISE_H
