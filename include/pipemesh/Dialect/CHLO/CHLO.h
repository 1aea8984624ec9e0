// The chlo dialect: functions that stablehlo lacks.
#ifndef PIPEMESH_DIALECT_CHLO_CHLO_H
#define PIPEMESH_DIALECT_CHLO_CHLO_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"

#include "pipemesh/Dialect/CHLO/CHLODialect.h.inc"

#define GET_OP_CLASSES
#include "pipemesh/Dialect/CHLO/CHLO.h.inc"

#endif // PIPEMESH_DIALECT_CHLO_CHLO_H
