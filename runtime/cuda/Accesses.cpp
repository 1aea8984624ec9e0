//===- Accesses.cpp - Who touched which bytes last ------------------------===//

#include "cuda/Accesses.h"

#include <algorithm>

namespace pipemesh::cuda {

/// The first interval that begins at `place` or behind it, once none reaches over it.
Accesses::Map::iterator Accesses::splitAt(uint64_t place) {
  auto next = intervals.lower_bound(place);
  if (next == intervals.begin())
    return next;
  auto previous = std::prev(next);
  if (previous->second.end <= place)
    return next;
  Interval rest = previous->second;
  previous->second.end = place;
  return intervals.emplace_hint(next, place, std::move(rest));
}

void Accesses::touch(uint64_t begin, uint64_t end, bool writes,
                     const Earlier &operation, std::vector<Earlier> &before) {
  if (begin >= end)
    return;
  splitAt(end);
  auto at = splitAt(begin);
  auto note = [&](const Earlier &earlier) {
    if (earlier.stream == operation.stream &&
        earlier.operation == operation.operation)
      return;
    if (before.empty() || before.back().stream != earlier.stream ||
        before.back().operation != earlier.operation)
      before.push_back(earlier);
  };
  uint64_t place = begin;
  while (place < end) {
    if (at == intervals.end() || at->first > place) {
      uint64_t gap = at == intervals.end() ? end : std::min(end, at->first);
      at = intervals.emplace_hint(at, place, Interval{gap, false, {}, {}});
    }
    Interval &interval = at->second;
    if (interval.isWritten)
      note(interval.writer);
    if (writes) {
      for (const Earlier &reader : interval.readers)
        note(reader);
      interval.readers.clear();
      interval.isWritten = true;
      interval.writer = operation;
    } else {
      auto own = std::find_if(
          interval.readers.begin(), interval.readers.end(),
          [&](const Earlier &e) { return e.stream == operation.stream; });
      if (own == interval.readers.end())
        interval.readers.push_back(operation);
      else
        *own = operation;
    }
    place = interval.end;
    ++at;
  }
  // What one write has covered is one interval again.
  if (writes) {
    auto first = intervals.find(begin);
    first->second.end = end;
    intervals.erase(std::next(first), intervals.lower_bound(end));
  }
}

} // namespace pipemesh::cuda
