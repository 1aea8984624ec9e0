//===- BundleProof.cpp - The proof of a bundle and its certificate --------===//

#include "check/BundleProof.h"

#include "check/Certify.h"
#include "core/Certificate.h"
#include "core/File.h"
#include "core/Roles.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace pipemesh::proof {

Proof proveBundle(const std::string &directory, const ProveOptions &options) {
  runtime::LoadedRoles bundle = runtime::loadRoles(directory);
  ProveOptions limits = options;
  if (!limits.memoryLimit)
    limits.memoryLimit = bundle.manifest.memoryLimit;
  return prove(bundle.manifest, bundle.roles, limits);
}

std::string certificateText(const std::string &directory, const Proof &proof) {
  json roles = json::array();
  for (const RoleProof &role : proof.roles)
    roles.push_back({{"file", role.file},
                     {"bodies", role.bodies},
                     {"instructions", role.instructions},
                     {"actions", role.actions},
                     {"collectives", role.collectives},
                     {"sends", role.sends},
                     {"receives", role.receives},
                     {"peak_bytes", role.peak()},
                     {"arena_bytes", role.arena},
                     {"reserves",
                      {{"kernel_scratch_bytes", role.kernelScratch},
                       {"onednn_packing_bytes", role.gemmPacking},
                       {"transfers_under_way_bytes", role.inFlight}}},
                     {"live_bytes", role.live.bytes()},
                     {"live_at_the_peak",
                      {{"state_and_inputs_bytes", role.live.kept},
                       {"values_bytes", role.live.values},
                       {"scratch_bytes", role.live.scratch},
                       {"kernel_scratch_bytes", role.live.kernel},
                       {"place", role.live.place}}}});
  runtime::BundleDigests digests = runtime::digestBundle(directory);
  json files = json::object();
  for (auto &[name, digest] : digests.files)
    files[name] = digest;
  json certificate = {
      {"format", runtime::certificateFormat},
      {"version", runtime::certificateVersion},
      {"bundle", digests.hash},
      {"files", files},
      {"ranks", proof.ranks},
      {"micro_batches", proof.microBatches},
      {"proved",
       {{"communicators", proof.communicators},
        {"collectives", proof.collectives},
        {"channels", proof.channels},
        {"transfers", proof.transfers},
        {"meetings_of_roles", proof.meetings},
        {"actions", proof.actions},
        {"needs_no_send_buffers", proof.needsNoBuffers},
        {"memory_limit", proof.memoryLimit ? json(proof.memoryLimit)
                                           : json(nullptr)}}},
      {"relies_on", proof.reliesOn},
      {"roles", roles}};
  return certificate.dump(2) + "\n";
}

std::string certify(const std::string &directory,
                    uint64_t memoryLimit) noexcept {
  try {
    Proof proof = proveBundle(directory, {memoryLimit});
    runtime::writeTextFile(
        (fs::path(directory) / runtime::certificateFile).string(),
        certificateText(directory, proof));
    return "";
  } catch (const std::exception &error) {
    return error.what();
  }
}

BundleVerdict judgeBundle(const std::string &directory, uint64_t memoryLimit,
                          uint64_t threads) noexcept {
  try {
    ProveOptions options;
    options.memoryLimit = memoryLimit;
    options.threads = threads;
    return {true, proofText(proveBundle(directory, options))};
  } catch (const std::exception &error) {
    return {false, error.what()};
  }
}

std::string proofText(const Proof &proof) {
  std::string text =
      cat("proved for ", proof.ranks, proof.ranks == 1 ? " rank" : " ranks",
          " of ", proof.roles.size(),
          proof.roles.size() == 1 ? " role" : " roles", " and ",
          proof.microBatches,
          proof.microBatches == 1 ? " micro-batch\n" : " micro-batches\n");
  text += cat("  communicators ", proof.communicators, ", collectives ",
              proof.collectives, ": the same on all members, in one order\n");
  text += cat("  channels ", proof.channels, ", transfers ", proof.transfers,
              ", meetings of roles ", proof.meetings,
              ": one to one, no cycle of waits",
              proof.needsNoBuffers ? ", none without buffers for sends either"
                                   : "",
              "\n");
  text += cat("  actions ", proof.actions,
              ": every value is there when it is used\n");
  for (size_t r = 0; r < proof.roles.size(); ++r) {
    const RoleProof &role = proof.roles[r];
    text += cat("  role ", r, ": ", role.bodies, " bodies, ",
                role.instructions, " instructions, ", role.actions,
                " actions, ", role.collectives, " collectives, ", role.sends,
                " sends, ", role.receives, " receives; peak ", role.peak(),
                " bytes (arena ", role.arena, ", scratch of kernels ",
                role.threads * role.kernelScratch, ", oneDNN ",
                role.threads * role.gemmPacking, ", transfers under way ",
                role.inFlight, ")\n");
    text += cat("    live ", role.live.bytes(), " bytes (state and inputs ",
                role.live.kept, ", values ", role.live.values, ", scratch ",
                role.live.scratch, ", scratch of a kernel ", role.live.kernel,
                ") at the most: ", role.live.place, "\n");
  }
  if (proof.memoryLimit)
    text += cat("  each rank has ", proof.memoryLimit, " bytes\n");
  if (!proof.needsNoBuffers)
    text += cat("without buffers for sends ", proof.cycleWithoutBuffers, "\n");
  for (const std::string &fact : proof.reliesOn)
    text += cat("relies on: ", fact, "\n");
  return text;
}

} // namespace pipemesh::proof
