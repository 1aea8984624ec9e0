//===- Ranges.h - Sets of byte ranges -------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_RANGES_H
#define PIPEMESH_RUNTIME_CHECK_RANGES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pipemesh::proof {

/// Disjoint half-open ranges of bytes in order, joined where they touch.
class Ranges {
public:
  struct Range {
    uint64_t begin, end;
    bool operator==(const Range &) const = default;
  };

  bool empty() const { return list.empty(); }
  const std::vector<Range> &ranges() const { return list; }
  bool operator==(const Ranges &) const = default;
  void clear() { list.clear(); }

  void add(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return;
    auto first = std::lower_bound(
        list.begin(), list.end(), begin,
        [](const Range &range, uint64_t value) { return range.end < value; });
    auto last = first;
    for (; last != list.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    if (first == last) {
      list.insert(first, {begin, end});
      return;
    }
    *first = {begin, end};
    list.erase(first + 1, last);
  }

  void add(const Ranges &other) {
    for (const Range &range : other.list)
      add(range.begin, range.end);
  }

  void remove(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return;
    auto first = std::lower_bound(
        list.begin(), list.end(), begin,
        [](const Range &range, uint64_t value) { return range.end <= value; });
    auto last = first;
    Range left{begin, begin}, right{end, end};
    for (; last != list.end() && last->begin < end; ++last) {
      left.begin = std::min(left.begin, last->begin);
      right.end = std::max(right.end, last->end);
    }
    auto at = list.erase(first, last);
    if (right.begin < right.end)
      at = list.insert(at, right);
    if (left.begin < left.end)
      list.insert(at, left);
  }

  /// Bytes of all ranges, and of what of [begin, end) is in one.
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Range &range : list)
      sum += range.end - range.begin;
    return sum;
  }
  uint64_t bytesIn(uint64_t begin, uint64_t end) const {
    uint64_t sum = end > begin ? end - begin : 0;
    forEachGap(begin, end, [&](uint64_t from, uint64_t to) { sum -= to - from; });
    return sum;
  }

  bool covers(uint64_t begin, uint64_t end) const {
    if (begin >= end)
      return true;
    auto found = std::lower_bound(
        list.begin(), list.end(), end,
        [](const Range &range, uint64_t value) { return range.end < value; });
    return found != list.end() && found->begin <= begin;
  }

  bool covers(const Ranges &other) const {
    return std::all_of(
        other.list.begin(), other.list.end(),
        [&](const Range &range) { return covers(range.begin, range.end); });
  }

  /// Calls visit(begin, end) for what of [begin, end) is in no range.
  template <typename Visit>
  void forEachGap(uint64_t begin, uint64_t end, Visit visit) const {
    auto next = std::lower_bound(
        list.begin(), list.end(), begin,
        [](const Range &range, uint64_t value) { return range.end <= value; });
    for (; begin < end && next != list.end() && next->begin < end; ++next) {
      if (begin < next->begin)
        visit(begin, next->begin);
      begin = next->end;
    }
    if (begin < end)
      visit(begin, end);
  }

  /// Keeps what lies in both.
  void intersect(const Ranges &other) {
    std::vector<Range> common;
    auto a = list.cbegin(), b = other.list.cbegin();
    while (a != list.cend() && b != other.list.cend()) {
      uint64_t begin = std::max(a->begin, b->begin);
      uint64_t end = std::min(a->end, b->end);
      if (begin < end)
        common.push_back({begin, end});
      if (a->end <= b->end)
        ++a;
      else
        ++b;
    }
    list = std::move(common);
  }

private:
  std::vector<Range> list;
};

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_RANGES_H
