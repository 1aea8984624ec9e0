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

void setCluster(mlir::Operation *module, const Cluster &cluster);

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
