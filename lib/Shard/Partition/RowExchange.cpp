//===- RowExchange.cpp - rows of a cut dimension that change owner --------===//

#include "RowExchange.h"
#include "pipemesh/Shard/SeededFaults.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

/// A table is a constant of the program.
static constexpr int64_t kMostEntries = int64_t(1) << 18;
static constexpr int64_t kMostParts = 8;

namespace {
/// Plans an exchange: first who lacks what, then in which permute it goes.
class Planner {
public:
  Planner(ArrayRef<SourceRow> rows, ArrayRef<Cut> operands, const Cut &result)
      : rows(rows), operands(operands), result(result) {
    for (const Cut &cut : operands) {
      starts.push_back(joined);
      joined += cut.block;
    }
  }

  std::optional<RowExchange> run();

private:
  struct Chunk {
    int64_t from, to;
    /// The rows of `lacking[{from, to}]`.
    size_t begin, end;
    int64_t part = -1;
  };
  /// Who has the row, or the member itself, and where among its operands.
  std::pair<int64_t, int32_t> find(int64_t member, const SourceRow &row) const;
  void findLacking();
  std::optional<RowExchange> divide(int64_t unit);

  ArrayRef<SourceRow> rows;
  ArrayRef<Cut> operands;
  const Cut &result;
  SmallVector<int64_t> starts;
  int64_t joined = 0;
  /// For a sender and a receiver: rows of the sender's operands, and of the
  /// receiver's result.
  std::map<std::pair<int64_t, int64_t>,
           std::vector<std::pair<int32_t, int32_t>>>
      lacking;
  /// As `RowExchange::taken`, without what is received.
  std::vector<int32_t> taken;
};
} // namespace

std::pair<int64_t, int32_t> Planner::find(int64_t member,
                                          const SourceRow &row) const {
  const Cut &cut = operands[row.operand];
  int64_t owner = cut.isCut() ? row.row / cut.block : member;
  int64_t local = cut.isCut() ? row.row % cut.block : row.row;
  return {owner, int32_t(starts[row.operand] + local)};
}

/// Constants are -1 and -2 until the number of received rows is known.
void Planner::findLacking() {
  taken.assign(result.blocks * result.block, SourceRow::Zero);
  for (auto [place, row] : llvm::enumerate(rows)) {
    if (row.operand < 0) {
      taken[place] = row.operand;
      continue;
    }
    int64_t member = int64_t(place) / result.block;
    auto [owner, local] = find(member, row);
    if (owner == member)
      taken[place] = local;
    else
      lacking[{owner, member}].push_back({local, int32_t(place)});
  }
}

/// Pieces of `unit` rows, each in the first permute in which its sender and its
/// receiver are free.
std::optional<RowExchange> Planner::divide(int64_t unit) {
  RowExchange exchange;
  exchange.members = result.blocks;
  exchange.unit = unit;
  std::vector<Chunk> chunks;
  std::vector<int64_t> sends(exchange.members, 0);
  for (const auto &[pair, list] : lacking)
    for (size_t begin = 0; begin < list.size(); begin += unit) {
      chunks.push_back({pair.first, pair.second, begin,
                        std::min(begin + unit, list.size())});
      ++sends[pair.first];
    }
  // Pairs of one distance fit into one permute.
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
    if (chunk.part == int64_t(busy.size()))
      busy.push_back({std::vector<bool>(exchange.members),
                      std::vector<bool>(exchange.members)});
    busy[chunk.part].first[chunk.from] = true;
    busy[chunk.part].second[chunk.to] = true;
  }
  exchange.parts = busy.size();
  if (exchange.parts > kMostParts ||
      exchange.members * exchange.parts * unit > kMostEntries)
    return std::nullopt;
  exchange.mostSent = *llvm::max_element(sends) * unit;
  exchange.sources.assign(exchange.parts * exchange.members, -1);
  exchange.sent.assign(exchange.members * exchange.parts * unit, 0);
  exchange.taken = taken;
  int32_t received = exchange.parts * unit;
  for (int32_t &place : exchange.taken)
    if (place < 0)
      place = joined + received + (-1 - place);
  for (const Chunk &chunk : chunks) {
    exchange.sources[chunk.part * exchange.members + chunk.to] = chunk.from;
    const auto &list = lacking[{chunk.from, chunk.to}];
    for (size_t i = chunk.begin; i < chunk.end; ++i) {
      int64_t place = chunk.part * unit + (i - chunk.begin);
      exchange.sent[chunk.from * received + place] = list[i].first;
      exchange.taken[list[i].second] = joined + place;
    }
  }
  return exchange;
}

std::optional<RowExchange> Planner::run() {
  if (result.blocks * result.block > kMostEntries || result.block == 0 ||
      llvm::any_of(operands, [](const Cut &cut) {
        return cut.isCut() && cut.block == 0;
      }))
    return std::nullopt;
  findLacking();
  SmallVector<int64_t> units;
  int64_t common = 0;
  for (const auto &[pair, list] : lacking) {
    common = std::gcd(common, int64_t(list.size()));
    if (!llvm::is_contained(units, list.size()))
      units.push_back(list.size());
  }
  if (lacking.empty()) {
    RowExchange exchange;
    exchange.members = result.blocks;
    exchange.taken = taken;
    for (int32_t &place : exchange.taken)
      if (place < 0)
        place = joined + (-1 - place);
    return exchange;
  }
  if (!llvm::is_contained(units, common))
    units.push_back(common);
  std::optional<RowExchange> best;
  for (int64_t unit : units)
    if (auto exchange = divide(unit))
      if (!best || std::pair(exchange->mostSent, exchange->parts) <
                       std::pair(best->mostSent, best->parts))
        best = std::move(exchange);
  return best;
}

std::optional<RowExchange>
pipemesh::planRowExchange(ArrayRef<SourceRow> rows, ArrayRef<Cut> operands,
                          const Cut &result) {
  return Planner(rows, operands, result).run();
}

//===----------------------------------------------------------------------===//
// What a rank does
//===----------------------------------------------------------------------===//

/// This member's row of a table.
static Value rowOf(BlockBuilder &b, ArrayRef<int32_t> table, int64_t members,
                   Value member) {
  int64_t width = table.size() / members;
  auto type =
      RankedTensorType::get({members, width}, b.builder.getI32Type());
  Value all = stablehlo::ConstantOp::create(
      b.builder, b.loc, type, DenseElementsAttr::get(type, table));
  if (members > 1)
    all = b.dynamicSlice(all, {member, b.constant(0)}, {1, width});
  return b.reshape(all, {width});
}

/// These rows along a dimension.
static Value takeRows(BlockBuilder &b, Value value, unsigned dim, Value rows) {
  SmallVector<int64_t> sizes(BlockBuilder::shapeOf(value)), shape = sizes,
                                                            others;
  for (int64_t other = 0, rank = sizes.size(); other < rank; ++other)
    if (other != dim)
      others.push_back(other);
  sizes[dim] = 1;
  shape[dim] = BlockBuilder::shapeOf(rows)[0];
  auto dims = stablehlo::GatherDimensionNumbersAttr::get(
      b.builder.getContext(), /*offsetDims=*/others,
      /*collapsedSliceDims=*/{dim}, /*operandBatchingDims=*/{},
      /*startIndicesBatchingDims=*/{}, /*startIndexMap=*/{dim},
      /*indexVectorDim=*/1);
  return stablehlo::GatherOp::create(
      b.builder, b.loc, BlockBuilder::typeOf(value).clone(shape), value,
      b.reshape(rows, {shape[dim], 1}), dims, sizes, /*indicesAreSorted=*/false);
}

Value pipemesh::exchangeRows(BlockBuilder &b, ValueRange operands, Value fill,
                             unsigned dim, const RowExchange &exchange,
                             const Axes &axes) {
  SmallVector<Value> parts(operands);
  Value own = parts.size() == 1 ? parts[0] : b.concat(parts, dim);
  Value member = b.p.blockIndex(b.loc, axes);
  parts = {own};
  if (exchange.parts > 0) {
    Value sent = takeRows(b, own, dim,
                          rowOf(b, exchange.sent, exchange.members, member));
    for (int64_t part = 0; part < exchange.parts; ++part) {
      Value piece = exchange.parts == 1
                        ? sent
                        : b.slice(sent, dim, part * exchange.unit,
                                  (part + 1) * exchange.unit);
      parts.push_back(b.p.permute(
          b.loc, piece,
          ArrayRef(exchange.sources)
              .slice(part * exchange.members, exchange.members),
          axes));
    }
  }
  SmallVector<int64_t> shape(BlockBuilder::shapeOf(own));
  shape[dim] = 1;
  RankedTensorType row = BlockBuilder::typeOf(own).clone(shape);
  parts.push_back(b.zeros(row));
  if (fill)
    parts.push_back(b.broadcast(fill, {}, shape));
  return takeRows(b, b.concat(parts, dim), dim,
                  rowOf(b, exchange.taken, exchange.members, member));
}
