//===- EmbeddingKernel.cpp - rows of a table by token ids -----------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;

/// Rows of the table whose gradient one iteration makes.
static constexpr int64_t kVocabularyBlock = 512;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Calls `body` with the first column and the width of each vector, then of
/// each column behind the last whole vector.
static void forColumns(KernelCode &code, int64_t columns,
                       llvm::function_ref<void(Value, unsigned)> body) {
  int64_t whole = columns / code.vectorWidth * code.vectorWidth;
  auto run = [&](int64_t first, int64_t last, unsigned width) {
    if (first < last)
      code.loop(code.index(first), code.index(last), width, {},
                [&](Value i, ValueRange) {
                  body(i, width);
                  return SmallVector<Value>();
                });
  };
  run(0, whole, code.vectorWidth);
  run(whole, columns, 1);
}

/// The id at a position, as i64.
static Value loadId(KernelCode &code, Value ids, Value tensor, Value position) {
  Type element = typeOf(tensor).getElementType();
  Value id = code.load(code.address(ids, element, position), element, 1);
  if (id.getType().getIntOrFloatBitWidth() == 64)
    return id;
  Type i64 = code.builder.getI64Type();
  if (element.isUnsignedInteger())
    return arith::ExtUIOp::create(code.builder, code.loc, i64, id);
  return arith::ExtSIOp::create(code.builder, code.loc, i64, id);
}

static void emitLookup(KernelCode &code, pm::EmbeddingOp op, KernelInfo &info) {
  RankedTensorType table = typeOf(op.getTable());
  int64_t columns = table.getDimSize(1);
  Type element = table.getElementType();
  Value tablePointer = code.inputs.lookup(op.getTable()),
        ids = code.inputs.lookup(op.getIds());
  info.extent = typeOf(op.getIds()).getNumElements();
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Value id = loadId(code, ids, op.getIds(), i);
    Value from = code.address(tablePointer, element, code.mul(id, columns));
    Value to = code.address(code.results[0], element, code.mul(i, columns));
    forColumns(code, columns, [&](Value column, unsigned width) {
      code.store(code.load(code.address(from, element, column), element, width),
                 code.address(to, element, column), element);
    });
    return SmallVector<Value>();
  });
}

static void emitGradient(KernelCode &code, pm::EmbeddingGradOp op,
                         KernelInfo &info) {
  RankedTensorType table = typeOf(op.getResult());
  int64_t rows = table.getDimSize(0), columns = table.getDimSize(1);
  int64_t count = typeOf(op.getIds()).getNumElements();
  Type element = table.getElementType();
  Value ids = code.inputs.lookup(op.getIds()),
        grad = code.inputs.lookup(op.getGrad()), result = code.results[0];
  info.extent = llvm::divideCeil(rows, kVocabularyBlock);
  OpBuilder &builder = code.builder;
  code.loop(code.begin, code.end, 1, {}, [&](Value block, ValueRange) {
    Value first = code.mul(block, kVocabularyBlock);
    Value last =
        code.minimum(code.add(first, kVocabularyBlock), code.index(rows));
    code.loop(first, last, 1, {}, [&](Value row, ValueRange) {
      Value to = code.address(result, element, code.mul(row, columns));
      forColumns(code, columns, [&](Value column, unsigned width) {
        code.store(code.constant(getVectorType(element, width), 0),
                   code.address(to, element, column), element);
      });
      return SmallVector<Value>();
    });
    code.loop(
        code.index(0), code.index(count), 1, {}, [&](Value i, ValueRange) {
          Value id = loadId(code, ids, op.getIds(), i);
          Value above = arith::CmpIOp::create(
              builder, code.loc, arith::CmpIPredicate::sge, id, first);
          Value below = arith::CmpIOp::create(
              builder, code.loc, arith::CmpIPredicate::slt, id, last);
          Value inside = arith::AndIOp::create(builder, code.loc, above, below);
          auto branch = scf::IfOp::create(builder, code.loc, inside,
                                          /*withElseRegion=*/false);
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(branch.thenBlock());
          Value from = code.address(grad, element, code.mul(i, columns));
          Value to = code.address(result, element, code.mul(id, columns));
          forColumns(code, columns, [&](Value column, unsigned width) {
            Value place = code.address(to, element, column);
            Value sum = arith::AddFOp::create(
                builder, code.loc, code.load(place, element, width),
                code.load(code.address(from, element, column), element, width));
            code.store(sum, place, element);
          });
          return SmallVector<Value>();
        });
    return SmallVector<Value>();
  });
}

LogicalResult pipemesh::emitEmbeddingKernel(KernelCode &code, Operation *op,
                                            KernelInfo &info) {
  if (auto lookup = dyn_cast<pm::EmbeddingOp>(op))
    emitLookup(code, lookup, info);
  else
    emitGradient(code, cast<pm::EmbeddingGradOp>(op), info);
  return success();
}
