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

std::string attentionProblem(const pmrt_role &table,
                             const pmrt_instruction &instruction) {
  const auto &a = *static_cast<const pmrt_attention *>(instruction.descriptor);
  if (!table.device)
    return "is attention by cuDNN, but the role is for the host";
  if (a.dtype != PMRT_BF16 && a.dtype != PMRT_F16)
    return cat("is attention in ", dtypeText(a.dtype), ", not in bf16 or f16");
  if (a.causal > 1 || a.gradient > 1 || a.reserved)
    return cat("has the flags ", int(a.causal), ", ", int(a.gradient), " and ",
               int(a.reserved));
  constexpr int64_t most = int64_t(1) << 31;
  for (int64_t size : {a.batch, a.heads, a.key_heads, a.queries, a.keys, a.size})
    if (size < 1 || size > most)
      return cat("has a dimension of ", size);
  if (a.heads % a.key_heads)
    return cat("has ", a.heads, " query heads, which is no multiple of ",
               a.key_heads, " key heads");
  if (a.size % 8 || a.size > 128)
    return cat("has heads of ", a.size,
               " elements, which is no multiple of 8 up to 128");
  if (a.causal && a.queries != a.keys)
    return cat("is causal, but has ", a.queries, " queries and ", a.keys, " keys");
  if (!(a.scale - a.scale == 0))
    return "has a scale that is not finite";
  // Rows [batch, position, head] of a tensor lie apart, and fill their operand.
  struct Tensor {
    const int64_t *strides;
    int64_t positions, heads;
  };
  const Tensor query{a.query_strides, a.queries, a.heads},
      key{a.key_strides, a.keys, a.key_heads},
      value{a.value_strides, a.keys, a.key_heads},
      result{a.result_strides, a.queries, a.heads};
  // Null: the logarithms.
  std::vector<const Tensor *> tensors{&query, &key, &value, &result, nullptr};
  if (a.gradient)
    tensors.insert(tensors.end(), {&result, &query, &key, &value});
  for (uint32_t o = 0; o < tensors.size(); ++o) {
    uint64_t needed = 4 * static_cast<uint64_t>(a.batch) *
                      static_cast<uint64_t>(a.heads) *
                      static_cast<uint64_t>(a.queries);
    if (const Tensor *tensor = tensors[o]) {
      struct Dim {
        int64_t size, stride;
      } dims[] = {{a.batch, tensor->strides[0]},
                  {tensor->positions, tensor->strides[1]},
                  {tensor->heads, tensor->strides[2]}};
      std::sort(std::begin(dims), std::end(dims), [](const Dim &x, const Dim &y) {
        return std::pair(x.stride, x.size) < std::pair(y.stride, y.size);
      });
      int64_t end = a.size; // of what the inner dimensions span
      for (const Dim &dim : dims) {
        if (dim.stride < 1 || dim.stride > (int64_t(1) << 40))
          return cat("has a stride of ", dim.stride, " in operand ", o);
        if (dim.size > 1 && dim.stride < end)
          return cat("has a stride of ", dim.stride, " in operand ", o,
                     ", within ", end, " elements of what lies inside");
        if (__builtin_mul_overflow(dim.size - 1, dim.stride, &needed) ||
            __builtin_add_overflow(end, static_cast<int64_t>(needed), &end))
          return cat("has an operand ", o, " that is too large");
      }
      needed = 2 * static_cast<uint64_t>(end);
    }
    if (instruction.operands[o].bytes != needed)
      return cat("has operand ", o, " of ", instruction.operands[o].bytes,
                 " bytes, but its tensor has ", needed);
  }
  // Of the gradient the sums of dO * O lie in the workspace at least.
  uint64_t least = a.gradient ? instruction.operands[4].bytes : 0;
  uint64_t there = table.device->num_workspaces ? table.device->workspaces[0].bytes : 0;
  if (a.workspace_bytes < least || a.workspace_bytes > there)
    return cat("may use ", a.workspace_bytes, " bytes of workspace, but needs ",
               least, " at least and has ", there);
  return {};
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
