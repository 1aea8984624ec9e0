//===- Communicators.cpp - Which communicators of ranks are one -----------===//

#include "trace/Order.h"

#include <algorithm>
#include <tuple>

namespace pipemesh::trace {

uint32_t Communicator::rankOf(uint32_t member) const {
  auto found = std::find(members.begin(), members.end(), member);
  return found == members.end()
             ? none
             : static_cast<uint32_t>(found - members.begin());
}

std::string Communicators::describe(uint32_t index) const {
  const std::vector<uint32_t> &members = list[index].members;
  std::string text = members.size() == 1 ? "of rank " : "of ranks ";
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == 8 && members.size() > 10)
      return cat(text, " and ", members.size() - i, " more");
    text += cat(i == 0                    ? ""
                : i + 1 == members.size() ? " and "
                                          : ", ",
                members[i]);
  }
  return text;
}

namespace {

struct Member {
  uint32_t rank;
  int64_t key; ///< of a split; the rank of an init
  const Call *call;
};

struct Made {
  std::vector<Member> members;
  uint32_t parent = none;
  int64_t ranks = 0; ///< of an init
};

class Finder {
public:
  Finder(const std::vector<Rank> &ranks, Refusals &refusals)
      : ranks(ranks), refusals(refusals) {}
  Communicators find();

private:
  void read(uint32_t rank);
  void resolve(uint32_t index);
  uint32_t numberOf(const std::string &key) {
    auto [found, isNew] =
        byKey.try_emplace(key, static_cast<uint32_t>(made.size()));
    if (isNew)
      made.emplace_back();
    return found->second;
  }
  std::string placeOf(const Member &member) const {
    return trace::placeOf(ranks[member.rank].trace, member.rank, *member.call);
  }

  const std::vector<Rank> &ranks;
  Refusals &refusals;
  Communicators result;
  std::vector<Made> made;
  std::unordered_map<std::string, uint32_t> byKey;
  /// Ranks that split a communicator, by how manieth split it is.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Member>> splits;
};

} // namespace

void Finder::read(uint32_t rank) {
  const Trace &trace = ranks[rank].trace;
  auto &handles = result.ofRank[rank];
  std::unordered_map<uint32_t, uint32_t> splitsOf;
  for (const Call &call : trace.calls) {
    if (call.result != 0 && call.result != 7)
      continue;
    if (call.kind == Kind::CommInit) {
      uint32_t index = numberOf(cat("id ", trace.text(call)));
      made[index].members.push_back({rank, call.peer, &call});
      if (!made[index].ranks)
        made[index].ranks = call.key;
      if (made[index].ranks != call.key)
        refusals.add("collective", trace::placeOf(trace, rank, call),
                     " makes a communicator of ", call.key, " ranks, but ",
                     placeOf(made[index].members.front()), " one of ",
                     made[index].ranks, " by the same id");
      handles[call.handle] = index;
    }
    if (call.kind == Kind::CommSplit) {
      auto parent = handles.find(call.other);
      if (parent == handles.end()) {
        refusals.add("trace", trace::placeOf(trace, rank, call),
                     " splits communicator ", call.other,
                     ", which this rank does not have");
        continue;
      }
      uint32_t number = splitsOf[parent->second]++;
      splits[{parent->second, number}].push_back({rank, call.key, &call});
      if ((call.peer < 0) != (call.handle == 0)) {
        refusals.add("trace", trace::placeOf(trace, rank, call), " has colour ",
                     call.peer, " and the communicator ", call.handle);
        continue;
      }
      if (call.peer < 0)
        continue;
      uint32_t index =
          numberOf(cat("split ", parent->second, " ", number, " ", call.peer));
      made[index].parent = parent->second;
      made[index].members.push_back({rank, call.key, &call});
      handles[call.handle] = index;
    }
    if (isExchange(call.kind)) {
      if (!handles.count(call.handle)) {
        refusals.add("trace", trace::placeOf(trace, rank, call),
                     " uses communicator ", call.handle,
                     ", which this rank does not have");
        handles[call.handle] = numberOf(cat("none ", rank, " ", call.handle));
      }
    }
  }
}

void Finder::resolve(uint32_t index) {
  Made &all = made[index];
  Communicator &communicator = result.list[index];
  auto place = [&](const Member &member) {
    return all.parent == none ? 0u
                              : result.list[all.parent].rankOf(member.rank);
  };
  std::sort(all.members.begin(), all.members.end(),
            [&](const Member &a, const Member &b) {
              return std::tuple(a.key, place(a), a.rank) <
                     std::tuple(b.key, place(b), b.rank);
            });
  for (const Member &member : all.members)
    communicator.members.push_back(member.rank);
  if (all.parent != none || all.members.empty())
    return;
  for (size_t i = 0; i < all.members.size(); ++i)
    if (all.members[i].key != static_cast<int64_t>(i)) {
      refusals.add("collective", placeOf(all.members[i]), " is rank ",
                   all.members[i].key, " of a communicator of ", all.ranks,
                   " ranks, in which no one is rank ", i);
      return;
    }
  if (static_cast<int64_t>(all.members.size()) != all.ranks)
    refusals.add("collective", placeOf(all.members.front()),
                 " makes a communicator of ", all.ranks, " ranks, but ",
                 all.members.size(), " of the traces do");
}

Communicators Finder::find() {
  result.ofRank.resize(ranks.size());
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    read(rank);
  result.list.resize(made.size());
  for (uint32_t index = 0; index < made.size(); ++index)
    resolve(index);
  for (const auto &[key, members] : splits) {
    auto [parent, number] = key;
    for (uint32_t rank : result.list[parent].members)
      if (std::none_of(
              members.begin(), members.end(),
              [&](const Member &member) { return member.rank == rank; })) {
        refusals.add("collective", placeOf(members.front()), " is split ",
                     number, " of the communicator ", result.describe(parent),
                     ", which rank ", rank, " does not split then");
        break;
      }
  }
  return std::move(result);
}

Communicators findCommunicators(const std::vector<Rank> &ranks,
                                Refusals &refusals) {
  return Finder(ranks, refusals).find();
}

} // namespace pipemesh::trace
