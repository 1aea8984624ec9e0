//===- Transfers.cpp - sends and receives between roles -------------------===//

#include "Transfers.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace {
/// A value that a fragment of one role makes and another role reads.
struct Edge {
  FlatSymbolRefAttr buffer;
  pm::ShardingAttr sharding;
  pm::FragmentAttr from;
  int64_t to;
  /// The micro-batches in the order in which they are sent.
  SmallVector<int64_t> sent;
};

class Transfers {
public:
  explicit Transfers(const Program &program)
      : program(program), builder(pm::ProgramOp(program.op).getContext()) {
    for (auto role : pm::ProgramOp(program.op).getBody().getOps<pm::RoleOp>())
      roles[role.getPipelineRank()] = role;
    for (auto &[rank, role] : roles)
      for (auto action : role.getBody().getOps<pm::ActionOp>())
        roleOfStage[action.getStage()] = rank;
  }

  void run() {
    findEdges();
    for (Edge &edge : edges)
      addSends(edge);
    for (auto &[rank, role] : roles)
      addReceives(rank, role);
  }

private:
  void findEdges();
  void addSends(Edge &edge);
  void addReceives(int64_t rank, pm::RoleOp role);
  /// One transfer for each micro-batch, or one a step.
  bool isRepeated(const Edge &edge) const {
    return edge.from.isPerMicroBatch() && program.isCut(edge.buffer);
  }

  const Program &program;
  OpBuilder builder;
  int64_t roleOf(pm::FragmentAttr fragment) const {
    auto found = roleOfStage.find(fragment.getStage());
    return found == roleOfStage.end() ? fragment.getStage() : found->second;
  }

  std::map<int64_t, pm::RoleOp> roles;
  std::map<int64_t, int64_t> roleOfStage;
  SmallVector<Edge> edges;
};
} // namespace

void Transfers::findEdges() {
  // Of the fragments that write a buffer in one form there is one.
  llvm::MapVector<std::pair<Attribute, Attribute>, pm::FragmentAttr> writers;
  for (auto &[fragment, function] : program.fragments)
    for (BufferUse use : program.getWrites(function))
      writers.insert({{use.buffer, use.sharding}, fragment});
  llvm::DenseSet<std::tuple<Attribute, Attribute, int64_t>> known;
  for (auto &[fragment, function] : program.fragments)
    for (BufferUse use : program.getReads(function)) {
      auto writer = writers.find({use.buffer, use.sharding});
      if (writer == writers.end() ||
          roleOf(writer->second) == roleOf(fragment) ||
          !known.insert({use.buffer, use.sharding, roleOf(fragment)}).second)
        continue;
      edges.push_back(
          {use.buffer, use.sharding, writer->second, roleOf(fragment), {}});
    }
  // What an action makes is sent in the order of its results, to lower peers
  // first; sums, which nobody waits for before all micro-batches are done,
  // last.
  llvm::DenseMap<std::pair<Attribute, Attribute>, unsigned> order;
  for (auto [index, entry] : llvm::enumerate(writers))
    order[entry.first] = index;
  auto keyOf = [&](const Edge &edge) {
    return std::make_tuple(program.isPartial(edge.sharding),
                           order.lookup({edge.buffer, edge.sharding}), edge.to);
  };
  llvm::sort(edges,
             [&](const Edge &a, const Edge &b) { return keyOf(a) < keyOf(b); });
}

void Transfers::addSends(Edge &edge) {
  auto found = roles.find(roleOf(edge.from));
  if (found == roles.end())
    return;
  pm::RoleOp role = found->second;
  SmallVector<pm::ActionOp> runs;
  for (auto action : role.getBody().getOps<pm::ActionOp>())
    if (action.getKind() == edge.from.getKind() &&
        static_cast<int64_t>(action.getStage()) == edge.from.getStage())
      runs.push_back(action);
  // A sum is complete behind the last run, a value of the step behind the
  // first.
  if (!runs.empty() && !isRepeated(edge))
    runs = {program.isPartial(edge.sharding) ? runs.back() : runs.front()};
  for (pm::ActionOp action : runs) {
    Operation *last = action;
    while (isa_and_nonnull<pm::SendOp>(last->getNextNode()))
      last = last->getNextNode();
    builder.setInsertionPointAfter(last);
    edge.sent.push_back(isRepeated(edge) ? action.getMicroBatch() : 0);
    pm::SendOp::create(builder, action.getLoc(), edge.buffer,
                       builder.getI64IntegerAttr(edge.to),
                       builder.getI64IntegerAttr(edge.sent.back()));
  }
}

void Transfers::addReceives(int64_t rank, pm::RoleOp role) {
  llvm::DenseSet<std::tuple<Attribute, Attribute, int64_t>> received;
  for (auto action : llvm::to_vector(role.getBody().getOps<pm::ActionOp>())) {
    pm::FragmentAttr fragment = pm::FragmentAttr::get(
        action.getContext(), action.getKind(), action.getStage());
    auto function = program.fragments.find(fragment);
    if (function == program.fragments.end())
      continue;
    builder.setInsertionPoint(action);
    for (BufferUse use : program.getReads(function->second)) {
      const Edge *edge = llvm::find_if(edges, [&](const Edge &edge) {
        return edge.buffer == use.buffer && edge.sharding == use.sharding &&
               edge.to == rank;
      });
      if (edge == edges.end())
        continue;
      // In the order of the channel: what was sent before the wanted one, too.
      for (int64_t i : edge->sent) {
        if (received.insert({use.buffer, use.sharding, i}).second)
          pm::ReceiveOp::create(builder, action.getLoc(), use.buffer,
                                builder.getI64IntegerAttr(roleOf(edge->from)),
                                builder.getI64IntegerAttr(i));
        if (isRepeated(*edge) && fragment.isPerMicroBatch() &&
            i == static_cast<int64_t>(action.getMicroBatch()))
          break;
      }
    }
  }
}

void pipemesh::addTransfers(const Program &program) {
  Transfers(program).run();
}
