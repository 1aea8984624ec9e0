//===- StridedCopy.cpp - Blocks of arrays, copied by the driver -----------===//

#include "cuda/StridedCopy.h"

#include "core/Instruction.h"

namespace pipemesh::cuda {

void addRows(std::vector<StridedCopy> &copies, const StridedPlace &from,
             const StridedPlace &to, uint64_t width, uint64_t rows) {
  if (!width || !rows)
    return;
  if (rows == 1 || (from.pitch == width && to.pitch == width))
    copies.push_back({from, to, width * rows});
  else
    copies.push_back({from, to, width, rows});
}

/// Slices are a whole number of rows apart.
static void addBox(std::vector<StridedCopy> &copies, const StridedCopy &box) {
  if (box.slices == 1 ||
      (box.from.height == box.rows && box.to.height == box.rows))
    addRows(copies, box.from, box.to, box.width, box.rows * box.slices);
  else
    copies.push_back(box);
}

void addExchanged(std::vector<StridedCopy> &copies,
                  const pmrt_all_to_all &exchange, int64_t from, int64_t to,
                  CUdeviceptr operand, CUdeviceptr packed, bool pack) {
  auto concat = static_cast<uint64_t>(
      runtime::pieceOf(exchange.concat_size, exchange.concat_piece, from));
  auto split = static_cast<uint64_t>(
      runtime::pieceOf(exchange.split_size, exchange.split_piece, to));
  if (!concat || !split || !exchange.outer || !exchange.middle || !exchange.inner)
    return;
  uint64_t size = runtime::dtypeSize(exchange.dtype);
  // The operand is outer x first x middle x second x inner; of `first` and `second`
  // one is cut here, where the part of the other member begins.
  uint64_t splitWhole = pack ? exchange.split_size : exchange.split_piece;
  uint64_t concatWhole = pack ? exchange.concat_piece : exchange.concat_size;
  uint64_t splitBegin = pack ? static_cast<uint64_t>(to) * exchange.split_piece : 0;
  uint64_t concatBegin =
      pack ? 0 : static_cast<uint64_t>(from) * exchange.concat_piece;
  bool splitFirst = exchange.split_first != 0;
  uint64_t firstWhole = splitFirst ? splitWhole : concatWhole;
  uint64_t secondWhole = splitFirst ? concatWhole : splitWhole;
  uint64_t firstBegin = splitFirst ? splitBegin : concatBegin;
  uint64_t secondBegin = splitFirst ? concatBegin : splitBegin;
  uint64_t firsts = splitFirst ? split : concat, seconds = splitFirst ? concat : split;

  uint64_t width = seconds * exchange.inner * size;
  uint64_t pitch = secondWhole * exchange.inner * size;
  CUdeviceptr begin = operand + firstBegin * exchange.middle * pitch +
                      secondBegin * exchange.inner * size;
  auto move = [&](CUdeviceptr place, CUdeviceptr inPacked, uint64_t rows,
                  uint64_t slices, uint64_t height) {
    StridedPlace strided{place, pitch, height};
    StridedPlace dense{inPacked, width, rows};
    addBox(copies, {pack ? strided : dense, pack ? dense : strided, width, rows,
                    slices});
  };
  // Rows are middle, slices first; where there is one middle, first and outer.
  if (exchange.middle == 1) {
    move(begin, packed, firsts, exchange.outer, firstWhole);
    return;
  }
  for (uint64_t outer = 0; outer < exchange.outer; ++outer)
    move(begin + outer * firstWhole * exchange.middle * pitch,
         packed + outer * firsts * exchange.middle * width, exchange.middle,
         firsts, exchange.middle);
}

} // namespace pipemesh::cuda
