//===- TcpTransport.h - The control plane over TCP ------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_TCPTRANSPORT_H
#define PIPEMESH_RUNTIME_LAUNCH_TCPTRANSPORT_H

#include "host/Transport.h"

namespace pipemesh::runtime {

/// How the processes of a job find each other.
struct TcpPlace {
  int64_t rank = 0, size = 1;
  std::string host; ///< of rank 0: a name or an address
  int port = 0;
  std::string token;  ///< the same in all processes of the job
  std::string bundle; ///< what they run; the same in all
  double seconds = 0; ///< how long they wait for each other; 0: any time
};

/// Processes that were started by srun or torchrun, each with one rank. Rank 0
/// listens, the others connect. What ranks agree on, tell and end goes this
/// way; it carries no operands of collectives and no transfers, which GPUs
/// exchange by NCCL: `send`, `receive` and collectives of its groups throw an
/// Error that says so.
///
/// Throws an Error where not all come in time (rank 0 names who is missing),
/// and where one runs another bundle or has another number of ranks.
std::shared_ptr<Transport> meetOverTcp(const TcpPlace &place);

/// Waits for all processes and closes the connections. Collective.
void finishTcp(Transport &transport);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_TCPTRANSPORT_H
