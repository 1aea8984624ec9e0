//===- SaveModel.cpp - Writing a model directory --------------------------===//

#include "launch/SaveModel.h"

#include "core/Safetensors.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace pipemesh::runtime {

std::string savedConfig(const std::string &config) {
  auto value = nlohmann::ordered_json::parse(config, nullptr, false);
  if (!value.is_object())
    fail("the bundle's model configuration is not a JSON object; compile it "
         "again");
  // Older files spell it torch_dtype; both are read.
  bool older = value.contains("torch_dtype");
  if (older)
    value["torch_dtype"] = "float32";
  if (!older || value.contains("dtype"))
    value["dtype"] = "float32";
  return value.dump(2) + "\n";
}

/// Files that describe the model but are not its weights.
static bool isSmallCompanion(const fs::directory_entry &entry) {
  std::error_code error;
  if (!entry.is_regular_file(error) || entry.file_size(error) > (64u << 20))
    return false;
  std::string name = entry.path().filename().string();
  std::string suffix = entry.path().extension().string();
  if (name == "config.json" || name == "model.safetensors.index.json")
    return false;
  return suffix == ".json" || suffix == ".txt" || suffix == ".model" ||
         suffix == ".jinja" || suffix == ".md" || name == "LICENSE";
}

void saveModel(const Job &job, const std::string &source,
               const std::string &directory, int64_t step) {
  const Manifest &manifest = job.manifest();
  std::error_code error;
  fs::create_directories(directory, error);
  if (!fs::is_directory(directory))
    fail("--save: cannot create the folder '", directory,
         "': ", error.message());
  fs::path folder(directory);
  std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"step", std::to_string(step)}};
  std::vector<float> values;

  std::vector<TensorToWrite> tensors;
  std::vector<std::string> buffers;
  for (const ParameterInfo &parameter : manifest.parameters) {
    tensors.push_back({parameter.name, "F32", parameter.shape});
    buffers.push_back(parameter.buffer);
  }
  auto gathered = [&](size_t i) {
    job.gather(buffers[i], values);
    return values.data();
  };
  writeSafetensors((folder / "model.safetensors").string(), tensors, metadata,
                   gathered);

  if (manifest.train) {
    tensors.clear();
    buffers.clear();
    for (const RoleInfo &role : manifest.roles)
      for (const BufferInfo &buffer : role.buffers)
        if (buffer.kind == BufferKind::State &&
            (buffer.role == "moment1" || buffer.role == "moment2")) {
          tensors.push_back({buffer.role + "." + buffer.parameter, "F32",
                             buffer.globalShape});
          buffers.push_back(buffer.name);
        }
    writeSafetensors((folder / optimizerFile).string(), tensors, metadata,
                     gathered);
  }
  if (!fs::equivalent(source, folder, error))
    for (const fs::directory_entry &entry :
         fs::directory_iterator(source, error))
      if (isSmallCompanion(entry))
        copyFileAtomically(entry.path().string(),
                           (folder / entry.path().filename()).string());
  writeTextFile((folder / "config.json").string(),
                savedConfig(manifest.config));
}

} // namespace pipemesh::runtime
