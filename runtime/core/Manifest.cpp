//===- Manifest.cpp - What manifest.json of a bundle says -----------------===//

#include "core/Manifest.h"

#include "pmrt/pmrt.h"

#include <nlohmann/json.hpp>

using json = nlohmann::ordered_json;

namespace pipemesh::runtime {

int64_t RoleInfo::find(const std::string &name) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

uint64_t elementSize(const std::string &dtype) {
  if (dtype == "f32" || dtype == "i32" || dtype == "u32")
    return 4;
  if (dtype == "f64" || dtype == "i64" || dtype == "u64" || dtype == "c64")
    return 8;
  if (dtype == "bf16" || dtype == "f16" || dtype == "i16" || dtype == "u16")
    return 2;
  if (dtype == "i1" || dtype == "i8" || dtype == "u8")
    return 1;
  if (dtype == "c128")
    return 16;
  fail("unknown element type '", dtype, "'");
}

namespace {

/// Reads typed fields and names the place when one is absent or wrong.
struct Reader {
  const std::string &path;

  [[noreturn]] void wrong(const std::string &where,
                          const std::string &problem) const {
    fail("'", path, "': ", where, " ", problem,
         "; compile the bundle again with this release's pmc");
  }

  const json &at(const json &object, const char *key,
                 const std::string &where) const {
    if (!object.is_object() || !object.contains(key))
      wrong(where, cat("lacks '", key, "'"));
    return object[key];
  }

  template <typename T>
  T get(const json &object, const char *key, const std::string &where) const {
    const json &value = at(object, key, where);
    try {
      return value.get<T>();
    } catch (const json::exception &) {
      wrong(where,
            cat("has '", key, "' = ", value.dump(), " of the wrong type"));
    }
  }

  template <typename T>
  T get(const json &object, const char *key, const std::string &where,
        T otherwise) const {
    if (!object.is_object() || !object.contains(key) || object[key].is_null())
      return otherwise;
    return get<T>(object, key, where);
  }
};

} // namespace

template <typename T>
static T choose(const Reader &reader, const std::string &where,
                const std::string &value,
                std::initializer_list<std::pair<const char *, T>> choices) {
  for (auto &[name, result] : choices)
    if (value == name)
      return result;
  reader.wrong(where, "has the unknown value '" + value + "'");
}

static BufferInfo parseBuffer(const Reader &reader, const json &value,
                              const std::string &where) {
  BufferInfo buffer;
  buffer.name = reader.get<std::string>(value, "name", where);
  std::string here = cat("buffer '", buffer.name, "'");
  buffer.kind = choose<BufferKind>(reader, here + ": kind",
                                   reader.get<std::string>(value, "kind", here),
                                   {{"input", BufferKind::Input},
                                    {"state", BufferKind::State},
                                    {"activation", BufferKind::Activation},
                                    {"accumulator", BufferKind::Accumulator},
                                    {"output", BufferKind::Output},
                                    {"value", BufferKind::Value}});
  buffer.role = reader.get<std::string>(value, "role", here, "");
  buffer.parameter = reader.get<std::string>(value, "parameter", here, "");
  buffer.dtype = reader.get<std::string>(value, "dtype", here);
  buffer.globalShape = reader.get<Shape>(value, "global_shape", here);
  buffer.localShape = reader.get<Shape>(value, "local_shape", here);
  buffer.sharding = reader.get<std::vector<std::vector<std::string>>>(
      value, "sharding", here, {});
  buffer.init =
      choose<BufferInit>(reader, here + ": init",
                         reader.get<std::string>(value, "init", here, "none"),
                         {{"none", BufferInit::None},
                          {"weights", BufferInit::Weights},
                          {"zero", BufferInit::Zero},
                          {"input", BufferInit::Input}});
  buffer.slots = reader.get<uint64_t>(value, "slots", here, 1);
  buffer.bytes = reader.get<uint64_t>(value, "bytes", here);
  uint64_t size = 0;
  try {
    size = elementSize(buffer.dtype);
  } catch (const Error &error) {
    reader.wrong(here, cat("has the ", error.what()));
  }
  if (buffer.globalShape.size() != buffer.localShape.size())
    reader.wrong(here, cat("has global shape ", shapeText(buffer.globalShape),
                           " and local shape ", shapeText(buffer.localShape)));
  if (static_cast<uint64_t>(elementCount(buffer.localShape)) * size !=
      buffer.bytes)
    reader.wrong(here, cat("has ", buffer.bytes, " bytes, but local shape ",
                           shapeText(buffer.localShape), " of ", buffer.dtype));
  if (buffer.slots < 1)
    reader.wrong(here, "has no slots");
  return buffer;
}

static std::vector<TensorInfo> parseTensors(const Reader &reader,
                                            const json &root, const char *key) {
  std::vector<TensorInfo> tensors;
  for (const json &value : reader.at(root, key, "the manifest")) {
    TensorInfo tensor;
    tensor.name = reader.get<std::string>(value, "name", key);
    std::string here = cat(key, ": '", tensor.name, "'");
    tensor.buffer = reader.get<std::string>(value, "buffer", here);
    tensor.dtype = reader.get<std::string>(value, "dtype", here);
    tensor.shape = reader.get<Shape>(value, "shape", here);
    tensor.info = reader.get<std::string>(value, "info", here, "");
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Manifest parseManifest(const std::string &text, const std::string &path) {
  Reader reader{path};
  json root = json::parse(text, nullptr, false);
  if (!root.is_object())
    reader.wrong("the manifest", "is not a JSON object");
  std::string top = "the manifest";
  std::string format = reader.get<std::string>(root, "format", top);
  if (format != "pipemesh-bundle")
    fail("'", path, "' is of format '", format,
         "', not a pipemesh-bundle; name a folder written by pmc");
  auto checkNumber = [&](const char *key, int64_t known) {
    int64_t value = reader.get<int64_t>(root, key, top);
    if (value != known)
      fail("bundle '", path, "' has ", key, " ", value,
           ", but this pmrun reads ", key, " ", known,
           "; compile it again with this release's pmc");
  };
  checkNumber("version", bundleVersion);
  checkNumber("abi", PMRT_ABI_VERSION);

  Manifest manifest;
  manifest.hash = reader.get<std::string>(root, "hash", top);
  const json &target = reader.at(root, "target", top);
  auto backend = reader.get<std::string>(target, "backend", "the target", "host");
  if (backend != "host" && backend != "cuda")
    fail(path, ": the target has the unknown backend '", backend,
         "'; compile the bundle again with this release's pmc");
  manifest.target.cuda = backend == "cuda";
  manifest.target.triple =
      reader.get<std::string>(target, "triple", "the target");
  manifest.target.cpu =
      reader.get<std::string>(target, "cpu", "the target", "");
  manifest.target.features = reader.get<std::vector<std::string>>(
      target, "features", "the target", {});
  manifest.task = choose<Task>(reader, "the task",
                               reader.get<std::string>(root, "task", top),
                               {{"train", Task::Train},
                                {"eval", Task::Eval},
                                {"function", Task::Function}});
  manifest.train = manifest.task == Task::Train;
  manifest.batch = reader.get<int64_t>(root, "batch", top);
  manifest.sequence = reader.get<int64_t>(root, "sequence", top);
  manifest.vocabulary = reader.get<int64_t>(root, "vocabulary", top);
  if (root.contains("levels"))
    for (const json &value : reader.at(root, "levels", top)) {
      std::string here = "a level of the cluster";
      ClusterLevel level;
      level.name = reader.get<std::string>(value, "name", here);
      level.size = reader.get<int64_t>(value, "size", here);
      level.bandwidth = reader.get<double>(value, "bandwidth", here);
      if (level.size < 0)
        reader.wrong(here, "has a negative size");
      manifest.levels.push_back(std::move(level));
    }
  manifest.memoryLimit = reader.get<uint64_t>(root, "memory_limit", top, 0);
  if (root.contains("config"))
    manifest.config = root["config"].is_string()
                          ? root["config"].get<std::string>()
                          : root["config"].dump(2);

  std::vector<Axis> axes;
  for (const json &value : reader.at(root, "mesh", top)) {
    Axis axis;
    axis.name = reader.get<std::string>(value, "name", "a mesh axis");
    std::string here = "axis '" + axis.name + "'";
    axis.kind = choose<AxisKind>(reader, here + ": kind",
                                 reader.get<std::string>(value, "kind", here),
                                 {{"spatial", AxisKind::Spatial},
                                  {"temporal", AxisKind::Temporal},
                                  {"stage", AxisKind::Stage}});
    axis.size = reader.get<int64_t>(value, "size", here);
    if (axis.size < 1)
      reader.wrong(here, cat("has size ", axis.size));
    axes.push_back(axis);
  }
  manifest.mesh = Mesh(std::move(axes));

  if (manifest.train)
    manifest.recipe =
        parseRecipe(nlohmann::json(reader.at(root, "recipe", top)),
                    "'" + path + "': recipe");

  for (const json &value : reader.at(root, "parameters", top)) {
    ParameterInfo parameter;
    parameter.name = reader.get<std::string>(value, "name", "a parameter");
    std::string here = "parameter '" + parameter.name + "'";
    parameter.shape = reader.get<Shape>(value, "shape", here);
    parameter.trainable = reader.get<bool>(value, "trainable", here, true);
    parameter.buffer = reader.get<std::string>(value, "buffer", here);
    parameter.gradient = reader.get<std::string>(value, "gradient", here, "");
    manifest.parameters.push_back(std::move(parameter));
  }
  const json &outputs = reader.at(root, "outputs", top);
  if (manifest.task != Task::Function)
    manifest.loss = reader.get<std::string>(outputs, "loss", "the outputs");
  manifest.gradNorm =
      reader.get<std::string>(outputs, "grad_norm", "the outputs", "");
  manifest.logits =
      reader.get<std::string>(outputs, "logits", "the outputs", "");

  for (const json &value : reader.at(root, "roles", top)) {
    RoleInfo role;
    std::string here = cat("role ", manifest.roles.size());
    role.file = reader.get<std::string>(value, "file", here);
    role.arenaBytes = reader.get<uint64_t>(value, "arena_bytes", here);
    role.scratchBytes = reader.get<uint64_t>(value, "scratch_bytes", here, 0);
    for (const json &buffer : reader.at(value, "buffers", here))
      role.buffers.push_back(
          parseBuffer(reader, buffer, "a buffer of " + here));
    manifest.roles.push_back(std::move(role));
  }
  if (manifest.roles.empty())
    reader.wrong(top, "has no roles");
  if (manifest.task == Task::Function) {
    manifest.arguments = parseTensors(reader, root, "arguments");
    manifest.results = parseTensors(reader, root, "results");
  }
  // One stage: every name that is referred to is a buffer of some role.
  auto check = [&](const std::string &what, const std::string &name) {
    if (name.empty())
      return;
    for (const RoleInfo &role : manifest.roles)
      if (role.find(name) >= 0)
        return;
    reader.wrong(what, "is in the buffer '" + name + "', which no role has");
  };
  for (auto *tensors : {&manifest.arguments, &manifest.results})
    for (const TensorInfo &tensor : *tensors)
      check("'" + tensor.name + "'", tensor.buffer);
  check("the loss", manifest.loss);
  check("the gradient norm", manifest.gradNorm);
  check("the logits", manifest.logits);
  for (const ParameterInfo &parameter : manifest.parameters) {
    std::string here = "parameter '" + parameter.name + "'";
    check(here, parameter.buffer);
    check("the gradient of '" + parameter.name + "'", parameter.gradient);
    for (const RoleInfo &role : manifest.roles)
      for (const BufferInfo &buffer : role.buffers)
        if (buffer.parameter == parameter.name &&
            elementCount(buffer.globalShape) != elementCount(parameter.shape))
          reader.wrong(here, cat("has shape ", shapeText(parameter.shape),
                                 ", but its buffer '", buffer.name, "' has ",
                                 shapeText(buffer.globalShape)));
  }
  return manifest;
}

const Shape &Manifest::storedShape(const BufferInfo &buffer) const {
  for (const ParameterInfo &parameter : parameters)
    if (parameter.name == buffer.parameter)
      return parameter.shape;
  return buffer.globalShape;
}

} // namespace pipemesh::runtime
