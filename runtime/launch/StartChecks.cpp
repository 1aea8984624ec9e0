//===- StartChecks.cpp - Do all processes run the same program? -----------===//

#include "launch/StartChecks.h"

#include "core/Certificate.h"
#include "core/File.h"

#include <sstream>

namespace pipemesh::runtime {

static std::string fingerprint(const Options &options, const Bundle &bundle) {
  std::string text;
  auto add = [&](const char *what, const auto &value) {
    text += cat(what, "\t", value, "\n");
  };
  auto digest = [](const std::string &content) {
    uint64_t hash = 14695981039346656037u;
    for (unsigned char c : content)
      hash = (hash ^ c) * 1099511628211u;
    return hash;
  };
  add("the bundle's hash", bundle.manifest().hash);
  add("the ABI of pmrun", PMRT_ABI_VERSION);
  add("--poison", options.poison);
  add("--poison=free", options.poisonFreed);
  add("--steps", options.steps.value_or(-1));
  add("--resume", options.resume);
  add("--save", !options.save.empty());
  add("--save-every", options.saveEvery);
  add("--save-gradients", !options.saveGradients.empty());
  add("--save-logits", !options.saveLogits.empty());
  add("--save-state", !options.saveState.empty());
  add("--inputs", !options.inputs.empty());
  add("--trace", !options.trace.empty());
  add("--report", options.report);
  add("--capture", options.capture);
  add("--tf32", options.tf32);
  add("--meet", options.meet);
  add("the digest of --pace",
      options.pace.empty() ? 0 : digest(readTextFile(options.pace, "pace")));
  add("the digest of --recipe",
      options.recipe.empty() ? 0
                             : digest(readTextFile(options.recipe, "recipe")));
  return text;
}

std::string difference(const std::string &first, const std::string &other,
                       int64_t rank) {
  std::istringstream a(first), b(other);
  for (std::string x, y; std::getline(a, x) && std::getline(b, y);) {
    if (x == y)
      continue;
    return cat("the ranks run different programs: ", x.substr(0, x.find('\t')),
               " is '", x.substr(x.find('\t') + 1), "' on rank 0, but '",
               y.substr(y.find('\t') + 1), "' on rank ", rank,
               "; start all ranks with one bundle and the same options");
  }
  return first == other ? "" : "the ranks run different releases of pmrun";
}

std::unique_ptr<Bundle> openTogether(const Options &options,
                                     Transport *transport) {
  std::unique_ptr<Bundle> bundle;
  std::string own;
  auto open = [&] {
    bundle = std::make_unique<Bundle>(options.bundle);
    if (!options.noCertificate)
      checkCertificate(options.bundle,
                       static_cast<uint64_t>(options.threads));
    own = fingerprint(options, *bundle);
  };
  if (!transport) {
    open();
    return bundle;
  }
  agree(*transport, open);
  std::vector<std::string> all = transport->exchange(own);
  // Whether there are as many processes as ranks is asked last: processes with
  // other bundles may answer it in another way.
  for (size_t rank = 1; rank < all.size(); ++rank) {
    std::string problem = difference(all[0], all[rank], rank);
    if (!problem.empty())
      throw AgreedError(problem);
  }
  int64_t ranks = bundle->manifest().mesh.ranks();
  if (ranks != static_cast<int64_t>(all.size()))
    throw AgreedError(cat("bundle '", options.bundle, "' has ", ranks,
                          " ranks, but mpirun started ", all.size(),
                          " processes; start it with mpirun -n ", ranks));
  return bundle;
}

} // namespace pipemesh::runtime
