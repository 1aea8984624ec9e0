//===- DeviceTables.cpp - What a role for GPUs has besides ----------------===//

#include "check/DeviceTables.h"

#include <algorithm>
#include <cstring>

namespace pipemesh::proof {

namespace {

/// Streams of instructions: compute, collectives, started collectives.
constexpr uint32_t streams = 3;
constexpr uint32_t mostThreads = 1024;

class DeviceCheck {
public:
  explicit DeviceCheck(const Role &role)
      : role(role), table(role.table), device(*role.table.device) {}

  void run() const {
    checkKernels();
    checkImages();
    checkWorkspaces();
  }

private:
  template <typename... Args>
  [[noreturn]] void wrong(const char *rule, const Args &...args) const {
    refuse(rule, "role ", role.number, ": ", args...);
  }

  void checkKernels() const;
  void checkImages() const;
  void checkWorkspaces() const;

  const Role &role;
  const pmrt_role &table;
  const pmrt_device_code &device;
};

} // namespace

void DeviceCheck::checkKernels() const {
  for (uint32_t k = 0; k < table.num_kernels; ++k) {
    const pmrt_launch &launch = device.launches[k];
    if (launch.blocks < 1 || launch.threads < 1 || launch.threads > mostThreads)
      wrong("tables", "kernel '", table.kernels[k].name, "' is launched on ",
            launch.blocks, " blocks of ", launch.threads, " threads");
  }
}

void DeviceCheck::checkImages() const {
  bool hasText = false;
  for (uint32_t i = 0; i < device.num_images; ++i) {
    const pmrt_image &image = device.images[i];
    if (!image.data || !image.bytes)
      wrong("tables", "image ", i, " is empty");
    if (image.processor)
      continue;
    hasText = true;
    const char *text = static_cast<const char *>(image.data);
    if (text[image.bytes - 1] != 0)
      wrong("tables", "the text of image ", i, " does not end with a zero byte");
    for (uint32_t k = 0; k < table.num_kernels; ++k)
      if (!std::strstr(text, table.kernels[k].name))
        wrong("tables", "the text of image ", i, " has no kernel '",
              table.kernels[k].name, "'");
  }
  if (table.num_kernels && !hasText)
    wrong("tables", "has ", table.num_kernels,
          " kernels, but no text that newer processors can compile");
}

void DeviceCheck::checkWorkspaces() const {
  if (device.num_workspaces != streams)
    wrong("tables", "has ", device.num_workspaces, " workspaces for ", streams,
          " streams");
  struct Region {
    uint64_t begin, end;
    std::string name;
  };
  std::vector<Region> regions;
  for (uint32_t w = 0; w < streams; ++w) {
    const pmrt_workspace &workspace = device.workspaces[w];
    if (workspace.offset > table.arena_bytes ||
        workspace.bytes > table.arena_bytes - workspace.offset)
      wrong("tables", "workspace ", w, " ends at byte ",
            workspace.offset + workspace.bytes, " of an arena of ",
            table.arena_bytes);
    regions.push_back({workspace.offset, workspace.offset + workspace.bytes,
                       cat("workspace ", w)});
  }
  for (uint32_t k = 0; k < table.num_kernels; ++k)
    if (table.kernels[k].scratch_bytes > device.workspaces[0].bytes)
      wrong("memory", "kernel '", table.kernels[k].name, "' needs ",
            table.kernels[k].scratch_bytes, " bytes of scratch, but workspace 0 has ",
            device.workspaces[0].bytes);
  // The buffers may share bytes with each other, and never with a workspace.
  uint64_t last = table.scratch_offset + table.scratch_bytes;
  std::string name = "the scratch region";
  for (uint32_t b = 0; b < table.num_buffers; ++b) {
    const pmrt_buffer &buffer = table.buffers[b];
    uint64_t end = buffer.offset + (buffer.slots - 1) * buffer.slot_stride +
                   buffer.bytes;
    if (end > last) {
      last = end;
      name = cat("buffer '", buffer.name, "'");
    }
  }
  regions.push_back({0, last, name});
  std::sort(regions.begin(), regions.end(),
            [](const Region &a, const Region &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < regions.size(); ++i)
    if (regions[i].begin < regions[i - 1].end && regions[i].begin < regions[i].end)
      wrong("overlap", regions[i].name, " begins at byte ", regions[i].begin,
            ", before the end of ", regions[i - 1].name, " at ",
            regions[i - 1].end);
}

void checkDevice(const Role &role, bool isForGpus) {
  if (isForGpus != (role.table.device != nullptr))
    refuse("tables", "role ", role.number, isForGpus ? " has no" : " has",
           " code for GPUs, but the manifest's target is ",
           isForGpus ? "cuda" : "host");
  if (isForGpus)
    DeviceCheck(role).run();
}

} // namespace pipemesh::proof
