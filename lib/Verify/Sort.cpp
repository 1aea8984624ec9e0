//===- Sort.cpp - evaluation of sort --------------------------------------===//
//
// A merge sort whose comparisons of one level are evaluated together, one for
// each pair of runs: about 2 n evaluations of the comparator for n elements,
// however many lines are sorted.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <numeric>

using namespace mlir;

namespace pipemesh::interp {

namespace {
/// Two neighbouring runs of a line, being merged.
struct Merge {
  int64_t left, leftEnd, right, rightEnd, out;
};
} // namespace

static LogicalResult sort(LocalCall &call) {
  auto op = cast<stablehlo::SortOp>(call.op);
  ArrayRef<int64_t> shape = call.operands.front().getShape();
  int64_t dim = op.getDimension();
  if (dim < 0)
    dim += shape.size();
  int64_t length = shape.empty() ? 1 : shape[dim];
  int64_t total = call.operands.front().size();
  int64_t stride = shape.empty() ? 1 : getStrides(shape)[dim];

  // Position p of line l is element offsets[l] + p * stride.
  std::vector<int64_t> lines;
  for (int64_t i = 0; i < total; ++i)
    if (i / stride % length == 0)
      lines.push_back(i);

  // `order` holds elements, line after line.
  std::vector<int64_t> order(total), merged(total);
  for (size_t line = 0; line < lines.size(); ++line)
    for (int64_t p = 0; p < length; ++p)
      order[line * length + p] = lines[line] + p * stride;

  ScalarRegion comparator(call, op.getComparator());
  SmallVector<Tensor> arguments, results;
  for (int64_t run = 1; run < length; run *= 2) {
    std::vector<Merge> merges;
    for (size_t line = 0; line < lines.size(); ++line)
      for (int64_t first = 0; first < length; first += 2 * run) {
        int64_t base = line * length;
        int64_t middle = std::min(length, first + run);
        int64_t end = std::min(length, first + 2 * run);
        merges.push_back({base + first, base + middle, base + middle,
                          base + end, base + first});
      }
    while (true) {
      // Runs with elements on both sides need a comparison.
      std::vector<size_t> open;
      for (auto [index, merge] : llvm::enumerate(merges)) {
        if (merge.left < merge.leftEnd && merge.right < merge.rightEnd) {
          open.push_back(index);
          continue;
        }
        while (merge.left < merge.leftEnd)
          merged[merge.out++] = order[merge.left++];
        while (merge.right < merge.rightEnd)
          merged[merge.out++] = order[merge.right++];
      }
      if (open.empty())
        break;
      // The right one goes first only when it stands before the left one.
      arguments.clear();
      for (const Tensor &input : call.operands)
        for (bool right : {true, false}) {
          Tensor values(RankedTensorType::get({int64_t(open.size())},
                                              input.getElementType()));
          for (auto [to, index] : llvm::enumerate(open)) {
            int64_t from = order[right ? merges[index].right
                                       : merges[index].left];
            copyBox({}, input, {from, {}}, values, {int64_t(to), {}});
          }
          arguments.push_back(values);
        }
      if (failed(comparator.run(arguments, results)))
        return failure();
      for (auto [position, index] : llvm::enumerate(open)) {
        Merge &merge = merges[index];
        merged[merge.out++] = results[0].asInt(position)
                                  ? order[merge.right++]
                                  : order[merge.left++];
      }
    }
    std::swap(order, merged);
  }

  for (const Tensor &input : call.operands) {
    Tensor result(input.getType());
    for (size_t line = 0; line < lines.size(); ++line)
      for (int64_t p = 0; p < length; ++p)
        copyBox({}, input, {order[line * length + p], {}}, result,
                {lines[line] + p * stride, {}});
    call.results.push_back(result);
  }
  return success();
}

void registerSortOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.sort", sort);
}

} // namespace pipemesh::interp
