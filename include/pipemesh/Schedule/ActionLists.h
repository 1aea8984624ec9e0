//===- ActionLists.h - schedules as text ------------------------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_ACTIONLISTS_H
#define PIPEMESH_SCHEDULE_ACTIONLISTS_H

#include "pipemesh/Schedule/Schedule.h"

namespace pipemesh::schedule {

/// Reads the comma-separated form that PyTorch's pipelining prints: a row for
/// each rank, cells such as `2F0`, `1I3`, `1W3`, `0B1`, `(0F3;3B1)OVERLAP_F_B`;
/// empty cells are idle. Ranks, stages, their places and the number of
/// micro-batches follow from the cells. Cells of communication (SEND_F, RECV_F,
/// SEND_B, RECV_B) and of parameter sharding (UNSHARD, RESHARD, REDUCE_GRAD)
/// are ignored, and a sentence in `remarks` counts them. The result is
/// validated.
llvm::Expected<Schedule> parseActionLists(llvm::StringRef text,
                                          std::vector<std::string> &remarks);

/// Prints a schedule in that form, without idle cells.
std::string printActionLists(const Schedule &schedule);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_ACTIONLISTS_H
