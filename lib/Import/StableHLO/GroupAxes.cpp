// The mesh axes of replica groups.
#include "Collectives.h"

using namespace mlir;
using namespace pipemesh;

/// The axis whose neighbours are `stride` apart; axes of size 1 have none.
static const ImportedAxis *findAxis(ArrayRef<ImportedAxis> axes,
                                    int64_t stride) {
  for (const ImportedAxis &axis : axes)
    if (axis.stride == stride && axis.size > 1)
      return &axis;
  return nullptr;
}

std::optional<SmallVector<ImportedAxis>>
pipemesh::findGroupAxes(ArrayRef<SmallVector<int64_t>> groups,
                        const MeshMap &mesh) {
  if (groups.empty() || groups.front().empty())
    return std::nullopt;
  int64_t size = groups.front().size();
  if (size * int64_t(groups.size()) != mesh.getNumDevices())
    return std::nullopt;
  // The innermost axis is the distance of the first two members, the next one
  // what lies between the first and the one behind the innermost's end.
  ArrayRef<int64_t> first = groups.front();
  SmallVector<ImportedAxis> axes;
  int64_t members = 1;
  while (members < size) {
    const ImportedAxis *axis =
        findAxis(mesh.getAxes(), first[members] - first[0]);
    if (!axis || size % (members * axis->size) != 0)
      return std::nullopt;
    axes.insert(axes.begin(), *axis);
    members *= axis->size;
  }
  SmallVector<int64_t> offsets{0};
  for (const ImportedAxis &axis : axes) {
    SmallVector<int64_t> longer;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < axis.size; ++i)
        longer.push_back(offset + i * axis.stride);
    offsets = std::move(longer);
  }
  for (ArrayRef<int64_t> group : groups) {
    if (int64_t(group.size()) != size || group.front() < 0 ||
        group.front() >= mesh.getNumDevices())
      return std::nullopt;
    for (const ImportedAxis &axis : axes)
      if (group.front() / axis.stride % axis.size != 0)
        return std::nullopt;
    for (auto [id, offset] : llvm::zip(group, offsets))
      if (id != group.front() + offset)
        return std::nullopt;
  }
  return axes;
}
