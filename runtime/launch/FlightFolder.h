//===- FlightFolder.h - Where the ranks record what they exchange ---------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_FLIGHTFOLDER_H
#define PIPEMESH_RUNTIME_LAUNCH_FLIGHTFOLDER_H

#include "host/Transport.h"
#include "launch/Options.h"

namespace pipemesh::runtime {

/// The folder of --flight-recorder, which stays, or one of the system's for
/// temporary files, which goes when the job ends by itself and stays when it is
/// ended: by a signal, a deadline, or another process.
class FlightFolder {
public:
  /// All processes take the same name. Collective.
  FlightFolder(const Options &options, Transport *transport);
  ~FlightFolder();
  FlightFolder(const FlightFolder &) = delete;
  FlightFolder &operator=(const FlightFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  std::string folder;
  bool stays;
};

/// The last entries of all records of a folder, rank by rank, as pmrun
/// --read-flight prints them. Throws an Error when there is none.
std::string flightTable(const std::string &folder);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_FLIGHTFOLDER_H
