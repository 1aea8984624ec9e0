//===- WriteSource.cpp - The C++ source of a bundle -----------------------===//

#include "source/WriteSource.h"

#include "core/Bundle.h"
#include "core/File.h"
#include "source/RoleSource.h"

#include <exception>
#include <filesystem>
#include <fstream>

namespace pipemesh::source {

namespace fs = std::filesystem;

static bool isSource(const fs::path &path) {
  std::string name = path.filename().string();
  return name.rfind("role-", 0) == 0 && path.extension() == ".cpp";
}

/// Makes the folder; throws where it is there and has something else.
static void prepare(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    fail("cannot create folder '", folder.string(),
         "': ", error ? error.message() : "it is a file");
  std::vector<fs::path> old;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    if (!isSource(entry.path()))
      fail("'", folder.string(), "' has '", entry.path().filename().string(),
           "', which is no source of a role; give an empty folder with -o");
    old.push_back(entry.path());
  }
  for (const fs::path &path : old)
    fs::remove(path);
}

static void write(const std::string &bundlePath, const fs::path &folder) {
  runtime::Bundle bundle(bundlePath);
  const runtime::Manifest &manifest = bundle.manifest();
  if (!manifest.target.cuda)
    fail("'", bundlePath, "' is not for GPUs; compile it with --backend=cuda");
  std::vector<const pmrt_role *> roles;
  for (size_t r = 0; r < manifest.roles.size(); ++r)
    roles.push_back(&bundle.role(r));
  std::vector<cuda::Division> divisions =
      cuda::divisionsOf(roles, manifest.mesh);
  std::vector<cuda::Plan> plans = cuda::planRoles(roles, manifest.roles);
  // All texts are made before any is written.
  std::vector<std::string> texts;
  for (uint32_t r = 0; r < roles.size(); ++r)
    texts.push_back(RoleSource(manifest, roles, plans, divisions, r).text());
  prepare(folder);
  for (size_t r = 0; r < texts.size(); ++r) {
    fs::path path = folder / cat("role-", r, ".cpp");
    std::ofstream file(path, std::ios::binary);
    file << texts[r];
    file.close();
    if (!file)
      fail("cannot write '", path.string(), "'");
  }
}

std::string writeSources(const std::string &bundle,
                         const std::string &folder) noexcept {
  try {
    write(bundle, folder);
    return "";
  } catch (const std::exception &error) {
    return error.what();
  }
}

} // namespace pipemesh::source
