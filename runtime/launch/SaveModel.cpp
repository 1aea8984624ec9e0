//===- SaveModel.cpp - Writing a model directory --------------------------===//

#include "launch/SaveModel.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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

void writeGathered(Job &job, const std::string &path,
                   const std::vector<TensorToWrite> &tensors,
                   const std::vector<std::string> &buffers,
                   const std::map<std::string, std::string> &metadata) {
  std::vector<float> values;
  size_t gathered = 0;
  auto next = [&](size_t i) {
    job.gather(buffers[i], values);
    gathered = i + 1;
    return values.data();
  };
  job.agree([&] {
    if (job.isFirst()) {
      try {
        writeSafetensors(path, tensors, metadata, next);
      } catch (...) {
        // The other processes bring all of their tensors.
        while (gathered < buffers.size())
          next(gathered);
        throw;
      }
    } else {
      for (size_t i = 0; i < buffers.size(); ++i)
        next(i);
    }
  });
}

void saveModel(Job &job, const std::string &source,
               const std::string &directory, int64_t step) {
  const Manifest &manifest = job.manifest();
  std::error_code error;
  job.agree([&] {
    if (!job.isFirst())
      return;
    fs::create_directories(directory, error);
    if (!fs::is_directory(directory))
      fail("--save: cannot create the folder '", directory,
           "': ", error.message());
  });
  fs::path folder(directory);
  std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"step", std::to_string(step)}};
  std::vector<TensorToWrite> tensors;
  std::vector<std::string> buffers;
  for (const ParameterInfo &parameter : manifest.parameters) {
    tensors.push_back({parameter.name, "F32", parameter.shape});
    buffers.push_back(parameter.buffer);
  }
  writeGathered(job, (folder / "model.safetensors").string(), tensors, buffers,
                metadata);

  if (manifest.train) {
    tensors.clear();
    buffers.clear();
    // A tied parameter's moments are in several roles.
    std::set<std::string> seen;
    for (const RoleInfo &role : manifest.roles)
      for (const BufferInfo &buffer : role.buffers)
        if (buffer.kind == BufferKind::State &&
            (buffer.role == "moment1" || buffer.role == "moment2") &&
            seen.insert(buffer.name).second) {
          tensors.push_back({buffer.role + "." + buffer.parameter, "F32",
                             manifest.storedShape(buffer)});
          buffers.push_back(buffer.name);
        }
    writeGathered(job, (folder / optimizerFile).string(), tensors, buffers,
                  metadata);
  }
  job.agree([&] {
    if (!job.isFirst())
      return;
    if (!fs::equivalent(source, folder, error))
      for (const fs::directory_entry &entry :
           fs::directory_iterator(source, error))
        if (isSmallCompanion(entry))
          copyFileAtomically(entry.path().string(),
                             (folder / entry.path().filename()).string());
    writeTextFile((folder / "config.json").string(),
                  savedConfig(manifest.config));
  });
}

} // namespace pipemesh::runtime
