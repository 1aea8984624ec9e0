//===- Options.h - The command line of pmrun ------------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_OPTIONS_H
#define PIPEMESH_RUNTIME_LAUNCH_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipemesh::runtime {

struct Options {
  std::string bundle, weights, data, recipe;
  std::string metrics, trace, save, saveGradients, saveLogits, saveState;
  std::string transport; ///< "threads", "mpi", or as it is started
  std::string backend;   ///< "host", "cuda", or as the bundle is
  std::string rendezvous; ///< HOST:PORT where processes of srun or torchrun meet
  std::string meet = "auto"; ///< ranks on GPUs: "nccl", "staged", "auto"
  std::string reportFile, compare, compareWeights;
  std::string inputs, outputs; ///< of a function
  std::string flightRecorder, readFlight, watch, inject, pace, algorithms;
  std::optional<int64_t> steps; ///< all of the data where it is not given
  int64_t saveEvery = 0;        ///< 0: only at the end
  int threads = 1;
  double deadline = 600; ///< seconds; 0: none
  double compareTolerance = 1e-4;
  bool report = false; ///< also with a reportFile
  bool poisonFreed = false; ///< with poison
  bool capture = false, tf32 = false; ///< of ranks on GPUs
  bool poison = false, resume = false, quiet = false, help = false;
  bool noCertificate = false; ///< runs what is not proved
};

/// Reads the arguments after the command's name. Throws an Error on an unknown
/// or incomplete one.
Options parseOptions(const std::vector<std::string> &arguments);

/// What --help prints.
extern const char *const helpText;

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_OPTIONS_H
