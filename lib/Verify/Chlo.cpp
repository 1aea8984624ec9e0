//===- Chlo.cpp - evaluation of chlo ops ----------------------------------===//

#include "Elementwise.h"

using namespace mlir;

namespace pipemesh::interp {

static double erfOf(double x) { return std::erf(x); }
static double erfcOf(double x) { return std::erfc(x); }

static LogicalResult square(LocalCall &call) {
  const Tensor &x = call.operands[0];
  Tensor result(call.getElementwiseType());
  IntegerFormat format = IntegerFormat::get(x.getElementType());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (x.isFloat())
      result.floats()[i] = x.floats()[i] * x.floats()[i];
    else
      result.ints()[i] =
          format.wrap(int64_t(uint64_t(x.asInt(i)) * uint64_t(x.asInt(i))));
  }
  call.results.push_back(result);
  return success();
}

void registerChloOps(OpRegistry &registry) {
  registry.addElementwise("chlo.erf", unaryFloat<erfOf>);
  registry.addElementwise("chlo.erfc", unaryFloat<erfcOf>);
  registry.addElementwise("chlo.square", square);
}

} // namespace pipemesh::interp
