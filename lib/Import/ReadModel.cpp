//===- ReadModel.cpp - What a model directory holds -----------------------===//

#include "mlir/IR/Diagnostics.h"
#include "pipemesh/Import/HFConfig.h"
#include "pipemesh/Import/ImportHuggingFace.h"
#include "pipemesh/Import/SafetensorsIndex.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace pipemesh {

FailureOr<HuggingFaceModel>
readHuggingFaceModel(MLIRContext *context, StringRef path, bool checkWeights) {
  SmallString<128> configPath(path), directory(path);
  if (path.ends_with(".json") && !llvm::sys::fs::is_directory(path)) {
    directory = llvm::sys::path::parent_path(path);
    if (directory.empty())
      directory = ".";
  } else {
    if (!llvm::sys::fs::is_directory(path)) {
      emitError(FileLineColLoc::get(context, path, 1, 1))
          << (llvm::sys::fs::exists(path)
                  ? "is neither a model directory nor a config.json"
                  : "no such model directory");
      return failure();
    }
    llvm::sys::path::append(configPath, "config.json");
  }

  HuggingFaceModel model;
  FailureOr<ModelConfig> config = readHFConfig(context, configPath);
  if (failed(config))
    return failure();
  model.config = std::move(*config);
  auto parameters = listParameters(
      model.config, FileLineColLoc::get(context, configPath, 1, 1));
  if (failed(parameters))
    return failure();
  model.parameters = std::move(*parameters);
  if (!checkWeights)
    return model;

  FailureOr<SafetensorsIndex> index =
      SafetensorsIndex::read(context, directory);
  if (failed(index) ||
      failed(pipemesh::checkWeights(context, directory, model.config,
                                    model.parameters, *index)))
    return failure();
  return model;
}

void emitConfigWarnings(MLIRContext *context, const ModelConfig &config) {
  for (const ConfigWarning &warning : config.warnings)
    emitWarning(
        FileLineColLoc::get(context, config.path, warning.line, warning.column))
        << warning.message;
}

} // namespace pipemesh
