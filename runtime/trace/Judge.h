//===- Judge.h - The proof of a run's calls, for other programs -----------===//
//
// Includes nothing of the runtime, so that a program without exceptions can use
// it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_JUDGE_H
#define PIPEMESH_RUNTIME_TRACE_JUDGE_H

#include <string>

namespace pipemesh::trace {

struct Verdict {
  bool proved = false;
  std::string text; ///< the summary, or what is refused, a line for each
  std::string json;
};

/// Proves the calls in `directory`/rank-N.jsonl, of all ranks, against a
/// bundle.
Verdict judgeTrace(const std::string &directory,
                   const std::string &bundle) noexcept;

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_JUDGE_H
