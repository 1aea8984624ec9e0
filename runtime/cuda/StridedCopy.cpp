//===- StridedCopy.cpp - Blocks of arrays, copied by the driver -----------===//

#include "cuda/StridedCopy.h"

#include "host/Collective.h"

namespace pipemesh::cuda {

void copyRows(const Libraries &libraries, const StridedPlace &from,
              const StridedPlace &to, uint64_t width, uint64_t rows, CUstream stream) {
  if (!width || !rows)
    return;
  if (rows == 1 || (from.pitch == width && to.pitch == width)) {
    libraries.check(libraries.cuMemcpyDtoDAsync_v2(to.begin, from.begin, width * rows,
                                                   stream),
                    "cuMemcpyDtoDAsync");
    return;
  }
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.begin;
  copy.srcPitch = from.pitch;
  copy.dstDevice = to.begin;
  copy.dstPitch = to.pitch;
  copy.WidthInBytes = width;
  copy.Height = rows;
  libraries.check(libraries.cuMemcpy2DAsync_v2(&copy, stream), "cuMemcpy2DAsync");
}

namespace {
/// Three loops over runs of bytes: `slices` of `rows` of `width`; slices are a whole
/// number of rows apart.
struct Box {
  uint64_t width, rows, slices;
};
struct BoxPlace {
  CUdeviceptr begin;
  uint64_t pitch, height; ///< rows between slices
};
} // namespace

static void copyBox(const Libraries &libraries, const BoxPlace &from,
                    const BoxPlace &to, const Box &box, CUstream stream) {
  if (box.slices == 1 || (from.height == box.rows && to.height == box.rows)) {
    copyRows(libraries, {from.begin, from.pitch}, {to.begin, to.pitch}, box.width,
             box.rows * box.slices, stream);
    return;
  }
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.begin;
  copy.srcPitch = from.pitch;
  copy.srcHeight = from.height;
  copy.dstDevice = to.begin;
  copy.dstPitch = to.pitch;
  copy.dstHeight = to.height;
  copy.WidthInBytes = box.width;
  copy.Height = box.rows;
  copy.Depth = box.slices;
  libraries.check(libraries.cuMemcpy3DAsync_v2(&copy, stream), "cuMemcpy3DAsync");
}

void copyExchanged(const Libraries &libraries, const pmrt_all_to_all &exchange,
                   int64_t from, int64_t to, CUdeviceptr operand, CUdeviceptr packed,
                   bool pack, CUstream stream) {
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
  auto move = [&](CUdeviceptr place, CUdeviceptr inPacked, const Box &box,
                  uint64_t height) {
    BoxPlace strided{place, pitch, height};
    BoxPlace dense{inPacked, width, box.rows};
    copyBox(libraries, pack ? strided : dense, pack ? dense : strided, box, stream);
  };
  // Rows are middle, slices first; where there is one middle, first and outer.
  if (exchange.middle == 1) {
    move(begin, packed, {width, firsts, exchange.outer}, firstWhole);
    return;
  }
  for (uint64_t outer = 0; outer < exchange.outer; ++outer)
    move(begin + outer * firstWhole * exchange.middle * pitch,
         packed + outer * firsts * exchange.middle * width,
         {width, exchange.middle, firsts}, exchange.middle);
}

} // namespace pipemesh::cuda
