//===- Factors.cpp - which axes cut which factor --------------------------===//

#include "Factors.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;

static int64_t blockOf(int64_t size, const CutTable::Cut &cut) {
  return cut.block ? cut.block : llvm::divideCeil(size, cut.pieces);
}

/// The block of a cut as it is written: 0 where it is the ceiling.
static int64_t canonical(int64_t block, int64_t size, int64_t pieces) {
  return block == static_cast<int64_t>(llvm::divideCeil(size, pieces)) ? 0
                                                                       : block;
}

//===----------------------------------------------------------------------===//
// Dimensions and factors
//===----------------------------------------------------------------------===//

/// Reads the cut of a dimension as cuts of its factors. Where the blocks consist
/// of whole elements of the major factor, that is the one that is cut. Else the
/// axes are taken one by one, as far as they divide.
void FactorChooser::readDim(const RuleInfo &rule, const RuleInfo::Dim &dim,
                            CutId id, double bytes, Candidates &candidates,
                            SmallVectorImpl<AxisSplit> *splits) {
  if (dim.factors.empty())
    return;
  auto add = [&](uint16_t factor, CutId found) {
    if (rule.rule.factors[factor].kind != FactorKind::NeedsReplication)
      candidates.push_back({factor, found, bytes});
  };
  auto sizeOf = [&](unsigned position) {
    return rule.rule.factors[dim.factors[position]].size;
  };
  const CutTable::Cut &cut = cuts[id];
  unsigned last = dim.factors.size() - 1, position = 0;
  if (cut.pieces > 1)
    while (position < last && sizeOf(position) == 1)
      ++position;
  int64_t minor = 1;
  for (unsigned other = position + 1; other <= last; ++other)
    minor *= sizeOf(other);
  if (minor == 1) {
    // Sizes of an exchanged factor may differ: each has its own blocks.
    if (cut.block && sizeOf(position) != dim.size)
      return add(dim.factors[position],
                 cuts.get(SmallVector<uint8_t, 8>(cut.axes)));
    return add(dim.factors[position], id);
  }
  int64_t block = blockOf(dim.size, cut), rest = sizeOf(position);
  if (minor > 0 && block % minor == 0) {
    SmallVector<uint8_t, 8> axes(cut.axes);
    return add(dim.factors[position],
               cuts.get(axes, canonical(block / minor, rest, cut.pieces)));
  }
  if (cut.block)
    return;
  SmallVector<uint8_t, 8> axes(cut.axes), found;
  for (uint8_t axis : axes) {
    int64_t size = cuts.sizeOf(axis);
    while (size > 1 && rest == 1 && position < last) {
      if (!found.empty())
        add(dim.factors[position], cuts.get(found));
      found.clear();
      rest = sizeOf(++position);
    }
    if (rest == 0 || rest % size != 0) {
      if (splits && rest > 1 && size % rest == 0 && position < last &&
          !(cuts.temporal() >> axis & 1) &&
          std::gcd(size / rest, minor) > 1)
        splits->push_back({axis, rest});
      break;
    }
    rest /= size;
    found.push_back(axis);
  }
  if (!found.empty())
    add(dim.factors[position], cuts.get(found));
}

CutId FactorChooser::cutOf(const RuleInfo &rule, const RuleInfo::Dim &dim,
                           ArrayRef<CutId> factors) {
  if (dim.factors.size() == 1) {
    CutId cut = factors[dim.factors[0]];
    if (cuts[cut].block && rule.rule.factors[dim.factors[0]].size != dim.size)
      return cuts.get(SmallVector<uint8_t, 8>(cuts[cut].axes));
    return cut;
  }
  // The axes of wholly cut factors, and of the one behind them.
  SmallVector<uint8_t, 8> axes;
  int64_t block = 1;
  bool isOpen = true;
  for (uint16_t factor : dim.factors) {
    int64_t size = rule.rule.factors[factor].size;
    if (!isOpen) {
      block *= size;
      continue;
    }
    const CutTable::Cut &cut = cuts[factors[factor]];
    axes.append(cut.axes.begin(), cut.axes.end());
    isOpen = cut.pieces == size && !cut.block;
    if (!isOpen)
      block = blockOf(size, cut);
  }
  if (axes.empty())
    return 0;
  int64_t pieces = 1;
  for (uint8_t axis : axes)
    pieces *= cuts.sizeOf(axis);
  return cuts.get(axes, canonical(block, dim.size, pieces));
}

/// Drops the cuts of minor factors whose major neighbours are not wholly cut, and
/// uneven ones of factors that are not the major one. Returns whether any was
/// dropped.
bool FactorChooser::dropInexpressible(const RuleInfo &rule,
                                      SmallVectorImpl<CutId> &factors) {
  bool dropped = false;
  for (const RuleInfo::Dim &dim : rule.dims) {
    if (dim.factors.size() < 2)
      continue;
    bool isWhole = true;
    int64_t major = 1;
    for (uint16_t factor : dim.factors) {
      int64_t size = rule.rule.factors[factor].size;
      const CutTable::Cut &cut = cuts[factors[factor]];
      bool isEven = !cut.block && size % cut.pieces == 0;
      bool isPlace = size == 1; // Of one element: more pieces cut nothing.
      if (factors[factor] && (!isWhole || (!isEven && major > 1) || isPlace)) {
        factors[factor] = 0;
        dropped = true;
      }
      isWhole &= cuts[factors[factor]].pieces == size &&
                 !cuts[factors[factor]].block;
      major *= size;
    }
  }
  return dropped;
}

//===----------------------------------------------------------------------===//
// Disagreement
//===----------------------------------------------------------------------===//

bool FactorChooser::agree(CutId a, CutId b) const {
  if (a == b)
    return true;
  if (cuts[a].axes.size() == cuts[b].axes.size())
    return false; // Other axes, or blocks.
  return cuts.isPrefix(a, b) || cuts.isPrefix(b, a);
}

/// The candidate that most bytes agree with, extended as far as all of these
/// agree. One in time comes before others: micro-batches cannot be gathered.
FactorChooser::Candidate
FactorChooser::best(ArrayRef<Candidate> candidates) const {
  Candidate best{candidates[0].factor, 0, -1};
  bool isBestInTime = false;
  for (const Candidate &candidate : candidates) {
    bool isInTime = cuts[candidate.cut].isTemporal;
    if (isBestInTime && !isInTime)
      continue;
    if (isInTime && !isBestInTime)
      best = {candidate.factor, 0, -1};
    isBestInTime = isInTime;
    double bytes = 0;
    for (const Candidate &other : candidates)
      if (agree(other.cut, candidate.cut))
        bytes += other.bytes;
    if (bytes > best.bytes ||
        (bytes == best.bytes &&
         cuts[candidate.cut].axes.size() > cuts[best.cut].axes.size() &&
         cuts.isPrefix(best.cut, candidate.cut)))
      best = {candidate.factor, candidate.cut, bytes};
  }
  return best;
}

/// An axis cuts one factor: the first in the order.
void FactorChooser::giveAxesOnce(ArrayRef<unsigned> order,
                                 SmallVectorImpl<CutId> &factors) {
  AxisMask used = 0;
  for (unsigned factor : order) {
    factors[factor] = cuts.withoutAxes(factors[factor], used);
    used |= cuts[factors[factor]].mask;
  }
}

/// What bringing a value from one sharding to another moves, as time on the
/// links.
double FactorChooser::priceOfMove(double bytes, ArrayRef<CutId> from,
                                  ArrayRef<CutId> to, AxisMask partial) const {
  AxisMask dropped = 0, added = 0;
  for (auto [a, b] : llvm::zip(from, to)) {
    bytes /= cuts[a].pieces;
    if (a == b)
      continue;
    ArrayRef<uint8_t> first = cuts[a].axes, second = cuts[b].axes;
    size_t common = 0;
    while (common < first.size() && common < second.size() &&
           first[common] == second[common])
      ++common;
    for (uint8_t axis : first.drop_front(common))
      dropped |= AxisMask(1) << axis;
    for (uint8_t axis : second.drop_front(common))
      added |= AxisMask(1) << axis;
  }
  double price = 0;
  auto exchange = [&](AxisMask axes, double factor) {
    double ranks = cuts.productOf(axes);
    if (ranks > 1)
      price +=
          factor * bytes * (ranks - 1) / ranks * cuts.byteCostOf(axes);
    return ranks;
  };
  bytes /= exchange(partial & added, 1);
  exchange(partial & ~added, 2);
  bytes /= cuts.productOf(added & ~dropped & ~partial);
  exchange(dropped & added, 1);
  AxisMask gathered = dropped & ~added;
  double ranks = cuts.productOf(gathered);
  if (ranks > 1)
    price += bytes * (ranks - 1) * cuts.byteCostOf(gathered);
  return price;
}

double FactorChooser::price(const RuleInfo &rule, ArrayRef<ValueView> values,
                            ArrayRef<CutId> factors) {
  double price = 0;
  SmallVector<CutId, 8> dims;
  for (auto [index, value] : llvm::enumerate(values)) {
    ArrayRef<RuleInfo::Dim> list = rule.dimsOf(index);
    dims.clear();
    for (const RuleInfo::Dim &dim : list)
      dims.push_back(cutOf(rule, dim, factors));
    ArrayRef<CutId> have(value.dims, list.size());
    if (index < rule.numOperands) {
      price += priceOfMove(value.bytes, have, dims, 0);
      continue;
    }
    AxisMask partial = 0;
    for (auto [number, factor] : llvm::enumerate(rule.rule.factors))
      if (factor.kind == FactorKind::Reduction && factors[number] &&
          !rule.resultHas(index - rule.numOperands, number))
        partial |= cuts[factors[number]].mask;
    // A result that nothing binds becomes what the op makes of it.
    bool adapts = !value.isBound &&
                  llvm::all_of(have, [](CutId cut) { return cut == 0; });
    price += priceOfMove(value.bytes, dims, adapts ? ArrayRef(dims) : have,
                         partial);
  }
  return price;
}

void FactorChooser::solve(const RuleInfo &rule, ArrayRef<ValueView> values,
                          Candidates &candidates, ArrayRef<CutId> bound,
                          SmallVectorImpl<CutId> &factors) {
  struct Choice {
    unsigned factor;
    double bytes;
    SmallVector<CutId, 4> options; ///< The best first.
  };
  SmallVector<Choice, 4> choices;
  for (unsigned factor = 0; factor < factors.size(); ++factor) {
    SmallVector<Candidate, 8> list;
    llvm::copy_if(candidates, std::back_inserter(list),
                  [&](const Candidate &other) {
                    return other.factor == factor;
                  });
    CutId from = bound.empty() ? 0 : bound[factor];
    if (from)
      llvm::erase_if(list, [&](const Candidate &other) {
        return !cuts.isPrefix(from, other.cut);
      });
    if (list.empty()) {
      if (from)
        choices.push_back({factor, 1e300, {from}});
      continue;
    }
    Candidate found = best(list);
    Choice &choice =
        choices.emplace_back(Choice{factor, from ? 1e300 : found.bytes, {}});
    choice.options.push_back(found.cut);
    for (const Candidate &other : list)
      if (cuts[other.cut].isTemporal == cuts[found.cut].isTemporal &&
          !agree(other.cut, found.cut) &&
          !llvm::is_contained(choice.options, other.cut))
        choice.options.push_back(other.cut);
  }
  // One in time, then what more bytes ask for.
  auto sortChoices = [&](SmallVectorImpl<unsigned> &order, unsigned first,
                         ArrayRef<CutId> picked) {
    SmallVector<unsigned, 4> places(choices.size());
    std::iota(places.begin(), places.end(), 0);
    auto key = [&](unsigned place) {
      return std::tuple(!cuts[picked[place]].isTemporal, place != first,
                        -choices[place].bytes, place);
    };
    llvm::sort(places,
               [&](unsigned a, unsigned b) { return key(a) < key(b); });
    order.clear();
    for (unsigned place : places)
      order.push_back(choices[place].factor);
  };
  constexpr unsigned kMostTries = 64;
  constexpr unsigned kNone = ~0u;
  SmallVector<CutId, 4> picked;
  SmallVector<unsigned, 4> digits(choices.size(), 0), order;
  SmallVector<CutId, 8> found;
  double least = 0;
  unsigned tries = 0;
  auto attempt = [&](unsigned first) {
    found.assign(factors.size(), 0);
    for (auto [choice, cut] : llvm::zip(choices, picked))
      found[choice.factor] = cut;
    sortChoices(order, first, picked);
    giveAxesOnce(order, found);
    while (rule.isMerged && dropInexpressible(rule, found)) {
    }
    double own = price(rule, values, found);
    if (tries == 0 || own < least * (1 - 1e-9)) {
      least = own;
      factors.assign(found.begin(), found.end());
    }
    ++tries;
  };
  for (bool more = true; more && tries < kMostTries;) {
    picked.clear();
    AxisMask seen = 0, twice = 0;
    for (auto [choice, digit] : llvm::zip(choices, digits)) {
      picked.push_back(choice.options[digit]);
      twice |= seen & cuts[picked.back()].mask;
      seen |= cuts[picked.back()].mask;
    }
    attempt(kNone);
    // Each of those that want one axis may come first.
    if (twice && bound.empty())
      for (unsigned place = 0; place < choices.size(); ++place)
        if (cuts[picked[place]].mask & twice)
          attempt(place);
    more = false;
    for (unsigned place = 0; place < choices.size() && !more; ++place) {
      more = ++digits[place] < choices[place].options.size();
      if (!more)
        digits[place] = 0;
    }
  }
}

void FactorChooser::choose(const RuleInfo &rule, ArrayRef<ValueView> values,
                           AxisMask forbidden, ArrayRef<CutId> bound,
                           SmallVectorImpl<CutId> &factors,
                           SmallVectorImpl<AxisSplit> *splits) {
  factors.assign(rule.rule.factors.size(), 0);
  SmallVector<AxisSplit, 2> wishes;
  Candidates candidates;
  for (auto [index, value] : llvm::enumerate(values)) {
    ArrayRef<RuleInfo::Dim> dims = rule.dimsOf(index);
    for (unsigned dim = 0; dim < dims.size(); ++dim)
      if (CutId cut = value.dims[dim])
        if (CutId allowed = cuts.withoutAxes(cut, forbidden))
          readDim(rule, dims[dim], allowed, value.bytes, candidates,
                  splits ? &wishes : nullptr);
  }
  bool agreed = bound.empty();
  for (const Candidate &candidate : candidates) {
    CutId &known = factors[candidate.factor];
    if (!agree(known, candidate.cut))
      agreed = false;
    else if (cuts[candidate.cut].axes.size() > cuts[known].axes.size())
      known = candidate.cut;
  }
  AxisMask used = 0;
  for (CutId cut : factors) {
    agreed &= !(used & cuts[cut].mask);
    used |= cuts[cut].mask;
  }
  if (!agreed) {
    factors.assign(rule.rule.factors.size(), 0);
    solve(rule, values, candidates, bound, factors);
  } else if (rule.isMerged) {
    while (dropInexpressible(rule, factors)) {
    }
  }
  if (!splits || wishes.empty())
    return;
  used = 0;
  for (CutId cut : factors)
    used |= cuts[cut].mask;
  for (const AxisSplit &wish : wishes)
    if (!(used >> wish.axis & 1))
      splits->push_back(wish);
}
