//===- Report.cpp - what a program costs ----------------------------------===//

#include "Report.h"
#include "Traffic.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/RoleCosts.h"
#include "pipemesh/Schedule/ModuleAttrs.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Axes and ranks
//===----------------------------------------------------------------------===//

static StringRef labelOf(StringRef axis) { return dimensionOf(axis); }

static std::string labelOf(ArrayRef<std::string> axes) {
  SmallVector<StringRef> labels;
  for (StringRef axis : axes)
    if (!llvm::is_contained(labels, labelOf(axis)))
      labels.push_back(labelOf(axis));
  return llvm::join(labels, ",");
}

namespace {
/// A dimension of the strategy that divides ranks.
struct Dimension {
  StringRef label;
  int64_t size = 1;
  bool isStage = false;
};
} // namespace

/// The spatial and stage axes, neighbours of one label joined.
static SmallVector<Dimension> getDimensions(pm::MeshOp mesh) {
  SmallVector<Dimension> dimensions;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    if (axis.getKind() == pm::AxisKind::Temporal)
      continue;
    StringRef label = labelOf(axis.getName().getValue());
    if (dimensions.empty() || dimensions.back().label != label)
      dimensions.push_back({label});
    dimensions.back().size *= axis.getSize();
    dimensions.back().isStage |= axis.getKind() == pm::AxisKind::Stage;
  }
  return dimensions;
}

static json::Array makeRanks(ArrayRef<Dimension> dimensions, int64_t ranks) {
  json::Array list;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    json::Object coordinates;
    int64_t rest = rank, stride = ranks, role = 0;
    for (const Dimension &dimension : dimensions) {
      stride /= dimension.size;
      coordinates[dimension.label] = rest / stride;
      if (dimension.isStage)
        role = rest / stride;
      rest %= stride;
    }
    list.push_back(json::Object{{"rank", rank},
                                {"coordinates", std::move(coordinates)},
                                {"role", role}});
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static const char *const kMemoryKinds[] = {"weights", "moments",     "gradients",
                                           "activations", "inputs", "other",
                                           "scratch"};

static StringRef memoryKindOf(pm::BufferOp buffer) {
  StringRef role = buffer.getRole().value_or("");
  switch (buffer.getKind()) {
  case pm::BufferKind::State:
    return role == "parameter"           ? "weights"
           : role.starts_with("moment") ? "moments"
                                         : "other";
  case pm::BufferKind::Accumulator:
    return "gradients";
  case pm::BufferKind::Activation:
    return "activations";
  case pm::BufferKind::Input:
    return "inputs";
  default:
    return role == "gradient" ? "gradients" : "other";
  }
}

static json::Object makeMemory(pm::ProgramOp program, pmrt::RoleOp role) {
  llvm::StringMap<pm::BufferOp> declared;
  for (auto buffer : program.getBody().front().getOps<pm::BufferOp>())
    declared[buffer.getSymName()] = buffer;
  llvm::StringMap<int64_t> byKind;
  llvm::DenseSet<int64_t> seen;
  for (auto buffer : role.getBody().front().getOps<pmrt::BufferOp>()) {
    pm::BufferOp info = declared.lookup(buffer.getSymName());
    int64_t bytes = buffer.getSlotStride() * buffer.getSlots();
    // A buffer that shares another's place is not counted again.
    if (!info || (bytes > 0 && !seen.insert(buffer.getOffset()).second))
      continue;
    byKind[memoryKindOf(info)] += bytes;
  }
  byKind["scratch"] = role.getScratchBytes();
  json::Object memory{
      {"arena", static_cast<int64_t>(role.getArenaBytes())}};
  for (StringRef kind : kMemoryKinds)
    memory[kind] = byKind.lookup(kind);
  return memory;
}

/// The name with each number that stands alone replaced: "model.layers.*.mlp".
static std::string withoutNumbers(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

/// What causes an exchange: a module, or several that share it.
static std::string moduleOf(const Exchange &exchange) {
  std::string name = withoutNumbers(exchange.module);
  if (exchange.operands > 1)
    name += " and " + std::to_string(exchange.operands - 1) + " more";
  return name;
}

/// Entries of one axis, kind, fragment and module are one.
static json::Array makeCommunication(const RoleCosts &costs) {
  struct Entry {
    const Exchange *first = nullptr;
    int64_t bytes = 0, runs = 0;
    bool sameSize = true;
  };
  llvm::MapVector<std::string, Entry, std::map<std::string, unsigned>> entries;
  for (const Exchange &exchange : costs.exchanges) {
    std::string key =
        llvm::join(ArrayRef<std::string>{labelOf(exchange.axes), exchange.kind,
                                         exchange.fragment,
                                         moduleOf(exchange)},
                   "\n");
    Entry &entry = entries[key];
    if (!entry.first)
      entry.first = &exchange;
    entry.sameSize &= entry.first->operandBytes == exchange.operandBytes;
    entry.bytes += exchange.runs * exchange.wireBytes;
    entry.runs += exchange.runs;
  }
  json::Array list;
  for (auto &[key, entry] : entries)
    list.push_back(json::Object{
        {"axis", labelOf(entry.first->axes)},
        {"kind", entry.first->kind},
        {"fragment", entry.first->fragment},
        {"module", moduleOf(*entry.first)},
        {"group_size", entry.first->groupSize},
        {"operand_bytes", entry.sameSize ? json::Value(entry.first->operandBytes)
                                         : json::Value(nullptr)},
        {"runs", entry.runs},
        {"bytes", entry.bytes}});
  return list;
}

static json::Array makeFragments(const RoleCosts &costs) {
  json::Array list;
  for (const BodyCosts &body : costs.bodies)
    list.push_back(
        json::Object{{"name", body.name},
                     {"runs", body.runs},
                     {"instructions", body.instructions},
                     {"gemms", body.gemms},
                     {"kernels", body.kernels},
                     {"cudnn_attention", body.attentions},
                     {"gemm_flops", body.runs * body.gemmFlops},
                     {"kernel_flops", body.runs * body.kernelFlops}});
  return list;
}

/// Bytes and seconds of each axis over its link.
static json::Array makeTraffic(ModuleOp module) {
  json::Array list;
  for (const AxisTraffic &axis : computeTraffic(module)) {
    json::Array levels;
    for (const std::string &level : axis.levels)
      levels.push_back(level);
    list.push_back(json::Object{{"axis", axis.name},
                                {"size", axis.size},
                                {"levels", std::move(levels)},
                                {"bandwidth", axis.link.bandwidth},
                                {"latency", axis.link.latency},
                                {"bytes", axis.bytes},
                                {"seconds", axis.seconds}});
  }
  return list;
}

/// What pm-assign-stages gained over stages of equal layers.
static json::Value makeBalance(ModuleOp module) {
  auto balance = module->getAttrOfType<DictionaryAttr>(schedule::kBalanceAttr);
  if (!balance)
    return nullptr;
  auto layersOf = [&](StringRef name) {
    auto list = balance.getAs<DenseI64ArrayAttr>(name);
    return list ? json::Array(list.asArrayRef()) : json::Array();
  };
  auto timeOf = [&](StringRef name) {
    auto time = balance.getAs<FloatAttr>(name);
    return time ? time.getValueAsDouble() : 0;
  };
  return json::Object{{"layers", layersOf("layers")},
                      {"seconds", timeOf("makespan")},
                      {"equal_layers", layersOf("equal_layers")},
                      {"equal_seconds", timeOf("equal_makespan")}};
}

json::Object pipemesh::makeReport(ModuleOp module) {
  pm::MeshOp mesh = pm::lookupMesh(module);
  pm::ProgramOp program;
  for (auto op : module.getOps<pm::ProgramOp>())
    program = op;
  if (!mesh || !program)
    return {};
  json::Array axes;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    axes.push_back(
        json::Object{{"name", axis.getName().getValue()},
                     {"kind", pm::stringifyAxisKind(axis.getKind())},
                     {"size", axis.getSize()}});
  SmallVector<Dimension> dimensions = getDimensions(mesh);
  int64_t ranks = 1, stages = 1;
  json::Array labels;
  for (const Dimension &dimension : dimensions) {
    ranks *= dimension.size;
    stages *= dimension.isStage ? dimension.size : 1;
    labels.push_back(dimension.label);
  }
  json::Array roles;
  double whole = 0;
  for (auto role : module.getOps<pmrt::RoleOp>()) {
    RoleCosts costs = computeRoleCosts(module, role);
    whole += static_cast<double>(costs.getFlops()) * (ranks / stages);
    roles.push_back(json::Object{{"name", role.getSymName()},
                                 {"ranks", ranks / stages},
                                 {"memory", makeMemory(program, role)},
                                 {"weight_bytes", costs.weightBytes},
                                 {"flops", costs.getFlops()},
                                 {"fragments", makeFragments(costs)},
                                 {"communication", makeCommunication(costs)}});
  }
  for (json::Value &role : roles) {
    json::Object &object = *role.getAsObject();
    object["share"] = whole > 0 ? *object.getNumber("flops") / whole : 0;
  }
  return json::Object{{"mesh", std::move(axes)},
                      {"dimensions", std::move(labels)},
                      {"ranks", makeRanks(dimensions, ranks)},
                      {"traffic", makeTraffic(module)},
                      {"balance", makeBalance(module)},
                      {"roles", std::move(roles)}};
}
