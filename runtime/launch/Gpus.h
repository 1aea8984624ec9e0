//===- Gpus.h - The command line of ranks on GPUs -------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_GPUS_H
#define PIPEMESH_RUNTIME_LAUNCH_GPUS_H

#include "host/Rank.h"
#include "launch/Options.h"

namespace pipemesh::runtime {

/// Lets the ranks of a bundle for GPUs be made there; nothing for others. Throws where
/// options are not those of the bundle's backend. Collective.
void useGpus(HostOptions &host, const Options &options, const Bundle &bundle,
             Transport *transport);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_GPUS_H
