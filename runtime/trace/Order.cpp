//===- Order.cpp - One order of what ranks do with each other -------------===//

#include "trace/Order.h"

#include <algorithm>
#include <numeric>

namespace pipemesh::trace {

namespace {

struct Place {
  uint32_t rank, op;
};

/// Sets that are joined.
class Sets {
public:
  explicit Sets(uint32_t count) : parent(count) {
    std::iota(parent.begin(), parent.end(), 0);
  }
  uint32_t find(uint32_t of) {
    while (parent[of] != of)
      of = parent[of] = parent[parent[of]];
    return of;
  }
  void join(uint32_t a, uint32_t b) { parent[find(a)] = find(b); }

private:
  std::vector<uint32_t> parent;
};

class OrderCheck {
public:
  OrderCheck(const std::vector<Rank> &ranks, const Communicators &communicators,
             const Describe &describe, Refusals &refusals)
      : ranks(ranks), communicators(communicators), describe(describe),
        refusals(refusals), units(countUnits()) {}

  void run() {
    collect();
    matchCollectives();
    matchTransfers();
    if (!isMatched)
      return;
    checkLaunches();
    checkStreams();
  }

private:
  struct Transfers {
    std::vector<Place> sends, receives;
  };
  struct OfCommunicator {
    std::vector<std::vector<uint32_t>> collectives; ///< ops, by member
    std::map<std::pair<uint32_t, uint32_t>, Transfers> transfers;
  };

  uint32_t countUnits() {
    uint32_t count = 0;
    for (const Rank &rank : ranks) {
      firstUnit.push_back(count);
      count += rank.timeline.units;
    }
    return count;
  }
  const Op &opOf(const Place &place) const {
    return ranks[place.rank].timeline.ops[place.op];
  }
  const Call &callOf(const Place &place) const {
    return ranks[place.rank].trace.calls[opOf(place).call];
  }
  uint32_t unitOf(const Place &place) const {
    return firstUnit[place.rank] + opOf(place).unit;
  }
  std::string text(const Place &place) const {
    return describe(place.rank, place.op);
  }
  static std::string contentOf(const Call &call);

  void collect();
  void matchCollectives();
  bool sameGroups(const OfCommunicator &of, const Communicator &communicator,
                  uint32_t index, size_t member);
  void matchTransfers();
  void checkLaunches();
  void checkStreams();
  std::string cycleText(const std::vector<Labelled> &cycle,
                        const char *does) const;

  const std::vector<Rank> &ranks;
  const Communicators &communicators;
  const Describe &describe;
  Refusals &refusals;
  std::vector<uint32_t> firstUnit;
  Sets units;
  std::vector<OfCommunicator> of;
  bool isMatched = true;
};

} // namespace

std::string OrderCheck::contentOf(const Call &call) {
  const char *reductions[] = {"sum", "product", "max", "min", "average"};
  return cat(call.count, " of ", textOf(call.type),
             call.kind == Kind::AllReduce || call.kind == Kind::ReduceScatter
                 ? cat(", ", reductions[call.reduction])
                 : std::string());
}

void OrderCheck::collect() {
  of.resize(communicators.list.size());
  for (size_t c = 0; c < of.size(); ++c)
    of[c].collectives.resize(communicators.list[c].members.size());
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const Rank &rank = ranks[r];
    for (uint32_t o = 0; o < rank.timeline.ops.size(); ++o) {
      const Op &op = rank.timeline.ops[o];
      if (op.unit == none)
        continue;
      const Call &call = rank.trace.calls[op.call];
      uint32_t index = communicators.ofRank[r].at(call.handle);
      uint32_t own = communicators.list[index].rankOf(r);
      if (own == none) {
        isMatched = false; // has been refused
        continue;
      }
      if (!isTransfer(call.kind)) {
        of[index].collectives[own].push_back(o);
        continue;
      }
      auto members =
          static_cast<int64_t>(communicators.list[index].members.size());
      if (call.peer < 0 || call.peer >= members) {
        refusals.add("transfer", text({r, o}), " names member ", call.peer,
                     " of a communicator of ", members);
        isMatched = false;
        continue;
      }
      auto peer = static_cast<uint32_t>(call.peer);
      if (call.kind == Kind::Send)
        of[index].transfers[{own, peer}].sends.push_back({r, o});
      else
        of[index].transfers[{peer, own}].receives.push_back({r, o});
    }
  }
}

/// Whether a member launches the same collectives together as the first one.
bool OrderCheck::sameGroups(const OfCommunicator &all,
                            const Communicator &communicator, uint32_t index,
                            size_t member) {
  const auto &first = all.collectives[0], &other = all.collectives[member];
  uint32_t a = communicator.members[0], b = communicator.members[member];
  for (size_t k = 1; k < first.size(); ++k) {
    auto isTogether = [&](uint32_t rank, const std::vector<uint32_t> &list) {
      const std::vector<Op> &ops = ranks[rank].timeline.ops;
      return ops[list[k]].unit == ops[list[k - 1]].unit;
    };
    bool here = isTogether(a, first), there = isTogether(b, other);
    if (here == there)
      continue;
    Place whole = here ? Place{a, first[k]} : Place{b, other[k]};
    Place torn = here ? Place{b, other[k]} : Place{a, first[k]};
    refusals.add("collective", text(torn), " begins a group, but ", text(whole),
                 ", the same collective (number ", k, " of the communicator ",
                 communicators.describe(index),
                 "), is in one group with the one before");
    return false;
  }
  return true;
}

void OrderCheck::matchCollectives() {
  for (uint32_t c = 0; c < of.size(); ++c) {
    const Communicator &communicator = communicators.list[c];
    auto &lists = of[c].collectives;
    for (size_t m = 1; m < lists.size(); ++m) {
      uint32_t a = communicator.members[0], b = communicator.members[m];
      size_t common = std::min(lists[0].size(), lists[m].size());
      bool isSame = true;
      for (size_t k = 0; k < common && isSame; ++k) {
        Place first{a, lists[0][k]}, other{b, lists[m][k]};
        const Call &x = callOf(first), &y = callOf(other);
        isSame = x.kind == y.kind && x.count == y.count && x.type == y.type &&
                 (x.kind == Kind::AllGather || x.reduction == y.reduction);
        if (!isSame)
          refusals.add("collective", text(other), " (", contentOf(y),
                       ") is number ", k, " of the communicator ",
                       communicators.describe(c), ", but ", text(first), " (",
                       contentOf(x), ") is that of rank ", a);
      }
      if (isSame && lists[0].size() != lists[m].size()) {
        bool isFirst = lists[0].size() > common;
        Place more =
            isFirst ? Place{a, lists[0][common]} : Place{b, lists[m][common]};
        refusals.add("collective", text(more), " is number ", common,
                     " of the communicator ", communicators.describe(c),
                     ", but rank ", isFirst ? b : a, " calls only ", common);
        isSame = false;
      }
      if (!isSame || !sameGroups(of[c], communicator, c, m)) {
        isMatched = false;
        break;
      }
      for (size_t k = 0; k < common; ++k)
        units.join(unitOf({a, lists[0][k]}), unitOf({b, lists[m][k]}));
    }
  }
}

void OrderCheck::matchTransfers() {
  for (uint32_t c = 0; c < of.size(); ++c)
    for (const auto &[ends, list] : of[c].transfers) {
      uint32_t from = communicators.list[c].members[ends.first];
      uint32_t to = communicators.list[c].members[ends.second];
      size_t common = std::min(list.sends.size(), list.receives.size());
      bool isSame = true;
      for (size_t k = 0; k < common && isSame; ++k) {
        const Call &send = callOf(list.sends[k]);
        const Call &receive = callOf(list.receives[k]);
        units.join(unitOf(list.sends[k]), unitOf(list.receives[k]));
        isSame = send.count == receive.count && send.type == receive.type;
        if (!isSame)
          refusals.add("transfer", text(list.receives[k]), " takes ",
                       contentOf(receive), " from rank ", from, ", but ",
                       text(list.sends[k]), ", number ", k, " to rank ", to,
                       ", sends ", contentOf(send));
      }
      if (isSame && list.sends.size() != list.receives.size()) {
        bool isSend = list.sends.size() > common;
        Place more = isSend ? list.sends[common] : list.receives[common];
        refusals.add("transfer", text(more), " is number ", common,
                     " from rank ", from, " to rank ", to,
                     " on the communicator ", communicators.describe(c),
                     ", but rank ", isSend ? to : from,
                     isSend ? " receives only " : " sends only ", common);
        isSame = false;
      }
      isMatched &= isSame;
    }
}

/// Joins what one rank says of things that follow each other.
static std::vector<Labelled> shorten(std::vector<Labelled> cycle) {
  for (size_t i = 0; cycle.size() > 2 && i < cycle.size();) {
    size_t next = (i + 1) % cycle.size();
    if (cycle[i].rank != cycle[next].rank) {
      ++i;
      continue;
    }
    cycle[i].to = cycle[next].to;
    cycle[i].toOp = cycle[next].toOp;
    cycle.erase(cycle.begin() + static_cast<long>(next));
    i -= next < i;
  }
  return cycle;
}

std::string OrderCheck::cycleText(const std::vector<Labelled> &whole,
                                  const char *does) const {
  constexpr size_t most = 12;
  std::vector<Labelled> cycle = shorten(whole);
  std::string text;
  for (size_t i = 0; i < cycle.size() && i < most; ++i) {
    const Labelled &edge = cycle[i];
    text += cat(i ? "; " : "", this->text({edge.rank, edge.toOp}), " ", does,
                " ", this->text({edge.rank, edge.fromOp}));
  }
  if (cycle.size() > most)
    text += cat("; and ", cycle.size() - most, " more");
  return text;
}

void OrderCheck::checkLaunches() {
  std::vector<Labelled> edges;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    uint32_t last = none;
    const std::vector<Op> &ops = ranks[r].timeline.ops;
    for (uint32_t o = 0; o < ops.size(); ++o) {
      if (ops[o].unit == none)
        continue;
      if (last != none && ops[last].unit != ops[o].unit)
        edges.push_back({units.find(unitOf({r, last})),
                         units.find(unitOf({r, o})), r, last, o});
      last = o;
    }
  }
  auto count =
      firstUnit.empty() ? 0 : firstUnit.back() + ranks.back().timeline.units;
  std::vector<Labelled> cycle = findCycle(count, edges);
  if (cycle.empty())
    return;
  if (cycle.size() == 1)
    refusals.add("order", cycleText(cycle, "is launched behind"),
                 ", but other ranks launch the two as one group");
  else
    refusals.add("order",
                 "ranks launch communication in orders that do not agree: ",
                 cycleText(cycle, "is launched behind"));
}

/// A stream waits only for what was launched before on its rank. So ranks that
/// launch in one order do not wait for each other; those that do not, may.
void OrderCheck::checkStreams() {
  std::vector<uint32_t> first;
  uint32_t count = firstUnit.back() + ranks.back().timeline.units;
  for (const Rank &rank : ranks) {
    first.push_back(count);
    count += static_cast<uint32_t>(rank.timeline.ops.size());
  }
  std::vector<Labelled> edges;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const std::vector<Op> &ops = ranks[r].timeline.ops;
    auto node = [&](uint32_t o) {
      return ops[o].unit == none ? first[r] + o : units.find(unitOf({r, o}));
    };
    auto add = [&](uint32_t before, uint32_t behind) {
      if (ops[before].unit == none || ops[before].unit != ops[behind].unit)
        edges.push_back({node(before), node(behind), r, before, behind});
    };
    for (uint32_t o = 0; o < ops.size(); ++o)
      if (ops[o].before != none)
        add(ops[o].before, o);
    for (const Edge &edge : ranks[r].timeline.edges)
      add(edge.other, edge.op);
  }
  std::vector<Labelled> cycle = findCycle(count, edges);
  if (!cycle.empty())
    refusals.add("hang", "ranks wait for each other: ",
                 cycleText(cycle, "waits on its device for"));
}

void checkOrder(const std::vector<Rank> &ranks,
                const Communicators &communicators, const Describe &describe,
                Refusals &refusals) {
  if (!ranks.empty())
    OrderCheck(ranks, communicators, describe, refusals).run();
}

} // namespace pipemesh::trace
