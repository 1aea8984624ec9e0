//===- Exchange.cpp - pieces that change owner in one permute -------------===//

#include "Exchange.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <tuple>

using namespace pipemesh;

/// A table is a constant of the program.
static constexpr int64_t kMostEntries = int64_t(1) << 18;
static constexpr int64_t kMostParts = 8;

namespace {
/// Rows that go from one member to another in one part.
struct Chunk {
  int64_t from, to;
  /// Of the rows that go from the one to the other.
  size_t begin, end;
  int64_t part = -1;
};
} // namespace

/// Pieces of `unit` rows, each in the first part in which its sender and its
/// receiver are free.
std::optional<Exchange> ExchangePlan::divide(int64_t unit) const {
  Exchange exchange;
  exchange.members = members;
  exchange.unit = unit;
  std::vector<Chunk> chunks;
  std::vector<int64_t> sends(members, 0);
  for (const auto &[pair, list] : lacking)
    for (size_t begin = 0; begin < list.size(); begin += unit) {
      chunks.push_back({pair.first, pair.second, begin,
                        std::min(begin + unit, list.size())});
      ++sends[pair.first];
    }
  // Pairs of one distance fit into one part.
  llvm::sort(chunks, [&](const Chunk &a, const Chunk &b) {
    return std::tuple(a.to - a.from, a.begin, a.from) <
           std::tuple(b.to - b.from, b.begin, b.from);
  });
  std::vector<std::pair<std::vector<bool>, std::vector<bool>>> busy;
  for (Chunk &chunk : chunks) {
    for (chunk.part = 0; chunk.part < int64_t(busy.size()); ++chunk.part)
      if (!busy[chunk.part].first[chunk.from] &&
          !busy[chunk.part].second[chunk.to])
        break;
    if (chunk.part == int64_t(busy.size())) {
      if (chunk.part == kMostParts)
        return std::nullopt;
      busy.push_back({std::vector<bool>(members), std::vector<bool>(members)});
    }
    busy[chunk.part].first[chunk.from] = true;
    busy[chunk.part].second[chunk.to] = true;
  }
  exchange.parts = busy.size();
  if (members * exchange.parts * unit > kMostEntries)
    return std::nullopt;
  exchange.mostSent = *llvm::max_element(sends) * unit;
  exchange.sources.assign(exchange.parts * members, -1);
  int32_t received = exchange.parts * unit;
  exchange.sent.assign(members * received, 0);
  exchange.taken = taken;
  for (int32_t &place : exchange.taken)
    if (place < 0)
      place = rows + received + (-1 - place);
  for (const Chunk &chunk : chunks) {
    exchange.sources[chunk.part * members + chunk.to] = chunk.from;
    const auto &list = lacking.find({chunk.from, chunk.to})->second;
    for (size_t i = chunk.begin; i < chunk.end; ++i) {
      int64_t place = chunk.part * unit + (i - chunk.begin);
      exchange.sent[chunk.from * received + place] = list[i].first;
      exchange.taken[list[i].second] = rows + place;
    }
  }
  return exchange;
}

std::optional<Exchange> ExchangePlan::find() const {
  if (int64_t(taken.size()) > kMostEntries)
    return std::nullopt;
  if (lacking.empty()) {
    Exchange exchange;
    exchange.members = members;
    exchange.taken = taken;
    for (int32_t &place : exchange.taken)
      if (place < 0)
        place = rows + (-1 - place);
    return exchange;
  }
  llvm::SmallVector<int64_t> units;
  int64_t common = 0;
  for (const auto &[pair, list] : lacking) {
    common = std::gcd(common, int64_t(list.size()));
    if (!llvm::is_contained(units, list.size()))
      units.push_back(list.size());
  }
  if (!llvm::is_contained(units, common))
    units.push_back(common);
  std::optional<Exchange> best;
  for (int64_t unit : units)
    if (auto exchange = divide(unit))
      if (!best || std::pair(exchange->mostSent, exchange->parts) <
                       std::pair(best->mostSent, best->parts))
        best = std::move(exchange);
  return best;
}
