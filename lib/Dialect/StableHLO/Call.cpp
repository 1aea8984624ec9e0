// Ops that name a computation elsewhere: verification and effects.
#include "AsmDirectives.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOCallOps.cpp.inc"

void StableHLODialect::addCallOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOCallOps.cpp.inc"
      >();
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      symbols.lookupNearestSymbolFrom(*this, getDecompositionAttr()));
  if (!function)
    return emitOpError() << "no function is called @" << getDecomposition();
  if (function.getArgumentTypes() == getOperandTypes() &&
      function.getResultTypes() == getResultTypes())
    return success();
  InFlightDiagnostic diag = emitOpError()
                            << "has other types than its decomposition @"
                            << getDecomposition();
  diag.attachNote(function.getLoc()) << "the decomposition is here";
  return diag;
}

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // A call without results is there for its effect.
  if (getHasSideEffect().value_or(false) || getNumResults() == 0)
    effects.emplace_back(MemoryEffects::Write::get());
}
