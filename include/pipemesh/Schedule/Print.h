//===- Print.h - schedules and timelines as JSON and pictures ---*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_PRINT_H
#define PIPEMESH_SCHEDULE_PRINT_H

#include "pipemesh/Schedule/Simulate.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh::schedule {

/// An object of one line a key: ranks, chunks, micro-batches, makespan, span,
/// busy, bubble, peaks, what `more` adds, and the actions: `2F0` is stage 2,
/// forward, micro-batch 0; `["FB", "0F3", "3B1"]` an overlapped pair.
void printJson(
    const Schedule &schedule, const Timeline &timeline, llvm::raw_ostream &os,
    llvm::ArrayRef<std::pair<llvm::StringRef, llvm::json::Value>> more = {});

/// A lane for each rank, a box for each action with its micro-batch, its chunk
/// by shade.
void printSvg(const Schedule &schedule, const Timeline &timeline,
              llvm::raw_ostream &os);

/// The trace event format, which Perfetto (ui.perfetto.dev) opens; one unit of
/// cost is a millisecond.
void printPerfetto(const Schedule &schedule, const Timeline &timeline,
                   llvm::raw_ostream &os);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_PRINT_H
