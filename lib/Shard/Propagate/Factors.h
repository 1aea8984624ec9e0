//===- Factors.h - which axes cut which factor ------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_FACTORS_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_FACTORS_H

#include "Cuts.h"
#include "Rules.h"

namespace pipemesh {

/// A value of an op as `chooseFactors` sees it.
struct ValueView {
  const CutId *dims;
  double bytes;
  /// Given by an annotation: it does not adapt.
  bool isBound;
};

/// An axis that an op could use if it were two: the part of size `major`, and
/// what is left of it.
struct AxisSplit {
  unsigned axis;
  int64_t major;
};

/// Chooses the cut of each factor from those of the dimensions of the op's
/// operands and results. Where they disagree, or one axis is wanted by two
/// factors, one in time wins, then the choice that moves the fewest bytes (over
/// links of their cost), then that of the values with the most bytes, then the
/// first. A cut that a value could not express (of the minor factor of a merged
/// dimension whose major one is not wholly cut, of pieces that are not equal
/// anywhere but in the major factor, or of unequal micro-batches) is dropped.
///
/// Axes of `forbidden` cut nothing. Factors keep the cuts of `bound`, if it is
/// not empty, and are only extended. Axes that would have to be split are
/// appended to `splits`, if given.
class FactorChooser {
public:
  explicit FactorChooser(CutTable &cuts) : cuts(cuts) {}

  /// `values` are the operands, then the results.
  void choose(const RuleInfo &rule, llvm::ArrayRef<ValueView> values,
              AxisMask forbidden, llvm::ArrayRef<CutId> bound,
              llvm::SmallVectorImpl<CutId> &factors,
              llvm::SmallVectorImpl<AxisSplit> *splits = nullptr);

  /// The cut of a dimension whose factors are cut like this.
  CutId cutOf(const RuleInfo &rule, const RuleInfo::Dim &dim,
              llvm::ArrayRef<CutId> factors);

private:
  struct Candidate {
    uint16_t factor;
    CutId cut;
    double bytes;
  };
  using Candidates = llvm::SmallVector<Candidate, 16>;

  void readDim(const RuleInfo &rule, const RuleInfo::Dim &dim, CutId cut,
               double bytes, Candidates &candidates,
               llvm::SmallVectorImpl<AxisSplit> *splits);
  bool agree(CutId a, CutId b) const;
  Candidate best(llvm::ArrayRef<Candidate> candidates) const;
  void solve(const RuleInfo &rule, llvm::ArrayRef<ValueView> values,
             Candidates &candidates, llvm::ArrayRef<CutId> bound,
             llvm::SmallVectorImpl<CutId> &factors);
  void giveAxesOnce(llvm::ArrayRef<unsigned> order,
                    llvm::SmallVectorImpl<CutId> &factors);
  bool dropInexpressible(const RuleInfo &rule,
                         llvm::SmallVectorImpl<CutId> &factors);
  double price(const RuleInfo &rule, llvm::ArrayRef<ValueView> values,
               llvm::ArrayRef<CutId> factors);
  double priceOfMove(double bytes, llvm::ArrayRef<CutId> from,
                     llvm::ArrayRef<CutId> to, AxisMask partial) const;

  CutTable &cuts;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_FACTORS_H
