//===- GatherReasons.h - why a gather stands where it stands ----*- C++ -*-===//

#ifndef PIPEMESH_SHARD_GATHERREASONS_H
#define PIPEMESH_SHARD_GATHERREASONS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace pipemesh {

/// What a gather is for.
struct GatherReason {
  /// The op that reads what is gathered, such as `stablehlo.reverse`.
  llvm::StringRef reader;
  std::string reason;
};

/// The location of a gather, which keeps what it is for as its metadata: there
/// it hinders no pass that joins equal gathers, and stays when several are
/// packed into one.
mlir::Location withGatherReason(mlir::Location loc, const GatherReason &reason);

/// What a gather is for: several where it was packed of several, none where the
/// partitioner did not make it.
llvm::SmallVector<GatherReason> getGatherReasons(mlir::Operation *gather);

} // namespace pipemesh

#endif // PIPEMESH_SHARD_GATHERREASONS_H
