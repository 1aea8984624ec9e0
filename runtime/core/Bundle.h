//===- Bundle.h - A compiled program on disk, opened ----------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_BUNDLE_H
#define PIPEMESH_RUNTIME_CORE_BUNDLE_H

#include "core/Manifest.h"
#include "pmrt/pmrt.h"

#include <memory>
#include <set>

namespace pipemesh::runtime {

/// The manifest and the loaded roles of a bundle. Opening checks that format,
/// ABI, hash and processor fit, and that the tables agree with the manifest
/// and stay within the memory that they declare.
class Bundle {
public:
  explicit Bundle(const std::string &directory);
  Bundle(const std::string &directory, const std::set<std::string> &cpuFlags);
  Bundle(const Bundle &) = delete;
  Bundle &operator=(const Bundle &) = delete;

  const Manifest &manifest() const { return content; }
  const std::string &directory() const { return path; }
  const pmrt_role &role(size_t index) const { return *roles[index]; }

private:
  std::string path;
  Manifest content;
  std::vector<std::unique_ptr<void, int (*)(void *)>> libraries;
  std::vector<const pmrt_role *> roles;
};

/// Throws unless the tables of a role agree with the manifest and stay within
/// their memory.
void checkRole(const pmrt_role &role, const RoleInfo &info,
               const Manifest &manifest, const std::string &file);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_BUNDLE_H
