//===- SaveState.cpp - What each rank begins with, as files ---------------===//

#include "launch/SaveState.h"

#include "core/Safetensors.h"

#include <filesystem>

namespace pipemesh::runtime {

StateWriter::StateWriter(std::string given, const Job &job)
    : folder(std::move(given)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    fail("--save-state: cannot create folder '", folder,
         "': ", error ? error.message() : "it is a file");
  for (int64_t i = 0; i < job.localSize(); ++i)
    kept[job.local(i).number()].resize(
        job.local(i).getProgram().info.buffers.size());
}

void StateWriter::note(Rank &rank) {
  const RoleInfo &info = rank.getProgram().info;
  std::vector<Kept> &own = kept.at(rank.number());
  for (size_t i = 0; i < info.buffers.size(); ++i) {
    const BufferInfo &buffer = info.buffers[i];
    bool isInput = buffer.kind == BufferKind::Input;
    if (!isInput && (buffer.kind != BufferKind::State || own[i].steps))
      continue;
    ++own[i].steps;
    for (uint64_t slot = 0; slot < buffer.slots; ++slot) {
      const std::byte *data = rank.view(static_cast<int64_t>(i), slot);
      own[i].bytes.insert(own[i].bytes.end(), data, data + buffer.bytes);
    }
  }
}

void StateWriter::write(const Rank &rank) const {
  const RoleInfo &info = rank.getProgram().info;
  const std::vector<Kept> &own = kept.at(rank.number());
  std::vector<TensorToWrite> tensors;
  std::vector<const Kept *> contents;
  for (size_t i = 0; i < info.buffers.size(); ++i) {
    if (!own[i].steps)
      continue;
    const BufferInfo &buffer = info.buffers[i];
    Shape shape = {static_cast<int64_t>(buffer.slots)};
    if (buffer.kind == BufferKind::Input)
      shape.insert(shape.begin(), own[i].steps);
    shape.insert(shape.end(), buffer.localShape.begin(),
                 buffer.localShape.end());
    tensors.push_back({buffer.name, storedType(buffer.dtype), shape});
    contents.push_back(&own[i]);
  }
  writeSafetensors(cat(folder, "/rank-", rank.number(), ".safetensors"),
                   tensors, {},
                   [&](size_t i) { return contents[i]->bytes.data(); });
}

} // namespace pipemesh::runtime
