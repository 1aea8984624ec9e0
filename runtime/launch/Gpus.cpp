//===- Gpus.cpp - The command line of ranks on GPUs -----------------------===//

#include "launch/Gpus.h"

#include "core/File.h"
#include "cuda/StartCuda.h"
#include "launch/LaunchEnvironment.h"

#include <filesystem>

namespace pipemesh::runtime {

static void checkOptions(const Options &options, const Bundle &bundle) {
  bool isForGpus = bundle.manifest().target.cuda;
  const char *backend = isForGpus ? "cuda" : "host";
  if (!options.backend.empty() && options.backend != backend)
    fail("--backend is ", options.backend, ", but '", options.bundle,
         "' was compiled for ", backend, "; compile it again with pmc --backend=",
         options.backend);
  if (!isForGpus) {
    if (options.capture || options.tf32 || !options.algorithms.empty() ||
        options.meet != "auto")
      fail(options.capture               ? "--capture"
           : options.tf32                ? "--tf32"
           : !options.algorithms.empty() ? "--algorithms"
                                         : "--meet",
           " is for ranks on GPUs, but '", options.bundle,
           "' was compiled for the host; compile it with pmc --backend=cuda");
    return;
  }
  auto hostOnly = [&](bool given, const char *flag, const char *instead) {
    if (given)
      fail(flag, " is for bundles that run on the host, but '", options.bundle,
           "' was compiled for GPUs; ", instead);
  };
  if (!options.algorithms.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.algorithms, error);
    if (error)
      fail("--algorithms: folder '", options.algorithms,
           "' cannot be made: ", error.message());
    checkWritable(options.algorithms + "/role-0.json", "--algorithms");
  }
  hostOnly(options.poison, "--poison", "run it under compute-sanitizer");
  hostOnly(!options.pace.empty(), "--pace", "leave it out");
  hostOnly(!options.trace.empty(), "--trace", "run it under nsys");
  hostOnly(!options.compare.empty(), "--compare", "save logits and gradients instead");
  hostOnly(options.threads > 1, "--threads", "leave it out");
  std::optional<Fault> fault = parseFault(options.inject);
  hostOnly(fault && fault->kind == Fault::WrongSize, "--inject=wrong-size",
           "NCCL does not compare sizes; take another fault");
}

void useGpus(HostOptions &host, const Options &options, const Bundle &bundle,
             Transport *transport) {
  auto check = [&] { checkOptions(options, bundle); };
  if (transport)
    agree(*transport, check);
  else
    check();
  if (!bundle.manifest().target.cuda)
    return;
  cuda::StartOptions start;
  start.capture = options.capture;
  start.tf32 = options.tf32;
  start.algorithms = options.algorithms;
  start.meeting = options.meet == "nccl"     ? cuda::Meeting::Nccl
                  : options.meet == "staged" ? cuda::Meeting::Staged
                                             : cuda::Meeting::Auto;
  LaunchEnvironment environment = launchEnvironment(options.rendezvous);
  // Of a launcher that does not number the processes of a machine, all of the job's.
  if (transport)
    start.localRank = static_cast<int>(
        environment.localRank < 0 ? environment.rank : environment.localRank);
  host.makeRank = cuda::startCuda(bundle, transport, start);
}

} // namespace pipemesh::runtime
