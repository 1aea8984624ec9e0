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

/// The certificate is of one thread; each more has scratch of its own.
static void checkThreads(const json &certificate, uint64_t threads) {
  auto number = [](const json &object, const char *key) {
    return object.is_object() && object.contains(key) &&
                   object[key].is_number_unsigned()
               ? object[key].get<uint64_t>()
               : uint64_t(0);
  };
  uint64_t limit =
      number(certificate.value("proved", json::object()), "memory_limit");
  json roles = certificate.value("roles", json::array());
  for (size_t r = 0; limit && roles.is_array() && r < roles.size(); ++r) {
    json reserves = roles[r].value("reserves", json::object());
    uint64_t each = number(reserves, "kernel_scratch_bytes") +
                    number(reserves, "onednn_packing_bytes");
    uint64_t peak = number(roles[r], "peak_bytes");
    if (peak + (threads - 1) * each > limit)
      fail("a rank of role ", r, " with ", threads, " threads needs ",
           peak + (threads - 1) * each, " bytes at its peak (", peak,
           " with one, and ", each, " for each more), but was compiled for ",
           limit, "; use fewer --threads, or compile it with a larger "
           "--memory-limit");
  }
}

void checkCertificate(const std::string &directory, uint64_t threads) {
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
  checkThreads(certificate, threads);
}

} // namespace pipemesh::runtime
