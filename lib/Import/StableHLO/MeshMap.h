// What the meshes and shardings of sdy become.
#ifndef PIPEMESH_LIB_IMPORT_STABLEHLO_MESHMAP_H
#define PIPEMESH_LIB_IMPORT_STABLEHLO_MESHMAP_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/SDY/SDY.h"
#include "llvm/ADT/DenseMap.h"

namespace pipemesh {

/// An axis of the imported mesh. Neighbours on it are `stride` devices apart.
struct ImportedAxis {
  mlir::StringAttr name;
  int64_t stride;
  int64_t size;
};

/// The one mesh that all meshes of a module are written over.
class MeshMap {
public:
  /// Chooses the mesh: the first of the module's that has axes. Fails where
  /// another one has other devices.
  static mlir::FailureOr<MeshMap> create(mlir::ModuleOp module);

  /// No mesh of the module has axes.
  bool empty() const { return axes.empty(); }
  llvm::ArrayRef<ImportedAxis> getAxes() const { return axes; }
  mlir::FlatSymbolRefAttr getName() const { return name; }
  int64_t getNumDevices() const { return devices; }

  /// Adds the `pm.mesh` in front of everything, if there is one.
  void build(mlir::ModuleOp module) const;

  /// The sharding over the one mesh of a value of type `type`; null where it
  /// says nothing about it (a mesh of one device, or of none). Fails after a
  /// diagnostic at `location`.
  mlir::FailureOr<pm::ShardingAttr>
  convert(mlir::Location location, sdy::ShardingAttr sharding, mlir::Type type);

  /// The axes of the one mesh that stand for the axes `names` of `mesh`, which
  /// must be whole ones.
  mlir::FailureOr<llvm::SmallVector<mlir::StringAttr>>
  convertAxes(mlir::Location location, mlir::Attribute mesh,
              mlir::ArrayAttr names);

private:
  /// Devices `low` to below `high` apart: an axis or a part of one.
  struct Range {
    int64_t low, high;
  };
  mlir::FailureOr<sdy::MeshAttr> lookup(mlir::Location location,
                                        mlir::Attribute mesh);
  mlir::FailureOr<Range> findRange(mlir::Location location, sdy::MeshAttr mesh,
                                   sdy::AxisRefAttr axis);
  mlir::LogicalResult append(mlir::Location location, sdy::MeshAttr mesh,
                             llvm::ArrayRef<sdy::AxisRefAttr> refs,
                             llvm::SmallVectorImpl<mlir::StringAttr> &names);

  llvm::SmallVector<ImportedAxis> axes;
  mlir::FlatSymbolRefAttr name;
  int64_t devices = 1;
  llvm::DenseMap<mlir::Attribute, sdy::MeshAttr> meshes;
  llvm::DenseMap<std::pair<mlir::Attribute, int64_t>, pm::ShardingAttr> done;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_STABLEHLO_MESHMAP_H
