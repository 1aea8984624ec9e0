//===- MpiTransport.h - Ranks that are processes of Open MPI --------------===//

#ifndef PIPEMESH_RUNTIME_MPI_MPITRANSPORT_H
#define PIPEMESH_RUNTIME_MPI_MPITRANSPORT_H

#include "host/Transport.h"

namespace pipemesh::runtime {

/// Starts MPI; the process runs the rank of its number. Data goes by
/// nonblocking messages between pairs of ranks that are polled, with
/// short sleeps in between, because ranks may outnumber cores. Collectives
/// reduce in the order of the ranks. Called once in a process.
std::shared_ptr<Transport> startMpi();

/// Waits for all processes and ends MPI. Collective; the transport may not be
/// used any more.
void finishMpi(Transport &transport);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_MPI_MPITRANSPORT_H
