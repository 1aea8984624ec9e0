// All ops of the stablehlo dialect, for its reference page.
include "pipemesh/Dialect/StableHLO/StableHLOElementwiseOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOShapeOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOContractionOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOIndexOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOControlOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOWindowOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOCallOps.td"
include "pipemesh/Dialect/StableHLO/StableHLOCollectiveOps.td"
