//===- HFRotary.h - The rotary settings of a config.json ------------------===//

#ifndef PIPEMESH_LIB_IMPORT_HFROTARY_H
#define PIPEMESH_LIB_IMPORT_HFROTARY_H

#include "ConfigReader.h"
#include "pipemesh/Import/ModelConfig.h"

namespace pipemesh {

/// Reads `rope_parameters`, or `rope_scaling` and `rope_theta` of older files.
void readRotary(ConfigReader &reader, llvm::StringRef text,
                ModelConfig &config);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_HFROTARY_H
