//===- MovedOps.cpp - ops whose elements move along dimensions ------------===//

#include "MovedOps.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// How the values of an op lie while it runs, and what of it is done before.
class MovedShardings {
public:
  MovedShardings(Partitioner &p, Operation *op, ArrayRef<Value> values,
                 const StaticMoves *moves)
      : p(p), op(op), moves(moves), rule(p.ruleOf(op)) {
    for (auto [operand, value] : llvm::zip(op->getOperands(), values)) {
      operands.push_back(p.shardingOf(operand));
      isMasked.push_back(value != p.local(operand));
    }
    for (Value result : op->getResults())
      results.push_back(p.shardingOf(result));
    int64_t rank = 0;
    if (op->getNumResults() > 0)
      rank = Partitioner::globalTypeOf(op->getResult(0)).getRank();
    done.resize(rank);
  }

  /// Takes the axes off exchanged dimensions.
  void makeWhole();
  /// What this rank holds of the operands while the op runs.
  LogicalResult bring(MovedOp &moved, ArrayRef<Value> values);

  /// Says what is gathered, and why.
  void remarkGathers();

  using Shardings = SmallVector<ValueSharding>;
  Shardings operands, results;

private:
  struct Place {
    Value value;
    ValueSharding *sharding;
    const SmallVector<DimFactors> *factors;
    bool isResult;
  };
  /// Rows that are exchanged along a dimension of the result.
  struct Exchange {
    unsigned dim;
    Axes axes;
    RowExchange rows;
  };
  SmallVector<Place> places();
  /// The dimension that is this factor and no other one, or -1.
  static int64_t findDim(const Place &place, int64_t factor);
  RankedTensorType typeOf(unsigned operand) const {
    return isNarrow ? moves->narrowType
                    : Partitioner::globalTypeOf(op->getOperand(operand));
  }
  /// How long it takes that an operand lies as it does now; all operands, and
  /// the results that the users want.
  double secondsOf(unsigned operand);
  double seconds();
  void cut(int64_t factor, const DimCut &cut);
  void makeWhole(int64_t factor);
  /// A parallel factor of every value that has `exchanged`, to be cut over
  /// `members` more ranks; -1 where there is none.
  int64_t findOther(int64_t exchanged, int64_t members);
  std::optional<Exchange> findExchange(int64_t factor);
  double secondsOf(const Exchange &exchange);
  void remark(int64_t factor, ArrayRef<StringAttr> axes);

  Partitioner &p;
  Operation *op;
  const StaticMoves *moves;
  ShardingRule rule;
  /// Operands that are not what the partitioner knows of them.
  SmallVector<bool> isMasked;
  bool isNarrow = false;
  SmallVector<Exchange, 1> exchanges;
  llvm::SmallBitVector done;
  SmallVector<std::pair<int64_t, Axes>, 1> gathered;
};
} // namespace

SmallVector<MovedShardings::Place> MovedShardings::places() {
  SmallVector<Place> list;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    list.push_back({operand, &operands[index], &rule.operands[index], false});
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    list.push_back({result, &results[index], &rule.results[index], true});
  return list;
}

int64_t MovedShardings::findDim(const Place &place, int64_t factor) {
  for (auto [dim, factors] : llvm::enumerate(*place.factors))
    if (factors.size() == 1 && factors[0] == factor)
      return dim;
  return -1;
}

int64_t MovedShardings::findOther(int64_t exchanged, int64_t members) {
  int64_t best = -1, bestSize = 0;
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Parallel)
      continue;
    bool fits = true;
    int64_t size = 0;
    for (const Place &place : places()) {
      int64_t dim = findDim(place, number);
      if (dim < 0) {
        fits &= !place.isResult && findDim(place, exchanged) < 0;
        continue;
      }
      const DimCut &old = place.sharding->dims[dim];
      Cut cut = p.cutOf(Partitioner::globalTypeOf(place.value).getDimSize(dim),
                        old);
      // Blocks within blocks are blocks of the whole where all are equal.
      size = cut.block;
      fits &= old.block == 0 && size % members == 0 && !cut.isUneven();
    }
    if (fits && size > bestSize) {
      best = number;
      bestSize = size;
    }
  }
  return best;
}

static constexpr const char *kMovesAlong =
    "its elements move along it, and no other dimension is divided by the "
    "ranks";

void MovedShardings::remark(int64_t factor, ArrayRef<StringAttr> axes) {
  for (auto [index, dims] : llvm::enumerate(rule.operands))
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (llvm::is_contained(factors, factor)) {
        InFlightDiagnostic remark = op->emitRemark("op '");
        remark << op->getName() << "': dimension " << dim << " of operand "
               << index << ", cut over ";
        llvm::interleaveComma(axes, remark, [&](StringAttr axis) {
          remark << "'" << axis.getValue() << "'";
        });
        remark << ", is gathered: " << kMovesAlong;
        return;
      }
}

double MovedShardings::secondsOf(unsigned index) {
  Value operand = op->getOperand(index);
  const ValueSharding &own = p.shardingOf(operand), &to = operands[index];
  if (own == to)
    return 0;
  return isNarrow || isMasked[index]
             ? p.secondsBetween(typeOf(index), own, to)
             : p.secondsToBring(op, operand, to);
}

double MovedShardings::seconds() {
  double sum = 0;
  for (unsigned index = 0; index < operands.size(); ++index)
    sum += secondsOf(index);
  for (auto [result, sharding] : llvm::zip(op->getResults(), results))
    sum += p.secondsToUsers(result, sharding);
  return sum;
}

void MovedShardings::cut(int64_t factor, const DimCut &cut) {
  for (const Place &place : places())
    if (int64_t dim = findDim(place, factor); dim >= 0)
      place.sharding->dims[dim] = cut;
}

std::optional<MovedShardings::Exchange>
MovedShardings::findExchange(int64_t factor) {
  if (!moves || op->getNumResults() != 1)
    return std::nullopt;
  int64_t dim = findDim(places().back(), factor);
  if (dim < 0)
    return std::nullopt;
  Cut result = p.cutOf(Partitioner::globalTypeOf(op->getResult(0)).getDimSize(dim),
                       results[0].dims[dim]);
  SmallVector<Cut> cuts;
  for (unsigned index = 0; index < moves->operands; ++index) {
    cuts.push_back(p.cutOf(
        Partitioner::globalTypeOf(op->getOperand(index)).getDimSize(dim),
        operands[index].dims[dim]));
    if (!cuts.back().axes.empty() && cuts.back().axes != result.axes)
      return std::nullopt;
  }
  if (llvm::any_of(result.axes,
                   [&](StringAttr axis) { return p.mesh.isTemporal(axis); }))
    return std::nullopt;
  auto rows = planRowExchange(moves->rows(dim), cuts, result);
  if (!rows)
    return std::nullopt;
  return Exchange{unsigned(dim), result.axes, std::move(*rows)};
}

double MovedShardings::secondsOf(const Exchange &exchange) {
  if (exchange.rows.parts == 0)
    return 0;
  // The other dimensions are those of the operand, where that is the smaller.
  RankedTensorType whole = typeOf(0);
  auto result = Partitioner::globalTypeOf(op->getResult(0));
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    shape.push_back(dim == exchange.dim
                        ? exchange.rows.mostSent
                        : p.cutOf(done[dim] ? result.getDimSize(dim)
                                            : whole.getDimSize(dim),
                                  operands[0].dims[dim])
                              .block);
  Link link = p.mesh.linkOf(exchange.axes.front());
  for (StringAttr axis : exchange.axes)
    link = slowerOf(link, p.mesh.linkOf(axis));
  return link.latency + byteSizeOf(whole.clone(shape)) / link.bandwidth;
}

void MovedShardings::makeWhole(int64_t factor) {
  DimCut given;
  Axes axes;
  int64_t members = 1;
  for (const Place &place : places())
    if (int64_t dim = findDim(place, factor); dim >= 0 && axes.empty()) {
      given = place.sharding->dims[dim];
      axes = p.cutting(given.axes);
      members = p.cutOf(1, given).blocks;
    }
  if (axes.empty())
    return;
  auto state = [&] { return std::pair(operands, results); };
  auto restore = [&](std::pair<Shardings, Shardings> state) {
    operands = std::move(state.first);
    results = std::move(state.second);
  };
  // Of equal ways the first one.
  auto before = state();
  int64_t other = findOther(factor, members);
  cut(factor, {});
  auto best = state();
  double least = seconds();
  bool isGathered = true;
  if (other >= 0) {
    for (const Place &place : places())
      if (int64_t dim = findDim(place, other); dim >= 0)
        place.sharding->dims[dim].axes.append(given.axes);
    if (double moved = seconds(); moved < least) {
      least = moved;
      best = state();
      isGathered = false;
    }
  }
  restore(std::move(before));
  if (least > 0)
    if (auto exchange = findExchange(factor))
      if (seconds() + secondsOf(*exchange) < least) {
        done.set(exchange->dim);
        exchanges.push_back(std::move(*exchange));
        return;
      }
  restore(std::move(best));
  if (isGathered)
    gathered.push_back({factor, axes});
}

void MovedShardings::makeWhole() {
  if (isSeeded(Fault::LocalMove))
    return;
  auto decide = [&] {
    done.reset();
    exchanges.clear();
    gathered.clear();
    if (isNarrow)
      done |= moves->narrowed;
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Exchanged)
        makeWhole(number);
    double sum = seconds();
    for (const Exchange &exchange : exchanges)
      sum += secondsOf(exchange);
    return sum;
  };
  Shardings operandsBefore = operands, resultsBefore = results;
  double whole = decide();
  if (!moves || !moves->narrow || whole == 0)
    return;
  // Less moves of the narrow operand, but the whole one may be there already.
  auto restore = [&] {
    operands = operandsBefore;
    results = resultsBefore;
  };
  restore();
  isNarrow = true;
  if (decide() <= whole)
    return;
  restore();
  isNarrow = false;
  decide();
}

void MovedShardings::remarkGathers() {
  for (const auto &[factor, axes] : gathered)
    for (unsigned index = 0; index < operands.size(); ++index)
      if (operands[index] != p.shardingOf(op->getOperand(index)) &&
          secondsOf(index) > 0) {
        remark(factor, axes);
        break;
      }
}

LogicalResult MovedShardings::bring(MovedOp &moved, ArrayRef<Value> values) {
  for (auto [index, original] : llvm::enumerate(op->getOperands())) {
    const ValueSharding &own = p.shardingOf(original), &to = operands[index];
    Value value = isNarrow ? moves->narrow : values[index];
    if (own != to)
      value = isNarrow || isMasked[index]
                  ? p.reshard(op, value, typeOf(index), own, to)
                  : p.bring(op, original, to);
    if (!value)
      return failure();
    moved.operands.push_back(value);
    moved.shardings.push_back(to);
  }
  moved.done = done;
  BlockBuilder b(p, op->getLoc());
  for (const Exchange &exchange : exchanges) {
    Value made = exchangeRows(
        b, ArrayRef(moved.operands).take_front(moves->operands), moves->fill,
        exchange.dim, exchange.rows, exchange.axes);
    moved.operands.erase(moved.operands.begin() + 1,
                         moved.operands.begin() + moves->operands);
    moved.operands[0] = made;
  }
  for (auto [result, sharding] : llvm::zip(op->getResults(), results))
    moved.types.push_back(
        p.localTypeOf(Partitioner::globalTypeOf(result), sharding));
  return success();
}

LogicalResult pipemesh::convertMoved(Partitioner &p, Operation *op,
                                     SmallVector<Value> operands,
                                     BuildMoved build,
                                     const StaticMoves *moves) {
  MovedShardings shardings(p, op, operands, moves);
  p.why = kMovesAlong;
  shardings.makeWhole();
  shardings.remarkGathers();
  MovedOp moved;
  if (failed(shardings.bring(moved, operands)))
    return failure();
  SmallVector<Value> results = build(moved);
  for (auto [value, original, sharding] :
       llvm::zip(results, op->getResults(), shardings.results)) {
    const ValueSharding &wanted = p.shardingOf(original);
    if (wanted != sharding) {
      p.keep(original, sharding, value);
      if (!Partitioner::isReadAsItIs(original))
        continue;
      value = p.reshard(op, value, Partitioner::globalTypeOf(original),
                        sharding, wanted);
    }
    if (!value)
      return failure();
    p.define(original, value);
  }
  return success();
}

LogicalResult pipemesh::convertMovedByCopy(Partitioner &p, Operation *op) {
  return convertMoved(p, op, p.locals(op->getOperands()),
                      [&](const MovedOp &moved) {
                        return SmallVector<Value>(
                            p.copy(op, moved.operands, moved.types)
                                ->getResults());
                      });
}

//===----------------------------------------------------------------------===//
// Reverse, concatenate, pad
//===----------------------------------------------------------------------===//

static LogicalResult convertReverse(Partitioner &p, stablehlo::ReverseOp op) {
  StaticMoves moves;
  moves.operands = 1;
  auto rows = [&](unsigned dim) {
    std::vector<SourceRow> list;
    int64_t size = Partitioner::globalTypeOf(op.getResult()).getDimSize(dim);
    for (int64_t row = size; row-- > 0;)
      list.push_back({0, row});
    return list;
  };
  moves.rows = rows;
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        SmallVector<int64_t> rest;
        for (int64_t dim : op.getDimensions())
          if (!moved.done[dim])
            rest.push_back(dim);
        if (rest.empty())
          return {moved.operands[0]};
        auto made = cast<stablehlo::ReverseOp>(
            p.copy(op, moved.operands, moved.types));
        made.setDimensions(rest);
        return {made.getResult()};
      },
      &moves);
}

static LogicalResult convertConcatenate(Partitioner &p,
                                        stablehlo::ConcatenateOp op) {
  StaticMoves moves;
  moves.operands = op->getNumOperands();
  auto rows = [&](unsigned dim) {
    std::vector<SourceRow> list;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      for (int64_t row = 0,
                   size = Partitioner::globalTypeOf(operand).getDimSize(dim);
           row < size; ++row)
        list.push_back({int32_t(index), row});
    return list;
  };
  moves.rows = rows;
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        if (moved.done[op.getDimension()])
          return {moved.operands[0]};
        return SmallVector<Value>(
            p.copy(op, moved.operands, moved.types)->getResults());
      },
      &moves);
}

static LogicalResult convertPad(Partitioner &p, stablehlo::PadOp op) {
  StaticMoves moves;
  moves.operands = 1;
  moves.fill = p.local(op.getPaddingValue());
  auto rows = [&](unsigned dim) {
    std::vector<SourceRow> list(
        Partitioner::globalTypeOf(op.getResult()).getDimSize(dim),
        {SourceRow::Fill, 0});
    int64_t low = op.getEdgePaddingLow()[dim],
            step = op.getInteriorPadding()[dim] + 1;
    for (int64_t row = 0,
                 size = Partitioner::globalTypeOf(op.getOperand())
                            .getDimSize(dim);
         row < size; ++row)
      if (int64_t place = low + row * step;
          place >= 0 && place < int64_t(list.size()))
        list[place] = {0, row};
    return list;
  };
  moves.rows = rows;
  return convertMoved(
      p, op, p.locals(op->getOperands()),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        SmallVector<int64_t> low(op.getEdgePaddingLow()),
            high(op.getEdgePaddingHigh()), between(op.getInteriorPadding());
        for (int dim : moved.done.set_bits())
          low[dim] = high[dim] = between[dim] = 0;
        if (moved.done.all())
          return {moved.operands[0]};
        auto made =
            cast<stablehlo::PadOp>(p.copy(op, moved.operands, moved.types));
        made.setEdgePaddingLow(low);
        made.setEdgePaddingHigh(high);
        made.setInteriorPadding(between);
        return {made.getResult()};
      },
      &moves);
}

void pipemesh::registerMovedHandlers(OpHandlers &handlers) {
  handlers.add<stablehlo::ReverseOp, convertReverse>();
  handlers.add<stablehlo::ConcatenateOp, convertConcatenate>();
  handlers.add<stablehlo::PadOp, convertPad>();
  handlers.add<stablehlo::SortOp, convertMovedByCopy>();
}
