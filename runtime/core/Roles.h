//===- Roles.h - The tables of a bundle, for those who read them ----------===//

#ifndef PIPEMESH_RUNTIME_CORE_ROLES_H
#define PIPEMESH_RUNTIME_CORE_ROLES_H

#include "core/Manifest.h"
#include "pmrt/pmrt.h"

#include <memory>
#include <vector>

namespace pipemesh::runtime {

/// The manifest and the tables of a bundle, loaded, of this release and of one hash,
/// and nothing else looked at: for the proofs, which trust no check of the runtime.
struct LoadedRoles {
  Manifest manifest;
  std::vector<std::unique_ptr<void, int (*)(void *)>> libraries;
  std::vector<const pmrt_role *> roles; ///< as long as this lives
};

/// Throws an Error that names the file and what is wrong with it.
LoadedRoles loadRoles(const std::string &directory);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_ROLES_H
