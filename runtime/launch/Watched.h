//===- Watched.h - A rank's side of the watch over a job ------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_WATCHED_H
#define PIPEMESH_RUNTIME_LAUNCH_WATCHED_H

#include "host/Transport.h"
#include "launch/Wire.h"

namespace pipemesh::runtime {

/// Has the supervisors of all processes connected with the collector at that of
/// rank 0, and lets the transport report the end of the job there.
class Watched {
public:
  /// `supervisor` is connected with this process's. `where` is an address of the
  /// machine of rank 0 to listen at, "off", or "" for those over which the
  /// machines reach each other. A watch that does not come about is warned of,
  /// and each process speaks for itself then. Collective.
  Watched(int supervisor, const std::string &where, Transport &transport);

  /// The job ends as it should.
  void sayGoodbye() { wire.send(Word::Goodbye); }

private:
  bool tellAll(const JobEnd &end);

  Wire wire;
  Transport &transport;
};

/// The addresses of rank 0's machine at which the others reach it: of the
/// networks that it shares with each of them, of all where there is none, and
/// the one of its own where all ranks are on it. `machines` has, for each rank,
/// its machine's name and then its addresses with the length of their networks'
/// prefixes, as `machineAddresses` gives them.
std::vector<std::string>
addressesToListen(const std::vector<std::string> &machines);

/// "name 10.0.0.1/24 fd00::1/64" of this machine.
std::string machineAddresses();

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_WATCHED_H
