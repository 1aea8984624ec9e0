//===- Cuts.cpp - cuts of dimensions as small numbers ---------------------===//

#include "Cuts.h"

using namespace mlir;
using namespace pipemesh;

/// Where no cluster is given, a collective takes as long as moving so many
/// bytes, however small it is.
static constexpr double kUnknownLatency = 1 << 14;

CutTable::CutTable(const MeshAxes &mesh) : meshAxes(mesh) {
  for (auto [number, axis] : llvm::enumerate(mesh.all())) {
    numbers[axis] = number;
    sizes.push_back(mesh.sizeOf(axis));
    if (mesh.isTemporal(axis))
      temporalAxes |= AxisMask(1) << number;
  }
  // Relative to the fastest link, so that equal ones cost one.
  double fastest = 0;
  for (StringAttr axis : mesh.all())
    fastest = std::max(fastest, mesh.linkOf(axis).bandwidth);
  for (StringAttr axis : mesh.all()) {
    Link link = mesh.linkOf(axis);
    byteCosts.push_back(fastest / link.bandwidth);
    latencies.push_back(mesh.hasLinks() ? link.latency * fastest
                                        : kUnknownLatency);
  }
  cuts.emplace_back();
  ids[{{0, 0}, 0}] = 0;
}

CutId CutTable::get(ArrayRef<uint8_t> axes, int64_t block) {
  uint64_t words[2] = {0, 0};
  for (auto [index, axis] : llvm::enumerate(axes))
    words[index / 8] |= uint64_t(axis + 1) << (8 * (index % 8));
  auto [place, isNew] = ids.try_emplace({{words[0], words[1]}, block}, 0);
  if (!isNew)
    return place->second;
  Cut &cut = cuts.emplace_back();
  cut.axes.assign(axes.begin(), axes.end());
  cut.block = block;
  for (uint8_t axis : axes) {
    cut.pieces *= sizes[axis];
    cut.mask |= AxisMask(1) << axis;
  }
  cut.isTemporal = cut.mask & temporalAxes;
  return place->second = cuts.size() - 1;
}

CutId CutTable::get(const DimCut &dim) {
  if (dim.axes.empty())
    return 0;
  SmallVector<uint8_t, 8> axes;
  for (StringAttr axis : dim.axes)
    axes.push_back(numbers.lookup(axis));
  return get(axes, dim.block);
}

CutId CutTable::truncate(CutId cut, unsigned numAxes) {
  if (numAxes >= cuts[cut].axes.size())
    return cut;
  SmallVector<uint8_t, 8> axes(cuts[cut].axes.begin(),
                               cuts[cut].axes.begin() + numAxes);
  return get(axes);
}

CutId CutTable::withoutAxes(CutId cut, AxisMask mask) {
  if (!(cuts[cut].mask & mask))
    return cut;
  unsigned count = 0;
  while (!(mask >> cuts[cut].axes[count] & 1))
    ++count;
  return truncate(cut, count);
}

DimCut CutTable::toDim(CutId id) const {
  DimCut dim;
  for (uint8_t axis : cuts[id].axes)
    dim.axes.push_back(meshAxes.all()[axis]);
  dim.block = cuts[id].block;
  return dim;
}

bool CutTable::isPrefix(CutId a, CutId b) const {
  if (a == b || a == 0)
    return true;
  ArrayRef<uint8_t> first = cuts[a].axes, second = cuts[b].axes;
  return first.size() <= second.size() &&
         second.take_front(first.size()) == first;
}

AxisMask CutTable::maskOf(ArrayRef<StringAttr> axes) const {
  AxisMask mask = 0;
  for (StringAttr axis : axes)
    if (auto found = numbers.find(axis); found != numbers.end())
      mask |= AxisMask(1) << found->second;
  return mask;
}

Axes CutTable::axesOf(AxisMask mask) const {
  Axes axes;
  forEachAxis(mask,
              [&](unsigned axis) { axes.push_back(meshAxes.all()[axis]); });
  return axes;
}

int64_t CutTable::productOf(AxisMask mask) const {
  int64_t product = 1;
  forEachAxis(mask, [&](unsigned axis) { product *= sizes[axis]; });
  return product;
}

/// A collective runs at the pace of the slowest of its axes.
static double largestOf(ArrayRef<double> values, AxisMask mask) {
  double largest = 0;
  forEachAxis(mask, [&](unsigned axis) {
    largest = std::max(largest, values[axis]);
  });
  return largest;
}

double CutTable::byteCostOf(AxisMask mask) const {
  return largestOf(byteCosts, mask);
}

double CutTable::latencyOf(AxisMask mask) const {
  return largestOf(latencies, mask);
}
