//===- StartChecks.h - Do all processes run the same program? -------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_STARTCHECKS_H
#define PIPEMESH_RUNTIME_LAUNCH_STARTCHECKS_H

#include "core/Bundle.h"
#include "host/Transport.h"
#include "launch/Options.h"

namespace pipemesh::runtime {

/// Opens the bundle in every process, and checks that there is a process for
/// each rank and that all have the same bundle, the same pmrun and the same
/// options. Throws the same Error in all of them. Collective.
std::unique_ptr<Bundle> openTogether(const Options &options,
                                     Transport *transport);

/// Why two processes do not run the same program; empty where they do. Each
/// text has lines "what<TAB>value".
std::string difference(const std::string &first, const std::string &other,
                       int64_t rank);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_STARTCHECKS_H
