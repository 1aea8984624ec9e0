//===- Cluster.cpp --------------------------------------------------------===//

#include "pipemesh/Support/Cluster.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace pipemesh;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

Link pipemesh::slowerOf(const Link &a, const Link &b) {
  return {std::min(a.bandwidth, b.bandwidth), std::max(a.latency, b.latency),
          a.reduces && b.reduces};
}

Cluster Cluster::getHost() {
  return {"host", {{"host", /*size=*/0, {8e9, 20e-6, false}}}};
}

int64_t Cluster::devicesUpTo(size_t level) const {
  int64_t devices = 1;
  for (size_t i = 0; i <= level && i < levels.size(); ++i)
    devices *= levels[i].size;
  return devices;
}

int64_t pipemesh::suggestBucketBytes(const Link &link) {
  constexpr double factor = 20;
  return llvm::PowerOf2Ceil(
      static_cast<uint64_t>(factor * link.latency * link.bandwidth));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

template <typename... Args>
static Error wrong(const char *format, Args &&...args) {
  return createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

static Error checkKeys(const json::Object &object, StringRef where,
                       llvm::ArrayRef<StringRef> keys) {
  for (auto &entry : object)
    if (!llvm::is_contained(keys, StringRef(entry.first)))
      return wrong("unknown key '{0}' in {1}; the keys are {2}",
                   StringRef(entry.first), where,
                   llvm::join(keys, ", "));
  return Error::success();
}

static Expected<ClusterLevel> parseLevel(const json::Value &value,
                                         size_t number, bool isOutermost) {
  std::string where = llvm::formatv("level {0}", number).str();
  const json::Object *object = value.getAsObject();
  if (!object)
    return wrong("{0} is no object", where);
  if (auto name = object->getString("name"))
    where += llvm::formatv(" ('{0}')", *name).str();
  if (Error error =
          checkKeys(*object, where,
                    {"name", "size", "bandwidth", "latency", "switch_reduces"}))
    return std::move(error);
  ClusterLevel level;
  auto name = object->getString("name");
  if (!name || name->empty())
    return wrong("{0} lacks a 'name'", where);
  level.name = name->str();
  auto getNumber = [&](StringRef key, double least,
                     bool isOpen) -> Expected<double> {
    const json::Value *entry = object->get(key);
    if (!entry)
      return wrong("{0} lacks '{1}'", where, key);
    auto number = entry->getAsNumber();
    if (!number || !(*number >= least) || (isOpen && *number == least) ||
        *number > 1e9)
      return wrong("'{0}' of {1} is {2}, but must be a number {3} {4}", key,
                   where, *entry, isOpen ? "above" : "of at least", least);
    return *number;
  };
  if (isOutermost && !object->get("size")) {
    level.size = 0;
  } else {
    auto size = getNumber("size", 1, /*isOpen=*/false);
    if (!size)
      return size.takeError();
    level.size = static_cast<int64_t>(*size);
    if (double(level.size) != *size)
      return wrong("'size' of {0} is {1}, but must be a whole number", where,
                   *object->get("size"));
  }
  auto bandwidth = getNumber("bandwidth", 0, /*isOpen=*/true);
  if (!bandwidth)
    return bandwidth.takeError();
  level.link.bandwidth = *bandwidth * 1e9;
  auto latency = getNumber("latency", 0, /*isOpen=*/false);
  if (!latency)
    return latency.takeError();
  level.link.latency = *latency * 1e-6;
  if (const json::Value *reduces = object->get("switch_reduces")) {
    auto flag = reduces->getAsBoolean();
    if (!flag)
      return wrong("'switch_reduces' of {0} is {1}, but must be true or false",
                   where, *reduces);
    level.link.reduces = *flag;
  }
  return level;
}

static Expected<Device> parseDevice(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return wrong("'device' is no object");
  if (Error error = checkKeys(*object, "'device'",
                              {"tflops", "memory_bandwidth", "memory"}))
    return std::move(error);
  Device device;
  device.isGiven = true;
  auto read = [&](StringRef key, double unit, double &place) -> Error {
    const json::Value *entry = object->get(key);
    if (!entry)
      return key == "memory" ? Error::success()
                             : wrong("'device' lacks '{0}'", key);
    auto number = entry->getAsNumber();
    if (!number || !(*number > 0) || *number > 1e9)
      return wrong("'{0}' of 'device' is {1}, but must be a number above 0",
                   key, *entry);
    place = *number * unit;
    return Error::success();
  };
  if (Error error = read("tflops", 1e12, device.flops))
    return std::move(error);
  if (Error error = read("memory_bandwidth", 1e9, device.bandwidth))
    return std::move(error);
  if (Error error = read("memory", 1e9, device.memory))
    return std::move(error);
  return device;
}

Expected<Cluster> Cluster::parse(StringRef text) {
  auto parsed = json::parse(text);
  if (!parsed)
    return wrong("no JSON: {0}", llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return wrong("the file holds no JSON object");
  if (Error error = checkKeys(*object, "the file",
                              {"name", "device", "levels", "sources"}))
    return std::move(error);
  Cluster cluster;
  if (auto name = object->getString("name"))
    cluster.name = name->str();
  if (const json::Value *device = object->get("device")) {
    auto parsedDevice = parseDevice(*device);
    if (!parsedDevice)
      return parsedDevice.takeError();
    cluster.device = *parsedDevice;
  }
  const json::Array *levels = object->getArray("levels");
  if (!levels || levels->empty())
    return wrong("'levels' must be a list of levels, the innermost first");
  for (auto [number, value] : llvm::enumerate(*levels)) {
    auto level = parseLevel(value, number, number + 1 == levels->size());
    if (!level)
      return level.takeError();
    for (const ClusterLevel &other : cluster.levels)
      if (other.name == level->name)
        return wrong("two levels are named '{0}'", level->name);
    cluster.levels.push_back(std::move(*level));
  }
  return cluster;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Expected<std::vector<AxisPlace>>
pipemesh::placeAxes(const Cluster &cluster, llvm::ArrayRef<int64_t> sizes) {
  std::vector<AxisPlace> places(sizes.size());
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    int64_t members = stride * sizes[axis];
    AxisPlace &place = places[axis];
    // The innermost level in which neighbours on the axis lie apart.
    while (place.innermost + 1 < cluster.levels.size()) {
      int64_t devices = cluster.devicesUpTo(place.innermost);
      if (devices > stride)
        break;
      ++place.innermost;
    }
    // The first one that holds whole groups.
    place.outermost = place.innermost;
    while (place.outermost + 1 < cluster.levels.size() &&
           cluster.devicesUpTo(place.outermost) % members != 0)
      ++place.outermost;
    place.link = cluster.levels[place.innermost].link;
    for (size_t level = place.innermost; level <= place.outermost; ++level)
      place.link = slowerOf(place.link, cluster.levels[level].link);
    stride = members;
  }
  int64_t devices = cluster.devicesUpTo(cluster.levels.size() - 1);
  if (devices != 0 && stride > devices)
    return wrong("the mesh has {0} ranks, but the cluster has {1} devices; "
                 "make the mesh smaller, or describe more of '{2}'",
                 stride, devices,
                 cluster.getOutermost().name);
  return places;
}
