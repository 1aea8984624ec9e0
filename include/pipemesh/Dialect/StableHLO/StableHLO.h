// The stablehlo dialect: its ops, attributes and the elementwise trait.
#ifndef PIPEMESH_DIALECT_STABLEHLO_STABLEHLO_H
#define PIPEMESH_DIALECT_STABLEHLO_STABLEHLO_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace pipemesh::stablehlo {

/// Marks ops whose every result element depends only on the elements at the
/// same index of the operands (an operand of rank 0 counts for every index):
/// `op->hasTrait<stablehlo::Elementwise>()`.
template <typename ConcreteType>
class Elementwise
    : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};

} // namespace pipemesh::stablehlo

#include "pipemesh/Dialect/StableHLO/StableHLODialect.h.inc"
#include "pipemesh/Dialect/StableHLO/StableHLOEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOAttrs.h.inc"

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOShapeOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOContractionOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOIndexOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOControlOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOWindowOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOCallOps.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOCollectiveOps.h.inc"

#endif // PIPEMESH_DIALECT_STABLEHLO_STABLEHLO_H
