//===- PMRTOps.td - all ops of the pmrt dialect -------------*- tablegen -*-===//

#ifndef PIPEMESH_DIALECT_PMRT_PMRTOPS_TD
#define PIPEMESH_DIALECT_PMRT_PMRTOPS_TD

include "pipemesh/Dialect/PMRT/PMRTDialect.td"
include "pipemesh/Dialect/PMRT/PMRTAttrs.td"
include "pipemesh/Dialect/PMRT/PMRTKernelOps.td"
include "pipemesh/Dialect/PMRT/PMRTProgramOps.td"
include "pipemesh/Dialect/PMRT/PMRTExchangeOps.td"
include "pipemesh/Dialect/PMRT/PMRTControlOps.td"

#endif
