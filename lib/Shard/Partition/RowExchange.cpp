//===- RowExchange.cpp - rows of a cut dimension that change owner --------===//

#include "RowExchange.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

std::optional<RowExchange>
pipemesh::planRowExchange(ArrayRef<SourceRow> rows, ArrayRef<Cut> operands,
                          const Cut &result) {
  // Larger ones are gathered.
  constexpr int64_t mostRows = int64_t(1) << 18;
  if (result.blocks * result.block > mostRows || result.block == 0 ||
      llvm::any_of(operands, [](const Cut &cut) {
        return !cut.axes.empty() && cut.block == 0;
      }))
    return std::nullopt;
  SmallVector<int64_t> starts;
  int64_t joined = 0;
  for (const Cut &cut : operands) {
    starts.push_back(joined);
    joined += cut.block;
  }
  struct Lacking {
    int64_t from, to;
    int32_t row, place;
  };
  std::vector<Lacking> lacking;
  std::vector<int32_t> taken(result.blocks * result.block, SourceRow::Zero);
  for (auto [place, row] : llvm::enumerate(rows)) {
    if (row.operand < 0) {
      taken[place] = row.operand;
      continue;
    }
    const Cut &cut = operands[row.operand];
    int64_t member = int64_t(place) / result.block;
    int64_t owner = !cut.axes.empty() ? row.row / cut.block : member;
    int32_t local = starts[row.operand] +
                    (!cut.axes.empty() ? row.row % cut.block : row.row);
    if (owner == member)
      taken[place] = local;
    else
      lacking.push_back({owner, member, local, int32_t(place)});
  }
  ExchangePlan plan(result.blocks, joined, std::move(taken));
  for (const Lacking &piece : lacking)
    plan.add(piece.from, piece.to, piece.row, piece.place);
  return plan.find();
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
    // Parts of a permute are those of the outermost dimension.
    auto swap = [&](Value value) {
      if (dim == 0 || exchange.parts == 1)
        return value;
      SmallVector<int64_t> order(BlockBuilder::typeOf(value).getRank());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[0], order[dim]);
      return b.transpose(value, order);
    };
    Value sent = takeRows(b, own, dim,
                          rowOf(b, exchange.sent, exchange.members, member));
    parts.push_back(
        swap(b.p.permute(b.loc, swap(sent), exchange.sources, axes)));
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
