//===- Prove.cpp - The proof of a run's calls -----------------------------===//

#include "trace/Prove.h"

#include "trace/Match.h"

#include <filesystem>
#include <memory>
#include <set>

namespace fs = std::filesystem;

namespace pipemesh::trace {

using runtime::Error;
using runtime::fail;
using runtime::Manifest;

/// A thread that is no rank may look for errors, copy between steps, when the host
/// waits for all, and clear up.
static void checkOtherThread(const fs::path &path, Refusals &refusals) {
  Trace trace = readTrace(path.string());
  for (const Call &call : trace.calls) {
    switch (call.kind) {
    case Kind::Other:
    case Kind::CommError:
    case Kind::CommEnd:
    case Kind::HostAlloc:
    case Kind::HostFree:
    case Kind::MemFree:
    case Kind::StreamDestroy:
    case Kind::EventDestroy:
      break;
    case Kind::Copy:
      if (!call.hasStream)
        break;
      [[fallthrough]];
    default:
      refusals.add("trace", trace.file, " line ", call.line + 1, ": ",
                   trace.name(call), " is called by a thread that is no rank");
      return;
    }
  }
}

/// The files of a folder by rank; all of them have to be there.
static std::vector<fs::path> findFiles(const std::string &directory,
                                       uint64_t ranks, Refusals &refusals) {
  if (!fs::is_directory(directory))
    fail("'", directory,
         "' is no folder of traces; run with "
         "PMRT_STANDIN_TRACE=DIR to get one");
  std::vector<fs::path> files(ranks);
  for (const fs::directory_entry &entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".jsonl"))
      continue;
    if (name.starts_with("thread-")) {
      try {
        checkOtherThread(entry.path(), refusals);
      } catch (const Error &error) {
        refusals.add("trace", error.what());
      }
      continue;
    }
    if (!name.starts_with("rank-"))
      continue;
    std::string digits = name.substr(5, name.size() - 11);
    bool isNumber = !digits.empty() && digits.size() < 9 &&
                    digits.find_first_not_of("0123456789") == std::string::npos;
    uint64_t rank = isNumber ? std::stoull(digits) : ranks;
    if (rank >= ranks) {
      refusals.add("trace", "'", name,
                   "' is of no rank of the bundle, which has ", ranks,
                   ranks == 1 ? " rank" : " ranks");
      continue;
    }
    files[rank] = entry.path();
  }
  for (uint64_t rank = 0; rank < ranks; ++rank)
    if (files[rank].empty())
      fail("'", directory, "' has no rank-", rank,
           ".jsonl, but the bundle has ", ranks,
           ranks == 1 ? " rank" : " ranks");
  return files;
}

static void checkSteps(const std::vector<Rank> &ranks, Refusals &refusals) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    uint32_t steps = ranks[r].timeline.steps, first = ranks[0].timeline.steps;
    if (steps == 0)
      refusals.add("trace", "rank ", r,
                   " begins no step: it never writes progress word 0");
    else if (steps != first)
      refusals.add("program", "rank ", r, " runs ", steps,
                   " steps, but rank 0 ", first);
  }
}

static RankFacts countRank(const Rank &rank, const Match *match) {
  const Timeline &timeline = rank.timeline;
  RankFacts facts;
  facts.steps = timeline.steps;
  facts.calls = rank.trace.calls.size();
  if (match && timeline.steps)
    facts.launches = static_cast<double>(match->launches) / timeline.steps;
  facts.graphLaunches = timeline.graphLaunches;
  facts.eventEdges = timeline.waits;
  facts.redundantEdges = timeline.redundant;
  facts.streams = timeline.createdStreams;
  for (const Call &call : rank.trace.calls)
    facts.communicators += call.kind == Kind::CommInit ||
                           (call.kind == Kind::CommSplit && call.handle);
  facts.allocations = timeline.allocations;
  facts.bytes = timeline.mostBytes;
  return facts;
}

Facts proveTrace(const std::string &directory, const Manifest &manifest,
                 const std::vector<const pmrt_role *> &roles,
                 Refusals &refusals) {
  if (roles.size() != manifest.roles.size())
    fail("there are ", roles.size(), " roles, but the manifest has ",
         manifest.roles.size());
  std::vector<std::unique_ptr<Program>> programs;
  for (uint32_t r = 0; r < roles.size(); ++r)
    programs.push_back(std::make_unique<Program>(manifest, *roles[r], r));
  auto count = static_cast<uint64_t>(manifest.mesh.ranks());
  std::vector<fs::path> files = findFiles(directory, count, refusals);
  std::vector<Rank> ranks(count);
  for (uint32_t r = 0; r < count; ++r) {
    try {
      ranks[r].trace = readTrace(files[r].string());
      ranks[r].timeline =
          readTimeline(ranks[r].trace, r, manifest.memoryLimit, refusals);
    } catch (const Error &error) {
      refusals.add("trace", error.what());
      return {};
    }
  }
  checkSteps(ranks, refusals);
  Communicators communicators = findCommunicators(ranks, refusals);
  std::vector<Match> matches;
  for (uint32_t r = 0; r < count; ++r) {
    const Program &program = *programs[manifest.mesh.role(r)];
    matches.push_back(matchProgram(ranks[r], r, program, manifest.mesh,
                                   communicators, refusals));
    if (matches.back().isComplete)
      checkConflicts(ranks[r], r, program, matches.back(), refusals);
  }
  checkOrder(
      ranks, communicators,
      [&](uint32_t rank, uint32_t op) {
        return describe(ranks[rank], rank, *programs[manifest.mesh.role(rank)],
                        matches[rank], op);
      },
      refusals);
  Facts facts;
  facts.communicators = communicators.list.size();
  for (uint32_t r = 0; r < count; ++r)
    facts.ranks.push_back(countRank(ranks[r], &matches[r]));
  return facts;
}

} // namespace pipemesh::trace
