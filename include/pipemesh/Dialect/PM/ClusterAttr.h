//===- ClusterAttr.h - the cluster of a module ------------------*- C++ -*-===//

#ifndef PIPEMESH_DIALECT_PM_CLUSTERATTR_H
#define PIPEMESH_DIALECT_PM_CLUSTERATTR_H

#include "pipemesh/Support/Cluster.h"
#include "mlir/IR/Operation.h"

namespace pipemesh::pm {

class MeshOp;

/// The module's attribute, a list of levels from the innermost out:
///
///   pm.cluster = [{name = "nvlink", size = 8 : i64, bandwidth = 450.0 : f64,
///                  latency = 5.0 : f64, reduces = true}, ...]
///
/// in GB/s and microseconds; a size of 0 is any number.
inline constexpr llvm::StringLiteral kClusterAttr = "pm.cluster";

/// The module's attribute for what a rank computes with:
///
///   pm.device = {tflops = 400.0 : f64, memory_bandwidth = 3350.0 : f64,
///                memory = 80.0 : f64}
///
/// in 10^12 operations a second, GB/s and GB; a memory of 0 is no limit.
inline constexpr llvm::StringLiteral kDeviceAttr = "pm.device";

/// Sets both; the second where the device is described.
void setCluster(mlir::Operation *module, const Cluster &cluster);

/// The device of the module that holds the op, or a core of the host.
Device getDevice(mlir::Operation *anyOpInModule);

/// The cluster of the module that holds the op; none where it is not described.
std::optional<Cluster> getCluster(mlir::Operation *anyOpInModule);

/// What is wrong with an attribute, or "".
std::string checkClusterAttr(mlir::Attribute attr);

/// Where each axis that divides ranks lies, in mesh order; temporal ones have
/// the default link. Fails where the mesh does not fit on the cluster; empty
/// where no cluster is described.
llvm::Expected<std::vector<AxisPlace>> placeMesh(MeshOp mesh);

} // namespace pipemesh::pm

#endif // PIPEMESH_DIALECT_PM_CLUSTERATTR_H
