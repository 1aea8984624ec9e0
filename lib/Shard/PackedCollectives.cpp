//===- PackedCollectives.cpp - several blocks in one exchange -------------===//

#include "PackedCollectives.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

static int64_t countRanks(ArrayAttr axes, pm::MeshOp mesh) {
  int64_t ranks = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    ranks *= mesh.lookupAxis(axis.getValue()).getSize();
  return ranks;
}

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return TensorBuilder::shapeOf(value);
}

/// The first dimension becomes dimension `dim`.
static Value moveFirstTo(TensorBuilder &build, Value value, int64_t dim) {
  if (dim == 0)
    return value;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size()));
  std::rotate(dims.begin(), dims.begin() + 1, dims.begin() + dim + 1);
  return build.transpose(value, dims);
}

/// Dimension `dim` becomes the first.
static Value moveToFirst(TensorBuilder &build, Value value, int64_t dim) {
  if (dim == 0)
    return value;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size()));
  std::rotate(dims.begin(), dims.begin() + dim, dims.begin() + dim + 1);
  return build.transpose(value, dims);
}

SmallVector<Value> pipemesh::packGathers(OpBuilder &builder, Location loc,
                                         ArrayRef<Operation *> members,
                                         pm::MeshOp mesh) {
  TensorBuilder build(builder, loc);
  auto last = cast<pm::AllGatherOp>(members.back());
  int64_t ranks = countRanks(last.getAxes(), mesh), total = 0;
  SmallVector<Value> rows;
  for (Operation *member : members) {
    Value input = member->getOperand(0);
    int64_t size = countElements(shapeOf(input));
    rows.push_back(build.reshape(input, {1, size}));
    total += size;
  }
  Value row = build.concat(rows, /*dim=*/1);
  auto type = TensorBuilder::typeOf(row).clone({ranks, total});
  auto gathered = pm::AllGatherOp::create(
      builder, loc, type, row, builder.getI64IntegerAttr(0), last.getAxesAttr(),
      last.getMeshAttr());
  SmallVector<Value> results;
  int64_t start = 0;
  for (Operation *member : members) {
    auto gather = cast<pm::AllGatherOp>(member);
    int64_t dim = gather.getDim();
    SmallVector<int64_t> stack(shapeOf(gather.getInput()));
    int64_t size = countElements(stack), block = stack[dim];
    stack.insert(stack.begin(), ranks);
    Value part = build.slice(gathered, /*dim=*/1, start, start + size);
    part = moveFirstTo(build, build.reshape(part, stack), dim);
    SmallVector<int64_t> whole(shapeOf(gather.getInput()));
    whole[dim] = ranks * block;
    part = build.reshape(part, whole);
    // Behind the end of the last blocks is padding.
    int64_t used = shapeOf(gather.getResult())[dim];
    results.push_back(used == whole[dim] ? part
                                         : build.slice(part, dim, 0, used));
    start += size;
  }
  return results;
}

SmallVector<Value> pipemesh::packScatters(OpBuilder &builder, Location loc,
                                          ArrayRef<Operation *> members,
                                          pm::MeshOp mesh) {
  TensorBuilder build(builder, loc);
  auto last = cast<pm::ReduceScatterOp>(members.back());
  int64_t ranks = countRanks(last.getAxes(), mesh), total = 0;
  SmallVector<Value> columns;
  for (Operation *member : members) {
    auto scatter = cast<pm::ReduceScatterOp>(member);
    Value input = scatter.getInput();
    int64_t dim = scatter.getDim();
    SmallVector<int64_t> stack(shapeOf(scatter.getResult()));
    int64_t size = countElements(stack), block = stack[dim];
    if (int64_t missing = ranks * block - shapeOf(input)[dim]) {
      SmallVector<int64_t> padding(shapeOf(input));
      padding[dim] = missing;
      auto type = TensorBuilder::typeOf(input).clone(padding);
      input = build.concat({input, build.splat(0, type)}, dim);
    }
    stack.insert(stack.begin() + dim, ranks);
    input = moveToFirst(build, build.reshape(input, stack), dim);
    columns.push_back(build.reshape(input, {ranks, size}));
    total += size;
  }
  Value rows = build.concat(columns, /*dim=*/1);
  auto type = TensorBuilder::typeOf(rows).clone({1, total});
  auto scattered = pm::ReduceScatterOp::create(
      builder, loc, type, rows, last.getKindAttr(),
      builder.getI64IntegerAttr(0), last.getAxesAttr(), last.getMeshAttr());
  SmallVector<Value> results;
  int64_t start = 0;
  for (Operation *member : members) {
    ArrayRef<int64_t> shape = shapeOf(member->getResult(0));
    int64_t size = countElements(shape);
    results.push_back(build.reshape(
        build.slice(scattered, /*dim=*/1, start, start + size), shape));
    start += size;
  }
  return results;
}
