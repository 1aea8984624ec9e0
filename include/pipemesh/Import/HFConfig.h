//===- HFConfig.h - Reads a Hugging Face config.json ----------------------===//

#ifndef PIPEMESH_IMPORT_HFCONFIG_H
#define PIPEMESH_IMPORT_HFCONFIG_H

#include "mlir/Support/LLVM.h"
#include "pipemesh/Import/ModelConfig.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace pipemesh {

/// Reads a config.json (of `llama`, `qwen2`, `qwen3`, `mistral` or `gpt2`) in
/// today's form and in the older ones. Defaults of missing fields are those of
/// the model's class in the transformers library (5.24). A field that would
/// change the computation is honoured or is an error that names it; a field
/// that is not known is left as a warning in the result. At most one error is
/// emitted, at the field's line.
mlir::FailureOr<ModelConfig> readHFConfig(mlir::MLIRContext *context,
                                          llvm::StringRef path);

/// The same from text; `path` is only for messages.
mlir::FailureOr<ModelConfig> parseHFConfig(mlir::MLIRContext *context,
                                           llvm::StringRef text,
                                           llvm::StringRef path);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_HFCONFIG_H
