//===- Diagnosis.h - Why a job stands still -------------------------------===//
//
// Made of a bundle and of what its ranks recorded, and of nothing else: by the
// process in which a rank waits too long, or by another one that has collected
// the records of all machines.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_DIAGNOSIS_H
#define PIPEMESH_RUNTIME_HOST_DIAGNOSIS_H

#include "core/Bundle.h"
#include "host/FlightRecorder.h"

#include <functional>

namespace pipemesh::runtime {

class Diagnosis {
public:
  /// Asks `read` once for the log of each rank; it has none of those that
  /// cannot be seen from here.
  Diagnosis(const Bundle &bundle,
            const std::function<std::optional<FlightLog>(int64_t)> &read);

  /// Of the files of a folder.
  Diagnosis(const Bundle &bundle, const std::string &folder);

  /// What a rank does: "waits for 2 s in the receive of 'x' from rank 2 ...".
  std::string activity(int64_t rank) const;

  /// ", its last was receive #88 of 'x' from rank 1", or "".
  std::string lastOf(int64_t rank) const;

  /// "rank 3 (dp=1) waits for 30 s in ..., longer than --deadline; absent: ...",
  /// with all that those who are absent wait for themselves.
  std::string lateText(int64_t rank, const std::vector<int64_t> &absent) const;

private:
  /// Whether a rank waits between its steps, and for whom that can be said.
  bool waitsBetweenSteps(int64_t rank) const;
  std::vector<int64_t> behind(int64_t rank) const;
  std::vector<int64_t> awaitedBy(int64_t rank) const;
  /// Of the collective that a rank is in, or whose end it waits for; else null.
  const pmrt_communicator *communicatorAt(int64_t rank) const;
  /// Its entry, once the rank has come to it.
  const FlightEntry *collectiveOf(int64_t rank) const;
  std::vector<int64_t> groupOf(int64_t rank) const;
  /// "all-reduce #212 over tp at ...", where `other` has not come to that.
  std::string neverEntered(int64_t other, int64_t waiting) const;
  const pmrt_role &roleOf(int64_t rank) const;

  const Bundle &bundle;
  std::vector<std::optional<FlightLog>> logs;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_DIAGNOSIS_H
