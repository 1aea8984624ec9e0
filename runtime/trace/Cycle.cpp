//===- Cycle.cpp - A shortest cycle of a graph ----------------------------===//

#include "trace/Order.h"

#include <algorithm>

namespace pipemesh::trace {

namespace {

/// Edges by the node that they leave (or come to).
class Adjacency {
public:
  Adjacency(uint32_t nodes, const std::vector<Labelled> &edges, bool backwards)
      : first(nodes + 1), list(edges.size()) {
    for (const Labelled &edge : edges)
      ++first[(backwards ? edge.to : edge.from) + 1];
    for (uint32_t i = 0; i < nodes; ++i)
      first[i + 1] += first[i];
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (uint32_t e = 0; e < edges.size(); ++e)
      list[next[backwards ? edges[e].to : edges[e].from]++] = e;
  }
  const uint32_t *begin(uint32_t node) const {
    return list.data() + first[node];
  }
  const uint32_t *end(uint32_t node) const {
    return list.data() + first[node + 1];
  }
  uint32_t count(uint32_t node) const { return first[node + 1] - first[node]; }

private:
  std::vector<uint32_t> first, list;
};

} // namespace

std::vector<Labelled> findCycle(uint32_t nodes,
                                const std::vector<Labelled> &edges) {
  Adjacency leaves(nodes, edges, false), comes(nodes, edges, true);
  std::vector<bool> gone(nodes);
  // Nodes before all cycles, then those behind all of them.
  for (bool backwards : {false, true}) {
    const Adjacency &into = backwards ? leaves : comes;
    const Adjacency &out = backwards ? comes : leaves;
    std::vector<uint32_t> open(nodes), ready;
    for (uint32_t node = 0; node < nodes; ++node) {
      if (gone[node])
        continue;
      for (const uint32_t *e = into.begin(node); e != into.end(node); ++e)
        open[node] += !gone[backwards ? edges[*e].to : edges[*e].from];
      if (!open[node])
        ready.push_back(node);
    }
    while (!ready.empty()) {
      uint32_t node = ready.back();
      ready.pop_back();
      gone[node] = true;
      for (const uint32_t *e = out.begin(node); e != out.end(node); ++e) {
        uint32_t next = backwards ? edges[*e].from : edges[*e].to;
        if (!gone[next] && --open[next] == 0)
          ready.push_back(next);
      }
    }
  }
  std::vector<uint32_t> left;
  for (uint32_t node = 0; node < nodes; ++node)
    if (!gone[node])
      left.push_back(node);
  if (left.empty())
    return {};
  // A search from each of some nodes; the first one always finds a cycle if it
  // lies on one, and others may be shorter.
  std::vector<Labelled> best;
  std::vector<uint32_t> by(nodes), seen(nodes), queue;
  uint64_t work = 0;
  uint32_t round = 0;
  for (uint32_t start : left) {
    if (!best.empty() && work > 20'000'000)
      break;
    ++round;
    queue.assign(1, start);
    bool found = false;
    for (size_t at = 0; at < queue.size() && !found; ++at)
      for (const uint32_t *e = leaves.begin(queue[at]);
           e != leaves.end(queue[at]) && !found; ++e, ++work) {
        uint32_t next = edges[*e].to;
        if (gone[next] || (next != start && seen[next] == round))
          continue;
        seen[next] = round;
        by[next] = *e;
        found = next == start;
        queue.push_back(next);
      }
    if (!found)
      continue;
    std::vector<Labelled> cycle;
    uint32_t node = start;
    do {
      cycle.push_back(edges[by[node]]);
      node = edges[by[node]].from;
    } while (node != start);
    if (best.empty() || cycle.size() < best.size()) {
      std::reverse(cycle.begin(), cycle.end());
      best = std::move(cycle);
    }
    if (best.size() == 1)
      break;
  }
  return best;
}

} // namespace pipemesh::trace
