//===- Manifest.cpp -------------------------------------------------------===//

#include "Manifest.h"
#include "../../../runtime/include/pmrt/pmrt.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/RoleCosts.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

/// The version of the bundle's files; pmrun refuses another.
static constexpr int64_t kBundleVersion = 1;

static json::Array shapeOf(Type type) {
  json::Array shape;
  for (int64_t size : cast<RankedTensorType>(type).getShape())
    shape.push_back(size);
  return shape;
}

/// The shape of a parameter in its file.
static json::Array storedShapeOf(pm::BufferOp buffer) {
  auto stored = buffer->getAttrOfType<DenseI64ArrayAttr>(pm::kStoredShapeAttr);
  if (!stored)
    return shapeOf(buffer.getGlobalType().value_or(buffer.getType()));
  json::Array shape;
  for (int64_t size : stored.asArrayRef())
    shape.push_back(size);
  return shape;
}

/// As the runtime spells it: "f32", "i1", "u8", "c64".
static std::string dtypeName(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType().isF32() ? "c64" : "c128";
  if (element.isUnsignedInteger())
    return ("u" + Twine(element.getIntOrFloatBitWidth())).str();
  std::string text;
  llvm::raw_string_ostream stream(text);
  getElementTypeOrSelf(type).print(stream);
  return text;
}

/// A bundle for GPUs has no code of the host's processor.
static json::Object targetObject(const CpuTarget &target, Backend backend) {
  json::Array features;
  if (backend == Backend::Cuda)
    return json::Object{{"backend", "cuda"}, {"triple", target.triple}};
  for (StringRef feature : target.features)
    if (feature.consume_front("+"))
      features.push_back(feature.str());
  return json::Object{{"backend", "host"},
                      {"triple", target.triple},
                      {"cpu", target.cpu},
                      {"features", std::move(features)},
                      {"vector_width", target.vectorWidth}};
}

static json::Array meshArray(pm::MeshOp mesh) {
  json::Array axes;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    axes.push_back(
        json::Object{{"name", axis.getName().getValue()},
                     {"kind", pm::stringifyAxisKind(axis.getKind())},
                     {"size", axis.getSize()}});
  return axes;
}

/// How a buffer is filled before the first step.
static StringRef initOf(pm::BufferOp buffer) {
  if (buffer.getKind() == pm::BufferKind::Input)
    return "input";
  if (buffer.getKind() == pm::BufferKind::State)
    return buffer.getRole() == "parameter" ? "weights" : "zero";
  return "none";
}

static json::Object bufferObject(pm::BufferOp buffer, pmrt::BufferOp placed) {
  json::Array sharding;
  for (pm::DimShardingAttr dim : buffer.getSharding().getDims()) {
    json::Array axes;
    for (StringAttr axis : dim.getAxes())
      axes.push_back(axis.getValue());
    sharding.push_back(std::move(axes));
  }
  Type global = buffer.getGlobalType().value_or(buffer.getType());
  json::Object object{
      {"name", buffer.getSymName()},
      {"kind", pm::stringifyBufferKind(buffer.getKind())},
      {"role", buffer.getRole().value_or("")},
      {"dtype", dtypeName(buffer.getType())},
      {"global_shape", shapeOf(global)},
      {"local_shape", shapeOf(buffer.getType())},
      {"sharding", std::move(sharding)},
      {"init", initOf(buffer)},
      {"slots", static_cast<int64_t>(placed.getSlots())},
      {"bytes", static_cast<int64_t>(placed.getBytes())}};
  if (auto parameter = buffer.getParameter())
    object["parameter"] = *parameter;
  return object;
}

/// An argument or a result of a function, as files spell it.
static json::Object tensorObject(pm::BufferOp buffer) {
  Type global = buffer.getGlobalType().value_or(buffer.getType());
  json::Object object{{"name", buffer.getSymName()},
                      {"buffer", buffer.getSymName()},
                      {"dtype", dtypeName(global)},
                      {"shape", shapeOf(global)}};
  if (auto info = buffer->getAttrOfType<StringAttr>(pm::kNameAttr))
    object["info"] = info.getValue();
  return object;
}

static int64_t moduleInteger(ModuleOp module, StringRef name) {
  auto attr = module->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

/// What a rank of the role exchanges in a step.
static json::Array communicationArray(const RoleCosts &costs) {
  json::Array list;
  for (const Exchange &exchange : costs.exchanges) {
    json::Array axes;
    for (const std::string &axis : exchange.axes)
      axes.push_back(axis);
    json::Object entry{{"kind", exchange.kind},
                       {"axes", std::move(axes)},
                       {"group_size", exchange.groupSize},
                       {"operands", exchange.operands},
                       {"operand_bytes", exchange.operandBytes},
                       {"wire_bytes", exchange.wireBytes},
                       {"runs", exchange.runs},
                       {"runs_known", exchange.runsAreKnown},
                       {"module", exchange.module},
                       {"fragment", exchange.fragment}};
    if (exchange.isStarted)
      entry["beside"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

FailureOr<json::Object>
pipemesh::buildManifest(ModuleOp module, const BundleOptions &options,
                        ArrayRef<RoleMemory> memory) {
  pm::MeshOp mesh = pm::lookupMesh(module);
  pm::ProgramOp program;
  for (auto op : module.getOps<pm::ProgramOp>())
    program = op;
  auto task = module->getAttrOfType<StringAttr>("pm.task");
  if (!mesh || !program || !task)
    return module.emitError("cannot become a bundle: it lacks ")
           << (!mesh ? "a pm.mesh" : !program ? "a pm.program" : "'pm.task'");

  json::Object manifest{{"format", "pipemesh-bundle"},
                        {"version", kBundleVersion},
                        {"abi", static_cast<int64_t>(PMRT_ABI_VERSION)},
                        {"target", targetObject(options.target, options.backend)},
                        {"task", task.getValue()},
                        {"batch", moduleInteger(module, "pm.batch")},
                        {"sequence", moduleInteger(module, "pm.sequence")},
                        {"vocabulary", moduleInteger(module, "pm.vocabulary")},
                        {"mesh", meshArray(mesh)}};
  if (auto config = module->getAttrOfType<StringAttr>("pm.config")) {
    auto parsed = json::parse(config.getValue());
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      return module.emitError("has a 'pm.config' that is no JSON");
    }
    manifest["config"] = std::move(*parsed);
  }
  if (std::optional<Cluster> cluster = pm::getCluster(module)) {
    json::Array levels;
    for (const ClusterLevel &level : cluster->levels)
      levels.push_back(json::Object{{"name", level.name},
                                    {"size", level.size},
                                    {"bandwidth", level.link.bandwidth / 1e9}});
    manifest["levels"] = std::move(levels);
  }
  if (options.memoryLimit)
    manifest["memory_limit"] = static_cast<int64_t>(options.memoryLimit);
  if (task == "train")
    manifest["recipe"] = json::Object(options.recipe);

  // Parameters and outputs, found by what the buffers say of themselves.
  json::Array parameters;
  json::Object outputs;
  llvm::StringMap<std::string> gradients;
  auto buffers =
      llvm::to_vector(program.getBody().front().getOps<pm::BufferOp>());
  for (pm::BufferOp buffer : buffers) {
    StringRef role = buffer.getRole().value_or("");
    if (role == "gradient")
      gradients[buffer.getParameter().value_or("")] = buffer.getSymName().str();
    if (role == "loss" && buffer.getKind() == pm::BufferKind::Output)
      outputs["loss"] = buffer.getSymName();
    if (role == "grad_norm")
      outputs["grad_norm"] = buffer.getSymName();
    if (role == "logits")
      outputs["logits"] = buffer.getSymName();
  }
  if (task == "function") {
    json::Array arguments, results;
    for (pm::BufferOp buffer : buffers) {
      if (buffer.getKind() == pm::BufferKind::Input)
        arguments.push_back(tensorObject(buffer));
      else if (buffer.getKind() == pm::BufferKind::Output)
        results.push_back(tensorObject(buffer));
    }
    manifest["arguments"] = std::move(arguments);
    manifest["results"] = std::move(results);
  } else if (!outputs.get("loss"))
    return program.emitOpError("has no output buffer with role = \"loss\"");
  for (pm::BufferOp buffer : buffers) {
    if (buffer.getKind() != pm::BufferKind::State ||
        buffer.getRole() != "parameter")
      continue;
    StringRef name = buffer.getParameter().value_or(buffer.getSymName());
    auto gradient = gradients.find(name);
    bool trainable = gradient != gradients.end();
    parameters.push_back(json::Object{
        {"name", name},
        {"shape", storedShapeOf(buffer)},
        {"trainable", trainable},
        {"gradient", trainable ? json::Value(gradient->second)
                               : json::Value(nullptr)},
        {"buffer", buffer.getSymName()}});
  }
  manifest["parameters"] = std::move(parameters);
  manifest["outputs"] = std::move(outputs);

  json::Array roles;
  for (auto role : module.getOps<pmrt::RoleOp>()) {
    json::Array list;
    for (auto placed : role.getBody().front().getOps<pmrt::BufferOp>()) {
      auto *found = llvm::find_if(buffers, [&](pm::BufferOp buffer) {
        return buffer.getSymName() == placed.getSymName();
      });
      if (found == buffers.end())
        return placed.emitOpError("is no buffer of the pm.program");
      list.push_back(bufferObject(*found, placed));
    }
    RoleCosts costs = computeRoleCosts(module, role);
    roles.push_back(json::Object{
        {"file", (role.getSymName() + ".so").str()},
        {"flops", costs.getFlops()},
        {"weight_bytes", costs.weightBytes},
        {"communication", communicationArray(costs)},
        {"arena_bytes",
         static_cast<int64_t>(memory[roles.size()].arenaBytes)},
        {"scratch_bytes", static_cast<int64_t>(role.getScratchBytes())},
        {"buffers", std::move(list)}});
  }
  manifest["roles"] = std::move(roles);
  return manifest;
}
