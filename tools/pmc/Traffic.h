//===- Traffic.h - what each axis sends over its link -----------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_TRAFFIC_H
#define PIPEMESH_TOOLS_PMC_TRAFFIC_H

#include "pipemesh/Support/Cluster.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace pipemesh {

/// One dimension of the strategy (`tp` for `tp.kv` and `tp.group`), or several
/// that exchange together.
struct AxisTraffic {
  std::string name;
  int64_t size = 1;
  /// From the innermost out; empty where no cluster is described.
  llvm::SmallVector<std::string> levels;
  Link link;
  /// Of the rank that sends the most in a step, one exchange after the other.
  double bytes = 0, seconds = 0;
};

/// The dimension that an axis is (part of): "tp" of "tp.kv".
llvm::StringRef dimensionOf(llvm::StringRef axis);

/// Of a module at the runtime level, in mesh order, joint ones last.
llvm::SmallVector<AxisTraffic> computeTraffic(mlir::ModuleOp module);

/// Says of an axis that sends much over a slow level while another one, which
/// sends little, lies on a faster level; "" where none does.
std::string findBadPlace(llvm::ArrayRef<AxisTraffic> traffic);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_TRAFFIC_H
