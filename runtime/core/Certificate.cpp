//===- Certificate.cpp - Does a bundle have the certificate of its files? -===//

#include "core/Certificate.h"

#include "core/Digest.h"
#include "core/File.h"
#include "core/Manifest.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using json = nlohmann::json;

namespace pipemesh::runtime {

BundleDigests digestBundle(const std::string &directory) {
  auto add = [&](BundleDigests &digests, const std::string &name) {
    MappedFile file((fs::path(directory) / name).string(), "file of the bundle");
    digests.files.emplace_back(name, sha256(file.data(), file.size()));
  };
  BundleDigests digests;
  add(digests, "manifest.json");
  std::string path = (fs::path(directory) / "manifest.json").string();
  Manifest manifest = parseManifest(readTextFile(path, "manifest"), path);
  digests.hash = manifest.hash;
  for (const RoleInfo &role : manifest.roles)
    add(digests, role.file);
  return digests;
}

void checkCertificate(const std::string &directory) {
  static const char *const wayOut =
      "; prove it with pmcheck bundle --write, compile it again, or run it "
      "unproved with --no-certificate";
  std::string path = (fs::path(directory) / certificateFile).string();
  std::error_code error;
  if (!fs::exists(path, error))
    fail("bundle '", directory, "' has no ", certificateFile, wayOut);
  json certificate =
      json::parse(readTextFile(path, "certificate"), nullptr, false);
  auto text = [&](const json &object, const char *key) {
    return object.is_object() && object.contains(key) && object[key].is_string()
               ? object[key].get<std::string>()
               : std::string();
  };
  if (text(certificate, "format") != certificateFormat)
    fail("'", path, "' is no ", certificateFormat, wayOut);
  if (!certificate.contains("version") ||
      certificate["version"] != certificateVersion)
    fail("'", path, "' has not the version ", certificateVersion,
         ", which this pmrun reads", wayOut);
  BundleDigests digests = digestBundle(directory);
  if (text(certificate, "bundle") != digests.hash)
    fail("'", path, "' is of the bundle with the hash '",
         text(certificate, "bundle"), "', but this one has '", digests.hash,
         "'", wayOut);
  json files = certificate.value("files", json::object());
  for (auto &[name, digest] : digests.files)
    if (text(files, name.c_str()) != digest)
      fail("'", path, "' is not of this '", name,
           "': the file was changed after it was proved", wayOut);
}

} // namespace pipemesh::runtime
