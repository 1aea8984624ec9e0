//===- Stage.h - the stage attribute of an op -------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_PIPELINE_STAGE_H
#define PIPEMESH_LIB_PIPELINE_STAGE_H

#include "llvm/ADT/StringRef.h"

namespace pipemesh {

/// The pipeline stage that computes an op, an i64. Set by pm-assign-stages and
/// read by pm-split-stages.
inline constexpr llvm::StringLiteral kStageAttr = "pm.stage";

} // namespace pipemesh

#endif // PIPEMESH_LIB_PIPELINE_STAGE_H
