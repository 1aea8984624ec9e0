//===- Random.cpp - evaluation of rng_bit_generator -----------------------===//
//
// The generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011), and the order in which XLA lays out their words.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/Random.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <array>

using namespace mlir;

namespace pipemesh::interp {

static uint32_t rotate(uint32_t x, unsigned by) {
  return (x << by) | (x >> (32 - by));
}

/// Threefry-2x32, 20 rounds.
static std::array<uint32_t, 2> threefry(uint64_t key, uint64_t counter) {
  const uint32_t keys[3] = {uint32_t(key), uint32_t(key >> 32),
                            uint32_t(key) ^ uint32_t(key >> 32) ^ 0x1BD11BDA};
  constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t a = uint32_t(counter) + keys[0];
  uint32_t b = uint32_t(counter >> 32) + keys[1];
  for (unsigned i = 0; i < 5; ++i) {
    for (unsigned by : rotations[i % 2]) {
      a += b;
      b = rotate(b, by) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  return {a, b};
}

/// Philox-4x32, 10 rounds.
static std::array<uint32_t, 4> philox(uint64_t key, uint64_t low,
                                      uint64_t high) {
  std::array<uint32_t, 4> x = {uint32_t(low), uint32_t(low >> 32),
                               uint32_t(high), uint32_t(high >> 32)};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * x[0];
    uint64_t p1 = uint64_t(0xCD9E8D57) * x[2];
    x = {uint32_t(p1 >> 32) ^ x[1] ^ k0, uint32_t(p1),
         uint32_t(p0 >> 32) ^ x[3] ^ k1, uint32_t(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

/// Sets an element from its bits.
static void setBits(Tensor &x, int64_t index, uint64_t bits) {
  if (!x.isFloat()) {
    x.ints()[index] =
        IntegerFormat::get(x.getElementType()).wrap(int64_t(bits));
    return;
  }
  auto type = cast<FloatType>(x.getElementType());
  APFloat value(type.getFloatSemantics(),
                APInt(type.getWidth(), bits, /*isSigned=*/false,
                      /*implicitTrunc=*/true));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  x.floats()[index] = value.convertToDouble();
}

static LogicalResult rngBitGenerator(LocalCall &call) {
  auto op = cast<stablehlo::RngBitGeneratorOp>(call.op);
  const Tensor &state = call.operands[0];
  Tensor next = state.clone(), result(call.getResultType(1));
  uint64_t key = state.asInt(0), counter = state.asInt(1);
  bool wide = result.getElementType().getIntOrFloatBitWidth() == 64;
  int64_t size = result.size();

  if (op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY) {
    if (wide) {
      for (int64_t i = 0; i < size; ++i) {
        auto [a, b] = threefry(key, counter + i);
        setBits(result, i, a | uint64_t(b) << 32);
      }
      next.ints()[1] = int64_t(counter + size);
    } else {
      // Both words of a block are neighbours along the dimension that is cut in
      // halves.
      auto [outer, dim, inner] = stablehlo::getThreefrySplit(result.getType());
      int64_t half = (dim + 1) / 2;
      for (int64_t i = 0, e = outer * half * inner; i < e; ++i) {
        auto words = threefry(key, counter + i);
        int64_t row = i / (half * inner), place = i / inner % half;
        for (int64_t word : {0, 1})
          if (2 * place + word < dim)
            setBits(result,
                    (row * dim + 2 * place + word) * inner + i % inner,
                    words[word]);
      }
      next.ints()[1] = int64_t(counter + outer * half * inner);
    }
  } else {
    // Four words of 32 bits from each 128-bit counter; without a third word of
    // the state the key is its upper half.
    bool isShort = state.size() == 2;
    uint64_t high = isShort ? key : uint64_t(state.asInt(2));
    int64_t perBlock = wide ? 2 : 4;
    int64_t blocks = (size + perBlock - 1) / perBlock;
    for (int64_t i = 0; i < blocks; ++i) {
      uint64_t low = counter + uint64_t(i);
      auto words = philox(key, low, high + (low < counter));
      for (int64_t j = 0; j < perBlock && i * perBlock + j < size; ++j)
        setBits(result, i * perBlock + j,
                wide ? words[2 * j] | uint64_t(words[2 * j + 1]) << 32
                     : words[j]);
    }
    next.ints()[1] = int64_t(counter + uint64_t(blocks));
    if (!isShort)
      next.ints()[2] =
          int64_t(high + (counter + uint64_t(blocks) < counter));
  }
  call.results.push_back(next);
  call.results.push_back(result);
  return success();
}

void registerRandomOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.rng_bit_generator", rngBitGenerator);
}

} // namespace pipemesh::interp
