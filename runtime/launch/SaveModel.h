//===- SaveModel.h - Writing a model directory ----------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H
#define PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H

#include "core/Safetensors.h"
#include "host/Job.h"

namespace pipemesh::runtime {

/// Moments and step number, beside model.safetensors.
inline constexpr const char *optimizerFile = "optimizer.safetensors";

/// Writes tensors from the buffers that hold them, in the process of rank 0.
/// Collective; a file that cannot be written is thrown in every process.
void writeGathered(Job &job, const std::string &path,
                   const std::vector<TensorToWrite> &tensors,
                   const std::vector<std::string> &buffers,
                   const std::map<std::string, std::string> &metadata);

/// Writes a directory that the model's own library loads: model.safetensors,
/// optimizer.safetensors (of a training bundle), the small files of the source
/// directory (tokenizer and the like), and config.json last. Each file appears
/// whole or not at all; model and optimizer carry the step number, so that
/// halves of two saves are told apart. Collective.
void saveModel(Job &job, const std::string &source,
               const std::string &directory, int64_t step);

/// The text of config.json with its type set to float32.
std::string savedConfig(const std::string &config);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_SAVEMODEL_H
