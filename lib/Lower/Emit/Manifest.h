//===- Manifest.h - manifest.json of a bundle -------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_EMIT_MANIFEST_H
#define PIPEMESH_LIB_LOWER_EMIT_MANIFEST_H

#include "DeviceCode.h"
#include "pipemesh/Lower/Bundle.h"

namespace pipemesh {

/// The manifest of the module's runtime program, without its hash. Fails with a
/// diagnostic when the program lacks what a run needs (an input, the loss).
/// `memory` has an entry for each role.
mlir::FailureOr<llvm::json::Object>
buildManifest(mlir::ModuleOp module, const BundleOptions &options,
              llvm::ArrayRef<RoleMemory> memory);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_EMIT_MANIFEST_H
