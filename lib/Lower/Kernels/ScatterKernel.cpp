//===- ScatterKernel.cpp - updates joined in at indices -------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pipemesh;

using Values = SmallVector<Value>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Blocks of the result's first dimension in parallel: each copies its part of
/// the inputs and then applies, in order, those updates that fall into it.
LogicalResult pipemesh::emitScatterKernel(KernelCode &code,
                                          stablehlo::ScatterOp op,
                                          KernelInfo &info) {
  constexpr int64_t small = 1 << 14, maxBlocks = 16;
  auto numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape(),
                    updateShape = typeOf(op.getUpdates()[0]).getShape(),
                    indexShape = typeOf(op.getScatterIndices()).getShape(),
                    windowDims = numbers.getUpdateWindowDims(),
                    inserted = numbers.getInsertedWindowDims(),
                    batching = numbers.getInputBatchingDims(),
                    indexBatching = numbers.getScatterIndicesBatchingDims(),
                    map = numbers.getScatterDimsToOperandDims();
  int64_t vectorDim = numbers.getIndexVectorDim();
  int64_t total = typeOf(op.getInputs()[0]).getNumElements();
  int64_t rows = shape.empty() ? 1 : shape[0];
  int64_t rowSize = rows ? total / rows : 0;
  int64_t work = total + typeOf(op.getUpdates()[0]).getNumElements();
  int64_t blocks =
      work > small ? std::max<int64_t>(1, std::min(rows, maxBlocks)) : 1;
  int64_t blockRows = llvm::divideCeil(rows, blocks);
  info.extent = blocks;

  SmallVector<int64_t> batchShape, windowShape, windowOperandDims;
  for (int64_t d = 0, e = indexShape.size(); d < e; ++d)
    if (d != vectorDim)
      batchShape.push_back(indexShape[d]);
  for (int64_t dim : windowDims)
    windowShape.push_back(updateShape[dim]);
  for (int64_t d = 0, e = shape.size(); d < e; ++d)
    if (!llvm::is_contained(inserted, d) && !llvm::is_contained(batching, d))
      windowOperandDims.push_back(d);
  bool failed = false;

  code.loop(code.begin, code.end, 1, {}, [&](Value block, ValueRange) {
    OpBuilder &builder = code.builder;
    Value firstRow = code.mul(block, blockRows);
    Value lastRow =
        code.minimum(code.add(firstRow, blockRows), code.index(rows));
    Value begin = code.mul(firstRow, rowSize), end = code.mul(lastRow, rowSize);
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      Type element = typeOf(input).getElementType();
      Value from = code.inputs.lookup(input), to = code.results[index];
      code.loop(begin, end, 1, {}, [&](Value i, ValueRange) {
        code.store(code.load(code.address(from, element, i), element, 1),
                   code.address(to, element, i), element);
        return Values();
      });
    }
    auto isInBlock = [&](Value row) {
      Value above = arith::CmpIOp::create(
          builder, code.loc, arith::CmpIPredicate::sge, row, firstRow);
      return code.both(above, code.isBelow(row, lastRow));
    };

    code.loopOver(batchShape, {}, [&](ArrayRef<Value> batch, ValueRange) {
      // Where the window starts.
      Values start(shape.size());
      for (auto [dim, indexDim] : llvm::zip(batching, indexBatching))
        start[dim] = batch[indexDim < vectorDim ? indexDim : indexDim - 1];
      for (auto [component, dim] : llvm::enumerate(map)) {
        Values address(batch.begin(), batch.end());
        if (vectorDim < int64_t(indexShape.size()))
          address.insert(address.begin() + vectorDim, code.index(component));
        Type element = typeOf(op.getScatterIndices()).getElementType();
        start[dim] = code.toIndex(
            code.loadElement(op.getScatterIndices(),
                             code.linearize(indexShape, address)),
            element);
      }
      for (Value &value : start)
        if (!value)
          value = code.index(0);
      // What no window moves is checked once.
      Value present = arith::ConstantOp::create(builder, code.loc,
                                                builder.getBoolAttr(true));
      for (int64_t d = 0, e = shape.size(); d < e; ++d) {
        if (llvm::is_contained(windowOperandDims, d))
          continue;
        present = code.both(present, code.isInside(start[d], shape[d]));
        if (d == 0)
          present = code.both(present, isInBlock(start[d]));
      }
      code.when(present, [&] {
        code.loopOver(windowShape, {}, [&](ArrayRef<Value> window, ValueRange) {
          Values place(start);
          Value inside = arith::ConstantOp::create(builder, code.loc,
                                                   builder.getBoolAttr(true));
          for (auto [d, offset] : llvm::zip(windowOperandDims, window)) {
            place[d] = code.add(place[d], offset);
            inside = code.both(inside, code.isInside(place[d], shape[d]));
            if (d == 0)
              inside = code.both(inside, isInBlock(place[d]));
          }
          code.when(inside, [&] {
            Values updateIndex(updateShape.size());
            for (auto [dim, offset] : llvm::zip(windowDims, window))
              updateIndex[dim] = offset;
            size_t next = 0;
            for (Value &value : updateIndex)
              if (!value)
                value = batch[next++];
            Value to = code.linearize(shape, place);
            Value from = code.linearize(updateShape, updateIndex);
            Values arguments;
            for (auto [index, result] : llvm::enumerate(op.getResults())) {
              Type element = typeOf(result).getElementType();
              arguments.push_back(
                  code.load(code.address(code.results[index], element, to),
                            element, 1));
            }
            for (auto [update, result] :
                 llvm::zip(op.getUpdates(), op.getResults()))
              arguments.push_back(emitCast(
                  builder, code.loc, code.loadElement(update, from),
                  typeOf(update).getElementType(),
                  typeOf(result).getElementType()));
            FailureOr<Values> joined =
                emitScalarRegion(code, op.getUpdateComputation(), arguments);
            if (mlir::failed(joined)) {
              failed = true;
              return;
            }
            for (auto [index, value] : llvm::enumerate(*joined))
              code.storeElement(
                  index, typeOf(op.getResult(index)).getElementType(), value,
                  to);
          });
          return Values();
        });
      });
      return Values();
    });
    return Values();
  });
  return failure(failed);
}
