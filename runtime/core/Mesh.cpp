//===- Mesh.cpp - Ranks, coordinates and blocks of sharded tensors --------===//

#include "core/Mesh.h"

#include <algorithm>

namespace pipemesh::runtime {

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    if (axis.kind != AxisKind::Temporal)
      count *= axis.size;
  return count;
}

int64_t Mesh::microBatches() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    if (axis.kind == AxisKind::Temporal)
      count *= axis.size;
  return count;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  return coordinates(rank, 0);
}

std::vector<int64_t> Mesh::coordinates(int64_t rank, int64_t microBatch) const {
  std::vector<int64_t> result(axes.size(), 0);
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t &rest = axes[i].kind == AxisKind::Temporal ? microBatch : rank;
    result[i] = rest % axes[i].size;
    rest /= axes[i].size;
  }
  return result;
}

int64_t Mesh::role(int64_t rank) const {
  std::vector<int64_t> position = coordinates(rank);
  int64_t role = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].kind == AxisKind::Stage)
      role = role * axes[i].size + position[i];
  return role;
}

int64_t Mesh::peer(int64_t rank, int64_t otherRole) const {
  std::vector<int64_t> position = coordinates(rank);
  for (size_t i = axes.size(); i-- > 0;)
    if (axes[i].kind == AxisKind::Stage) {
      position[i] = otherRole % axes[i].size;
      otherRole /= axes[i].size;
    }
  int64_t result = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].kind != AxisKind::Temporal)
      result = result * axes[i].size + position[i];
  return result;
}

std::vector<int64_t> Mesh::group(int64_t rank,
                                 const std::vector<uint32_t> &groupAxes) const {
  std::vector<int64_t> own = coordinates(rank), members;
  for (int64_t other = 0, end = ranks(); other < end; ++other) {
    std::vector<int64_t> position = coordinates(other);
    bool same = true;
    for (size_t i = 0; i < axes.size(); ++i)
      if (std::find(groupAxes.begin(), groupAxes.end(), i) == groupAxes.end())
        same &= position[i] == own[i];
    if (same)
      members.push_back(other);
  }
  return members;
}

std::string Mesh::describe(int64_t rank) const {
  std::vector<int64_t> position = coordinates(rank);
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].kind != AxisKind::Temporal)
      text += cat(text.empty() ? "" : ", ", axes[i].name, "=", position[i]);
  return text.empty() ? cat("rank ", rank)
                      : cat("rank ", rank, " (", text, ")");
}

size_t Mesh::axis(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  fail("the mesh has no axis '", name, "'");
}

Block blockOf(const Mesh &mesh, const Shape &globalShape,
              const Shape &localShape,
              const std::vector<std::vector<std::string>> &sharding,
              const std::vector<int64_t> &coordinates) {
  Block block;
  for (size_t d = 0; d < globalShape.size(); ++d) {
    int64_t index = 0;
    if (d < sharding.size())
      for (const std::string &name : sharding[d]) {
        size_t axis = mesh.axis(name);
        index = index * mesh.getAxes()[axis].size + coordinates[axis];
      }
    int64_t start = std::min(index * localShape[d], globalShape[d]);
    block.start.push_back(start);
    block.extent.push_back(std::min(localShape[d], globalShape[d] - start));
  }
  return block;
}

} // namespace pipemesh::runtime
