//===- Counts.h - What each rank did, counted while it ran ----------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_COUNTS_H
#define PIPEMESH_RUNTIME_LAUNCH_COUNTS_H

#include "launch/Memory.h"

#include <nlohmann/json_fwd.hpp>

namespace pipemesh::runtime {

/// What a rank did in a step, on average of all steps so far, with the names
/// and conventions of the roles in manifest.json: flops, weight_bytes and
/// communication; beside them the bytes of weights that it read, its memory
/// and the share of the time in which it computed.
nlohmann::ordered_json countsOf(const Job &job, const Rank &rank);

/// The counts of all ranks, and the memory of their processes, as JSON; in the
/// process of rank 0. Collective.
nlohmann::ordered_json countsOfAll(Job &job, const StartMemory &start = {});

/// The same as tables: by rank, by axis and kind, and the modules that cause
/// most bytes.
std::string countsTable(const nlohmann::ordered_json &counts);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_COUNTS_H
