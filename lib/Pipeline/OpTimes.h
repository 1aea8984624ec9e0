//===- OpTimes.h - the time of one op on one rank ---------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_OPTIMES_H
#define PIPEMESH_LIB_PIPELINE_OPTIMES_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Support/Cluster.h"
#include "llvm/ADT/StringMap.h"

namespace pipemesh {

/// Times of ops that carry shardings, by the cost interface.
class OpTimes {
public:
  /// Links are those of `placed`, whose axes have the same names.
  OpTimes(pm::MeshOp mesh, pm::MeshOp placed);

  /// Seconds of one run on one rank; a region's ops count once.
  double of(mlir::Operation *op) const;

  /// Bytes of a value's slice on one rank, of one micro-batch.
  double bytesOf(mlir::Type type, pm::ShardingAttr sharding) const;

  /// Seconds until another stage has so many bytes; 0 for none.
  double ofTransfer(double bytes) const;

private:
  double ofReshard(pm::ReshardOp op) const;
  /// The factor by which axes divide, and their slowest link.
  int64_t sizeOf(llvm::ArrayRef<mlir::StringAttr> axes) const;
  mlir::RankedTensorType localType(mlir::Value value) const;

  struct Axis {
    int64_t size = 1;
    bool isSpatial = false;
    Link link;
  };
  llvm::StringMap<Axis> axes;
  Link stageLink;
  Device device;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_OPTIMES_H
