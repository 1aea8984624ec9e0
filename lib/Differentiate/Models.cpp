//===- Models.cpp - registration of the gradients -------------------------===//

#include "Models.h"
#include "mlir/IR/DialectRegistry.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Differentiate/Differentiate.h"

using namespace mlir;
using namespace pipemesh;

void pipemesh::registerDifferentiationModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, stablehlo::StableHLODialect *) {
        attachElementwiseGradients(context);
        attachShapeGradients(context);
        attachContractionGradients(context);
        attachReductionGradients(context);
        attachIndexingGradients(context);
      });
  registry.addExtension(+[](MLIRContext *context, chlo::CHLODialect *) {
    attachCHLOGradients(context);
  });
  registry.addExtension(+[](MLIRContext *context, pm::PMDialect *) {
    attachPMGradients(context);
  });
}
