//===- PMRT.h - the pmrt dialect --------------------------------*- C++ -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRT_H
#define PIPEMESH_DIALECT_PMRT_PMRT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pipemesh/Dialect/PMRT/PMRTDialect.h.inc"
#include "pipemesh/Dialect/PMRT/PMRTEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/PMRT/PMRTAttrs.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/PMRT/PMRTOps.h.inc"

#endif // PIPEMESH_DIALECT_PMRT_PMRT_H
