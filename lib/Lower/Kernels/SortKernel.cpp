//===- SortKernel.cpp - stable sorting of lines ---------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

using Values = SmallVector<Value>;

/// Each line by itself: a merge sort, from runs of one element up, of the places
/// of the elements in two lists of the scratch memory, of which each pass reads
/// one and writes the other.
LogicalResult pipemesh::emitSortKernel(KernelCode &code, stablehlo::SortOp op,
                                       KernelInfo &info) {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t dim = op.getDimension();
  if (dim < 0)
    dim += shape.size();
  int64_t length = shape.empty() ? 1 : shape[dim], stride = 1;
  if (!shape.empty())
    for (int64_t size : shape.drop_front(dim + 1))
      stride *= size;
  int64_t total = type.getNumElements();
  info.extent = total ? total / length : 0;
  info.scratchBytes = 2 * length * sizeof(int64_t);
  int64_t passes = length > 1 ? llvm::Log2_64_Ceil(length) : 0;
  Type i64 = code.builder.getI64Type(), i1 = code.builder.getI1Type();
  Value first = code.scratch, second = code.address(code.scratch, i64, length);
  bool failed = false;

  code.loop(code.begin, code.end, 1, {}, [&](Value line, ValueRange) {
    Value base = code.add(code.mul(code.divide(line, stride), length * stride),
                          code.remainder(line, stride));
    auto elementAt = [&](Value input, Value place) {
      return code.loadElement(input,
                              code.add(base, code.mul(place, stride)));
    };
    auto placeAt = [&](Value list, Value index) {
      return code.load(code.address(list, i64, index), i64, 1);
    };
    code.loop(code.index(0), code.index(length), 1, {},
              [&](Value i, ValueRange) {
                code.store(i, code.address(first, i64, i), i64);
                return Values();
              });
    code.loop(code.index(0), code.index(passes), 1, {}, [&](Value pass,
                                                           ValueRange) {
      OpBuilder &builder = code.builder;
      Value width =
          arith::ShLIOp::create(builder, code.loc, code.index(1), pass);
      Value odd = arith::CmpIOp::create(
          builder, code.loc, arith::CmpIPredicate::ne,
          code.remainder(pass, 2), code.index(0));
      Value from = code.select(odd, second, first);
      Value to = code.select(odd, first, second);
      Value pair = code.mul(width, 2);
      Value pairs = arith::DivUIOp::create(
          builder, code.loc, code.add(code.add(pair, length), -1), pair);
      code.loop(code.index(0), pairs, 1, {}, [&](Value number, ValueRange) {
        Value low = arith::MulIOp::create(builder, code.loc, number, pair);
        Value middle =
            code.minimum(code.add(low, width), code.index(length));
        Value high = code.minimum(code.add(low, pair), code.index(length));
        code.loop(low, high, 1, ValueRange{low, middle}, [&](Value place,
                                                             ValueRange next) {
          Value left = next[0], right = next[1];
          Value leftOpen = code.isBelow(left, middle);
          Value rightOpen = code.isBelow(right, high);
          // The right one goes first only where it stands before the left one.
          Value takesRight = code.choose(
              code.both(leftOpen, rightOpen), i1,
              [&]() -> Values {
                Value a = placeAt(from, right), b = placeAt(from, left);
                Values arguments;
                for (Value input : op.getInputs()) {
                  arguments.push_back(elementAt(input, a));
                  arguments.push_back(elementAt(input, b));
                }
                FailureOr<Values> before =
                    emitScalarRegion(code, op.getComparator(), arguments);
                if (succeeded(before))
                  return *before;
                failed = true;
                return {rightOpen};
              },
              [&]() -> Values { return {rightOpen}; })[0];
          Value taken =
              placeAt(from, code.select(takesRight, right, left));
          code.store(taken, code.address(to, i64, place), i64);
          return Values{code.select(takesRight, left, code.add(left, 1)),
                        code.select(takesRight, code.add(right, 1), right)};
        });
        return Values();
      });
      return Values();
    });
    Value order = passes % 2 ? second : first;
    code.loop(code.index(0), code.index(length), 1, {},
              [&](Value i, ValueRange) {
                Value from = placeAt(order, i);
                Value position = code.add(base, code.mul(i, stride));
                for (auto [index, input] : llvm::enumerate(op.getInputs()))
                  code.storeElement(
                      index,
                      cast<RankedTensorType>(input.getType()).getElementType(),
                      elementAt(input, from), position);
                return Values();
              });
    return Values();
  });
  return failure(failed);
}
