//===- RandomKernel.cpp - random bits -------------------------------------===//
//
// The generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011), a block of words after the other.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pipemesh/Dialect/StableHLO/Random.h"

using namespace mlir;
using namespace pipemesh;

using Values = SmallVector<Value>;

namespace {

class RandomEmitter {
public:
  RandomEmitter(KernelCode &code, stablehlo::RngBitGeneratorOp op)
      : code(code), builder(code.builder), loc(code.loc), op(op),
        type(cast<RankedTensorType>(op.getOutput().getType())),
        isWide(type.getElementType().getIntOrFloatBitWidth() == 64) {}

  void emit(KernelInfo &info) {
    key = state(0);
    counter = state(1);
    if (op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY)
      emitThreefry(info);
    else
      emitPhilox(info);
  }

private:
  KernelCode &code;
  OpBuilder &builder;
  Location loc;
  stablehlo::RngBitGeneratorOp op;
  RankedTensorType type;
  bool isWide;
  Value key, counter;

  Value state(int64_t word) {
    return code.loadElement(op.getInitialState(), code.index(word));
  }
  Value word(uint32_t value) {
    return arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(builder.getI32Type(), APInt(32, value)));
  }
  template <typename OpTy> Value binary(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  Value low(Value wide) {
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), wide);
  }
  Value high(Value wide) {
    return low(binary<arith::ShRUIOp>(wide, code.index(32)));
  }
  Value wide(Value narrow) {
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), narrow);
  }
  Value join(Value lowWord, Value highWord) {
    return binary<arith::OrIOp>(
        wide(lowWord),
        binary<arith::ShLIOp>(wide(highWord), code.index(32)));
  }

  /// Stores the bits as an element of the result.
  void storeBits(Value bits, Value position) {
    unsigned width = type.getElementType().getIntOrFloatBitWidth();
    Type integer = builder.getIntegerType(width);
    if (bits.getType() != integer)
      bits = arith::TruncIOp::create(builder, loc, integer, bits);
    code.store(bits,
               code.address(code.results[1], type.getElementType(), position),
               integer);
  }
  void storeIf(Value predicate, Value bits, Value position) {
    code.when(predicate, [&] { storeBits(bits, position); });
  }
  /// The first iteration writes the state that follows.
  void storeState(Value iteration, ArrayRef<Value> words) {
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, iteration, code.index(0));
    code.when(isFirst, [&] {
      for (auto [index, value] : llvm::enumerate(words))
        code.storeElement(0, builder.getI64Type(), value, code.index(index));
    });
  }

  Values threefry(Value block);
  Values philox(Value lowHalf, Value highHalf);
  void emitThreefry(KernelInfo &info);
  void emitPhilox(KernelInfo &info);
};

/// Threefry-2x32, 20 rounds.
Values RandomEmitter::threefry(Value block) {
  constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Value k0 = low(key), k1 = high(key);
  Value k2 = binary<arith::XOrIOp>(binary<arith::XOrIOp>(k0, k1),
                                   word(0x1BD11BDA));
  Value keys[] = {k0, k1, k2};
  Value a = binary<arith::AddIOp>(low(block), k0);
  Value b = binary<arith::AddIOp>(high(block), k1);
  for (unsigned i = 0; i < 5; ++i) {
    for (unsigned by : rotations[i % 2]) {
      a = binary<arith::AddIOp>(a, b);
      Value rotated =
          binary<arith::OrIOp>(binary<arith::ShLIOp>(b, word(by)),
                               binary<arith::ShRUIOp>(b, word(32 - by)));
      b = binary<arith::XOrIOp>(rotated, a);
    }
    a = binary<arith::AddIOp>(a, keys[(i + 1) % 3]);
    b = binary<arith::AddIOp>(
        binary<arith::AddIOp>(b, keys[(i + 2) % 3]), word(i + 1));
  }
  return {a, b};
}

/// Philox-4x32, 10 rounds.
Values RandomEmitter::philox(Value lowHalf, Value highHalf) {
  Value x[] = {low(lowHalf), high(lowHalf), low(highHalf), high(highHalf)};
  Value k0 = low(key), k1 = high(key);
  Value m0 = code.index(0xD2511F53), m1 = code.index(0xCD9E8D57);
  for (int round = 0; round < 10; ++round) {
    Value p0 = binary<arith::MulIOp>(wide(x[0]), m0);
    Value p1 = binary<arith::MulIOp>(wide(x[2]), m1);
    Value y0 = binary<arith::XOrIOp>(
        binary<arith::XOrIOp>(high(p1), x[1]), k0);
    Value y2 = binary<arith::XOrIOp>(
        binary<arith::XOrIOp>(high(p0), x[3]), k1);
    x[0] = y0;
    x[1] = low(p1);
    x[2] = y2;
    x[3] = low(p0);
    k0 = binary<arith::AddIOp>(k0, word(0x9E3779B9));
    k1 = binary<arith::AddIOp>(k1, word(0xBB67AE85));
  }
  return {x[0], x[1], x[2], x[3]};
}

void RandomEmitter::emitThreefry(KernelInfo &info) {
  stablehlo::ThreefrySplit split = stablehlo::getThreefrySplit(type);
  int64_t half = (split.dim + 1) / 2;
  int64_t blocks =
      isWide ? type.getNumElements() : split.outer * half * split.inner;
  info.extent = std::max<int64_t>(blocks, 1);
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    storeState(i, {key, code.add(counter, blocks)});
    if (blocks == 0)
      return Values();
    Values words = threefry(code.add(counter, i));
    if (isWide) {
      storeBits(join(words[0], words[1]), i);
      return Values();
    }
    Value row = code.divide(i, half * split.inner);
    Value place =
        code.mul(code.remainder(code.divide(i, split.inner), half), 2);
    Value column = code.remainder(i, split.inner);
    auto positionOf = [&](Value along) {
      return code.add(
          code.mul(code.add(code.mul(row, split.dim), along), split.inner),
          column);
    };
    storeBits(words[0], positionOf(place));
    Value next = code.add(place, 1);
    storeIf(code.isInside(next, split.dim), words[1], positionOf(next));
    return Values();
  });
}

void RandomEmitter::emitPhilox(KernelInfo &info) {
  int64_t size = type.getNumElements(), perBlock = isWide ? 2 : 4;
  int64_t blocks = llvm::divideCeil(size, perBlock);
  bool isShort =
      cast<RankedTensorType>(op.getInitialState().getType()).getDimSize(0) == 2;
  // Without a third word of the state the key is the counter's upper half.
  Value upper = isShort ? key : state(2);
  auto carry = [&](Value sum) {
    Value wraps = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, sum, counter);
    return code.add(upper, Value(arith::ExtUIOp::create(
                               builder, loc, builder.getI64Type(), wraps)));
  };
  info.extent = std::max<int64_t>(blocks, 1);
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Value after = code.add(counter, blocks);
    Values next{key, after};
    if (!isShort)
      next.push_back(carry(after));
    storeState(i, next);
    if (blocks == 0)
      return Values();
    Value block = code.add(counter, i);
    Values words = philox(block, carry(block));
    Value first = code.mul(i, perBlock);
    for (int64_t j = 0; j < perBlock; ++j) {
      Value position = code.add(first, j);
      Value bits = isWide ? join(words[2 * j], words[2 * j + 1]) : words[j];
      storeIf(code.isInside(position, size), bits, position);
    }
    return Values();
  });
}

} // namespace

LogicalResult
pipemesh::emitRandomKernel(KernelCode &code, stablehlo::RngBitGeneratorOp op,
                           KernelInfo &info) {
  RandomEmitter(code, op).emit(info);
  return success();
}
