//===- Manifest.h - What manifest.json of a bundle says -------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_MANIFEST_H
#define PIPEMESH_RUNTIME_CORE_MANIFEST_H

#include "core/Mesh.h"
#include "core/Recipe.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace pipemesh::runtime {

/// The bundle format that this runtime reads.
inline constexpr int64_t bundleVersion = 1;

enum class BufferKind { Input, State, Activation, Accumulator, Output, Value };

/// How a buffer gets its first content.
enum class BufferInit { None, Weights, Zero, Input };

struct BufferInfo {
  std::string name;
  BufferKind kind = BufferKind::Value;
  std::string role;      ///< "parameter", "moment1", "input_ids", ... or empty
  std::string parameter; ///< of a parameter, a moment, a gradient
  std::string dtype;     ///< "f32", "i32", ...
  Shape globalShape, localShape; ///< local: of one slot
  std::vector<std::vector<std::string>> sharding;
  BufferInit init = BufferInit::None;
  uint64_t slots = 1, bytes = 0; ///< bytes of one slot
};

struct ParameterInfo {
  std::string name;
  Shape shape; ///< in files; buffers may see the same elements in another one
  bool trainable = true;
  std::string buffer;
  std::string gradient; ///< buffer name, or empty
};

struct RoleInfo {
  std::string file;
  uint64_t arenaBytes = 0, scratchBytes = 0;
  std::vector<BufferInfo> buffers;

  /// Index of the buffer named so, or -1.
  int64_t find(const std::string &name) const;
};

/// An argument or a result of a function.
struct TensorInfo {
  std::string name; ///< "arg0", "out3": in files
  std::string buffer;
  std::string dtype;
  Shape shape;
  std::string info; ///< what the function's source calls it, or empty
};

/// What a bundle was compiled for.
enum class Task { Train, Eval, Function };

/// Ranks that reach each other in the same way.
struct ClusterLevel {
  std::string name;
  int64_t size = 1;     ///< members of the next inner level; 0: any number
  double bandwidth = 0; ///< GB/s that a rank sends
};

struct TargetInfo {
  bool cuda = false; ///< for NVIDIA's GPUs, or for this processor
  std::string triple, cpu;
  std::vector<std::string> features;
};

struct Manifest {
  std::string hash;
  TargetInfo target;
  Task task = Task::Train;
  bool train = true; ///< task == Task::Train
  int64_t batch = 0, sequence = 0, vocabulary = 0;
  /// The cluster that it was compiled for, from the innermost out; may be empty.
  std::vector<ClusterLevel> levels;
  uint64_t memoryLimit = 0; ///< bytes of each rank; 0 where it is not stated
  std::string config; ///< the text of the model's config.json
  Mesh mesh;
  std::optional<Recipe> recipe;
  std::vector<ParameterInfo> parameters;
  std::string loss, gradNorm, logits; ///< buffer names; may be empty
  std::vector<TensorInfo> arguments, results; ///< of a function
  std::vector<RoleInfo> roles;

  /// The shape in files of what the buffer holds: its parameter's.
  const Shape &storedShape(const BufferInfo &buffer) const;
};

/// Reads the text of a manifest; `path` names it in messages.
Manifest parseManifest(const std::string &text, const std::string &path);

/// Size of an element of a manifest dtype; throws where it is unknown.
uint64_t elementSize(const std::string &dtype);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_MANIFEST_H
