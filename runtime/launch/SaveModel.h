//===- SaveModel.h - Writing a model directory ----------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H
#define PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H

#include "host/Job.h"

namespace pipemesh::runtime {

/// Moments and step number, beside model.safetensors.
inline constexpr const char *optimizerFile = "optimizer.safetensors";

/// Writes a directory that the model's own library loads: model.safetensors,
/// optimizer.safetensors (of a training bundle), the small files of the source
/// directory (tokenizer and the like), and config.json last. Each file appears
/// whole or not at all; model and optimizer carry the step number, so that
/// halves of two saves are told apart.
void saveModel(const Job &job, const std::string &source,
               const std::string &directory, int64_t step);

/// The text of config.json with its type set to float32.
std::string savedConfig(const std::string &config);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H
