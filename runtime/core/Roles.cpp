//===- Roles.cpp - The tables of a bundle, for those who read them --------===//

#include "core/Roles.h"

#include "core/File.h"

#include <dlfcn.h>
#include <filesystem>

namespace fs = std::filesystem;

namespace pipemesh::runtime {

LoadedRoles loadRoles(const std::string &directory) {
  std::string path = (fs::path(directory) / "manifest.json").string();
  if (!fs::exists(path))
    fail("'", directory, "' is not a bundle: it has no manifest.json; name a "
                         "folder written by pmc");
  LoadedRoles loaded;
  loaded.manifest = parseManifest(readTextFile(path, "manifest"), path);
  for (const RoleInfo &info : loaded.manifest.roles) {
    fs::path file = fs::absolute(fs::path(directory) / info.file);
    void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail("cannot load '", file.string(), "': ", dlerror());
    loaded.libraries.emplace_back(library, &dlclose);
    const auto *role =
        static_cast<const pmrt_role *>(dlsym(library, PMRT_ROLE_SYMBOL));
    if (!role)
      fail("'", file.string(), "' has no symbol ", PMRT_ROLE_SYMBOL);
    if (role->abi_version != PMRT_ABI_VERSION)
      fail("'", file.string(), "' has ABI version ", role->abi_version,
           ", but this release reads ", PMRT_ABI_VERSION,
           "; compile the bundle again");
    if (!role->bundle_hash || loaded.manifest.hash != role->bundle_hash)
      fail("'", file.string(), "' has the hash '",
           role->bundle_hash ? role->bundle_hash : "", "', but the manifest '",
           loaded.manifest.hash,
           "': they are of two bundles; compile it again");
    loaded.roles.push_back(role);
  }
  return loaded;
}

} // namespace pipemesh::runtime
