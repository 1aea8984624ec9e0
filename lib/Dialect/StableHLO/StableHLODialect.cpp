// Registration of the stablehlo dialect.
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#include "pipemesh/Dialect/StableHLO/StableHLODialect.cpp.inc"

void StableHLODialect::initialize() {
  addAllAttributes();
  addElementwiseOps();
  addShapeOps();
  addContractionOps();
  addIndexOps();
  addControlOps();
  addWindowOps();
  addCallOps();
  addCollectiveOps();
}

Operation *StableHLODialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
