//===- ImportHuggingFace.h - A model directory as a model graph -----------===//

#ifndef PIPEMESH_IMPORT_IMPORTHUGGINGFACE_H
#define PIPEMESH_IMPORT_IMPORTHUGGINGFACE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pipemesh/Import/ModelConfig.h"
#include "pipemesh/Import/ModelParameters.h"
#include <string>
#include <vector>

namespace pipemesh {

enum class Task { Train, Eval };

struct ImportOptions {
  Task task = Task::Train;
  /// Sequences of a step, over all ranks and micro-batches.
  int64_t batch = 0;
  /// Tokens of a sequence, at least 2.
  int64_t sequence = 0;
  /// Read the headers of the weight files and check them against the
  /// configuration.
  bool checkWeights = true;
};

/// What a directory holds, as far as it matters for a graph.
struct HuggingFaceModel {
  ModelConfig config;
  std::vector<ModelParameter> parameters;
};

/// Reads a model directory, or a config.json by its path (under any name that
/// ends in .json), and checks its weight files if asked to. Every failure is
/// one error.
mlir::FailureOr<HuggingFaceModel>
readHuggingFaceModel(mlir::MLIRContext *context, llvm::StringRef path,
                     bool checkWeights);

/// Builds the model graph: a module with one function `main`. Its arguments
/// are `input_ids` ([batch, sequence] of i32), `labels` ([batch, sequence + 1]:
/// position s predicts the label at s + 1, so a window of sequence + 1 tokens
/// gives every position a target) and then the parameters as f32 in the order
/// of `listParameters`; its results are the loss and the logits. The context
/// must have the dialects func, stablehlo, chlo and pm loaded
/// (`loadImportDialects`).
mlir::OwningOpRef<mlir::ModuleOp> buildModelGraph(mlir::MLIRContext *context,
                                                  const HuggingFaceModel &model,
                                                  const ImportOptions &options);

/// Emits the warnings that reading a configuration has left.
void emitConfigWarnings(mlir::MLIRContext *context, const ModelConfig &config);

/// Both steps, and the warnings. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
importHuggingFace(mlir::MLIRContext *context, llvm::StringRef path,
                  const ImportOptions &options);

/// Loads the dialects that a model graph is made of.
void loadImportDialects(mlir::MLIRContext *context);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_IMPORTHUGGINGFACE_H
