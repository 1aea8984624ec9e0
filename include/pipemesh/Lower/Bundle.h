//===- Bundle.h - writing a bundle ------------------------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_BUNDLE_H
#define PIPEMESH_LOWER_BUNDLE_H

#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Lower/Backend.h"
#include "pipemesh/Lower/Kernels/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <string>

namespace pipemesh {

struct BundleOptions {
  /// The folder to write; one that is there is replaced when it is a bundle.
  std::string path;
  CpuTarget target;
  Backend backend = Backend::Host;
  /// The recipe that the step was compiled for; its numbers are the defaults of
  /// the run. Ignored for eval.
  llvm::json::Object recipe;
  /// Bytes that each rank has, for the proof; 0 where that is not known.
  uint64_t memoryLimit = 0;
  /// Proves the bundle in a folder and writes its certificate there, before the
  /// folder takes its name. Returns what is wrong, or nothing.
  std::function<std::string(llvm::StringRef folder)> prove;
};

/// Writes the runtime program of a module (`pmrt.role`s, kernels, `pm.mesh` and
/// `pm.program`) as a bundle: one shared object a role and `manifest.json`. All
/// is written to a temporary folder beside `path`, which takes the name at the
/// end, so that a bundle is whole or not there. On failure a diagnostic says
/// what went wrong.
mlir::LogicalResult emitBundle(mlir::ModuleOp module,
                               const BundleOptions &options);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_BUNDLE_H
