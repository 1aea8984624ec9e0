//===- Generate.cpp - schedules by name -----------------------------------===//

#include "pipemesh/Schedule/Generate.h"
#include "Check.h"
#include "Generators.h"
#include "Letters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {
/// What a name stands for.
struct Kind {
  StringLiteral name;
  Placement placement;
  bool splitsBackward;
  int64_t fewestChunks;
  /// 0 for any number.
  int64_t mostChunks;
  /// Null for zb-auto, which is found for all ranks at once.
  ActionList (*makeList)(const Shape &, int32_t rank);
};
} // namespace

static constexpr Kind kinds[] = {
    {"gpipe", Placement::Loop, false, 1, 1, makeGPipe},
    {"1f1b", Placement::Loop, false, 1, 1, makeOneForwardOneBackward},
    {"interleaved-1f1b", Placement::Loop, false, 2, 0, makeInterleaved},
    {"looped-bfs", Placement::Loop, false, 1, 0, makeLoopedBreadthFirst},
    {"zb-h1", Placement::Loop, true, 1, 1, makeZeroBubbleH1},
    {"zb-h2", Placement::Loop, true, 1, 1, makeZeroBubbleH2},
    {"zb-auto", Placement::Loop, true, 1, 1, nullptr},
    {"zb-v", Placement::V, true, 2, 2, makeZeroBubbleV},
    {"dualpipe-v", Placement::V, true, 2, 2, makeDualPipeV}};

/// More are no schedule but a mistake, and would not fit into memory.
static constexpr int64_t mostActions = int64_t(1) << 26;

static const Kind *find(StringRef name) {
  const Kind *kind =
      llvm::find_if(kinds, [&](const Kind &kind) { return kind.name == name; });
  return kind == std::end(kinds) ? nullptr : kind;
}

llvm::ArrayRef<StringLiteral> pipemesh::schedule::getScheduleNames() {
  static const std::vector<StringLiteral> names = [] {
    std::vector<StringLiteral> names;
    for (const Kind &kind : kinds)
      names.push_back(kind.name);
    return names;
  }();
  return names;
}

bool pipemesh::schedule::isScheduleName(StringRef name) { return find(name); }

Placement pipemesh::schedule::getPlacement(StringRef name) {
  const Kind *kind = find(name);
  return kind ? kind->placement : Placement::Loop;
}

bool pipemesh::schedule::splitsBackward(StringRef name) {
  const Kind *kind = find(name);
  return kind && kind->splitsBackward;
}

static Error checkChunks(const Kind &kind, int64_t chunks) {
  if (chunks >= kind.fewestChunks &&
      (kind.mostChunks == 0 || chunks <= kind.mostChunks))
    return Error::success();
  if (kind.mostChunks == kind.fewestChunks)
    return fail(
        "{0} has {1} {2} on each rank, but chunks is {3}; {4}", kind.name,
        kind.mostChunks, kind.mostChunks == 1 ? "chunk" : "chunks", chunks,
        kind.mostChunks == 1
            ? "interleaved-1f1b and looped-bfs take any number, zb-v and "
              "dualpipe-v take 2"
            : "interleaved-1f1b and looped-bfs take other numbers");
  return fail(
      "{0} needs at least {1} chunks on each rank, but chunks is {2}{3}",
      kind.name, kind.fewestChunks, chunks,
      chunks == 1 ? "; with one chunk, 1f1b is that schedule" : "");
}

/// The chunks with which there is a layer for each stage.
static Error checkLayers(const Kind &kind, const Request &request,
                         int64_t chunks) {
  int64_t stages = request.ranks * chunks;
  if (!request.layers || stages <= *request.layers)
    return Error::success();
  int64_t most = *request.layers / request.ranks;
  if (kind.mostChunks != 0)
    most = std::min(most, kind.mostChunks);
  int64_t ranks = *request.layers / kind.fewestChunks;
  std::string way;
  if (ranks == 0)
    way = llvm::formatv("{0} needs {1} layers, one for each chunk", kind.name,
                        kind.fewestChunks);
  else if (most < kind.fewestChunks)
    way = llvm::formatv("{0} works on up to {1} {2}", kind.name, ranks,
                        ranks == 1 ? "rank" : "ranks");
  else if (most == kind.fewestChunks)
    way = llvm::formatv("chunks={0} works", most);
  else
    way = llvm::formatv("chunks={0} to {1} work", kind.fewestChunks, most);
  return fail("{0} ranks of {1} {2} are {3} stages, but the model has {4} "
              "layers; {5}",
              request.ranks, chunks, chunks == 1 ? "chunk" : "chunks", stages,
              *request.layers, way);
}

ZeroBubbleProblem pipemesh::schedule::getProblem(const Request &request) {
  ZeroBubbleProblem problem;
  problem.ranks = request.ranks;
  problem.microBatches = request.microBatches;
  problem.costs = request.costs;
  if (request.memoryLimit) {
    problem.memoryLimit = *request.memoryLimit;
  } else {
    double largest = 0;
    for (StageCosts &stage : problem.costs.get())
      largest = std::max(largest, getLeastMemory(stage));
    problem.memoryLimit = largest * request.ranks;
  }
  return problem;
}

Expected<Schedule> pipemesh::schedule::generate(const Request &request) {
  const Kind *kind = find(request.name);
  if (!kind)
    return fail("unknown schedule '{0}'; known are {1}", request.name,
                llvm::join(getScheduleNames(), ", "));
  if (request.ranks < 1)
    return fail("{0} ranks; a schedule needs at least 1", request.ranks);
  if (request.microBatches < 1)
    return fail("{0} micro-batches; a schedule needs at least 1",
                request.microBatches);
  int64_t chunks = request.chunks == 0 ? kind->fewestChunks : request.chunks;
  if (Error error = checkChunks(*kind, chunks))
    return std::move(error);
  if (Error error = checkLayers(*kind, request, chunks))
    return std::move(error);
  if (request.ranks > mostActions || chunks > mostActions ||
      request.microBatches > mostActions ||
      double(request.ranks) * chunks * request.microBatches > mostActions)
    return fail("{0} ranks x {1} chunks x {2} micro-batches are more than {3} "
                "forwards",
                request.ranks, chunks, request.microBatches, mostActions);
  if (Error error = request.costs.checkStages(request.ranks * chunks))
    return std::move(error);
  if (!kind->makeList)
    return findZeroBubble(getProblem(request));

  Shape shape{static_cast<int32_t>(request.ranks), static_cast<int32_t>(chunks),
              static_cast<int32_t>(request.microBatches)};
  Schedule schedule;
  schedule.name = request.name;
  schedule.microBatches = request.microBatches;
  schedule.rankOfStage = placeStages(kind->placement, request.ranks, chunks);
  for (int32_t rank = 0; rank < shape.ranks; ++rank)
    schedule.lists.push_back(kind->makeList(shape, rank));
  if (Error error = validate(schedule))
    return std::move(error);
  return schedule;
}
