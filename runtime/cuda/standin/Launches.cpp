//===- Launches.cpp - libcuda.so.1: kernels, copies, sets -----------------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <cstring>

namespace pipemesh::cuda {

using namespace standin;

namespace {

/// A box of rows that lie apart: of a copy in two or three dimensions.
struct Side {
  bool isDevice = true;
  uint64_t address = 0, pitch = 0, plane = 0;
};

struct Box {
  uint64_t width = 0, height = 1, depth = 1;
};

uint64_t rowOf(const Side &side, uint64_t row, uint64_t plane) {
  return side.address + row * side.pitch + plane * side.plane;
}

/// From the first byte to the last one.
Bytes spanOf(const Side &side, const Box &box) {
  if (!box.width || !box.height || !box.depth)
    return {side.address, 0};
  return {side.address,
          rowOf(side, box.height - 1, box.depth - 1) + box.width - side.address};
}

/// Each row, or all where they lie together.
std::vector<Bytes> rangesOf(const Side &side, const Box &box) {
  std::vector<Bytes> ranges;
  if (!side.isDevice || !box.width)
    return ranges;
  for (uint64_t plane = 0; plane < box.depth; ++plane)
    for (uint64_t row = 0; row < box.height; ++row) {
      uint64_t at = rowOf(side, row, plane);
      if (!ranges.empty() && ranges.back().first + ranges.back().second == at)
        ranges.back().second += box.width;
      else
        ranges.push_back({at, box.width});
    }
  return ranges;
}

void copyRows(const Side &to, const Side &from, const Box &box) {
  for (uint64_t plane = 0; plane < box.depth; ++plane)
    for (uint64_t row = 0; row < box.height; ++row)
      std::memmove(hostOf(rowOf(to, row, plane)), hostOf(rowOf(from, row, plane)),
                   box.width);
}

void clearRows(const Side &to, const Box &box) {
  for (uint64_t plane = 0; plane < box.depth; ++plane)
    for (uint64_t row = 0; row < box.height; ++row)
      std::memset(hostOf(rowOf(to, row, plane)), 0, box.width);
}

/// Copies at a stream's turn, or where there is none, at once.
CUresult copy(Call &call, CUstream stream, const Side &to, const Side &from,
              const Box &box, std::unique_lock<std::mutex> &lock) {
  std::vector<Bytes> reads = rangesOf(from, box), writes = rangesOf(to, box);
  call.addReads(reads).addWrites(writes);
  for (const Side *side : {&to, &from}) {
    auto [address, bytes] = spanOf(*side, box);
    if (side->isDevice && !isAllocated(address, bytes))
      return call.done(CUDA_ERROR_INVALID_VALUE);
  }
  // The host's other memory cannot be reached by the device: what is to be sent is
  // taken at once, and what is to come is waited for.
  auto isPageable = [&](const Side &side) {
    auto [address, bytes] = spanOf(side, box);
    return !side.isDevice && !isPinned(hostOf(address), bytes);
  };
  bool takesAtOnce = isPageable(from), waits = isPageable(to);
  if (takesAtOnce || waits) {
    call.add("pageable", true);
    if (stream->capture) {
      stream->capture->isInvalid = true;
      return call.done(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
  }
  bool isComputing = options().isComputing;
  std::function<CUresult()> body;
  if (isComputing && takesAtOnce) {
    auto rows = std::make_shared<std::vector<char>>(box.width * box.height * box.depth);
    Side staged{false, reinterpret_cast<uint64_t>(rows->data()), box.width,
                box.width * box.height};
    copyRows(staged, from, box);
    body = [=] {
      copyRows(to, staged, box);
      (void)rows;
      return CUDA_SUCCESS;
    };
  } else if (isComputing) {
    body = [=] {
      copyRows(to, from, box);
      return CUDA_SUCCESS;
    };
  } else if (!to.isDevice) {
    body = [=] {
      clearRows(to, box);
      return CUDA_SUCCESS;
    };
  }
  call.done();
  TaskPtr task = launch(stream, body, call.isStuck());
  return waits && !call.isStuck() ? await(lock, {task}) : CUDA_SUCCESS;
}

CUresult copyAsync(const char *name, Side to, Side from, Box box, CUstream handle) {
  Call call(name);
  std::unique_lock lock(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(kInvalidHandle);
  call.add("stream", stream->number);
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  return copy(call, stream, to, from, box, lock);
}

/// On the stream without a handle, and waited for.
CUresult copyNow(const char *name, Side to, Side from, Box box) {
  Call call(name);
  std::unique_lock lock(theLock());
  if (!call.who.context)
    return call.done(kInvalidContext);
  if (call.fails())
    return call.failed();
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  CUstream stream = streamOf(nullptr);
  if (CUresult result = copy(call, stream, to, from, box, lock))
    return result;
  return await(lock, orderOf(stream));
}

Side device(uint64_t address) { return {true, address, 0, 0}; }
Side host(const void *address) {
  return {false, reinterpret_cast<uint64_t>(address), 0, 0};
}

/// The parts that the descriptions of two and of three dimensions share.
template <typename T> Side sourceOf(const T &copy) {
  Side side;
  side.isDevice = copy.srcMemoryType == CU_MEMORYTYPE_DEVICE;
  side.address =
      (side.isDevice ? copy.srcDevice : reinterpret_cast<uint64_t>(copy.srcHost)) +
      copy.srcXInBytes + copy.srcY * copy.srcPitch;
  side.pitch = copy.srcPitch;
  return side;
}
template <typename T> Side targetOf(const T &copy) {
  Side side;
  side.isDevice = copy.dstMemoryType == CU_MEMORYTYPE_DEVICE;
  side.address =
      (side.isDevice ? copy.dstDevice : reinterpret_cast<uint64_t>(copy.dstHost)) +
      copy.dstXInBytes + copy.dstY * copy.dstPitch;
  side.pitch = copy.dstPitch;
  return side;
}

} // namespace

extern "C" {

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copyNow("cuMemcpyHtoD_v2", device(to), host(from), {bytes});
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copyNow("cuMemcpyDtoH_v2", host(to), device(from), {bytes});
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  return copyAsync("cuMemcpyHtoDAsync_v2", device(to), host(from), {bytes}, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return copyAsync("cuMemcpyDtoHAsync_v2", host(to), device(from), {bytes}, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return copyAsync("cuMemcpyDtoDAsync_v2", device(to), device(from), {bytes}, stream);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  return copyAsync("cuMemcpy2DAsync_v2", targetOf(*copy), sourceOf(*copy),
                   {copy->WidthInBytes, copy->Height}, stream);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  Side to = targetOf(*copy), from = sourceOf(*copy);
  to.plane = copy->dstPitch * copy->dstHeight;
  to.address += copy->dstZ * to.plane;
  from.plane = copy->srcPitch * copy->srcHeight;
  from.address += copy->srcZ * from.plane;
  return copyAsync("cuMemcpy3DAsync_v2", to, from,
                   {copy->WidthInBytes, copy->Height, copy->Depth}, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream handle) {
  Call call("cuMemsetD8Async");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(kInvalidHandle);
  call.add("stream", stream->number).addReads({}).addWrites({{to, bytes}});
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  if (!isAllocated(to, bytes))
    return call.done(CUDA_ERROR_INVALID_VALUE);
  call.done();
  std::function<CUresult()> body;
  if (options().isComputing)
    body = [=] {
      std::memset(hostOf(to), value, bytes);
      return CUDA_SUCCESS;
    };
  launch(stream, body, call.isStuck());
  return CUDA_SUCCESS;
}

CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr to, uint32_t value,
                                 unsigned) {
  Call call("cuStreamWriteValue32_v2");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(kInvalidHandle);
  call.add("stream", stream->number).add("address", to).add("value", value);
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  if (!isAllocated(to, 4) || to % 4)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  call.done();
  std::function<CUresult()> body;
  if (options().isComputing || isPinned(hostOf(to), 4))
    body = [=] {
      __atomic_store_n(static_cast<uint32_t *>(hostOf(to)), value, __ATOMIC_RELEASE);
      return CUDA_SUCCESS;
    };
  launch(stream, body, call.isStuck());
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream handle,
                        void **parameters, void **extra) {
  Call call("cuLaunchKernel");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream || !objects().functions.has(function))
    return call.done(kInvalidHandle);
  std::vector<uint64_t> addresses;
  for (int i = 0; parameters && i < function->parameters; ++i)
    addresses.push_back(*static_cast<const uint64_t *>(parameters[i]));
  uint64_t blocks = uint64_t(gridX) * gridY * gridZ;
  unsigned threads = blockX * blockY * blockZ;
  call.add("stream", stream->number)
      .add("kernel", function->name)
      .add("blocks", blocks)
      .add("threads", threads)
      .add("shared", sharedBytes)
      .addList("parameters", addresses);
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  if (blocks == 0 || threads == 0 || threads > 1024 || extra ||
      (function->parameters && !parameters))
    return call.done(CUDA_ERROR_INVALID_VALUE);
  std::function<CUresult()> body;
  if (options().isComputing) {
    if (blocks != gridX || threads != blockX) {
      call.done(CUDA_ERROR_INVALID_VALUE);
      complain(call.who, call.line,
               "kernel '" + function->name +
                   "': blocks and threads of more than one dimension cannot be run");
      return CUDA_ERROR_INVALID_VALUE;
    }
    pmrt::ptx::Launch launched;
    launched.blocks = gridX;
    launched.threads = threads;
    // A kernel that depends on the order of blocks and threads is wrong.
    launched.isReversed = call.who.random() & 1;
    for (uint64_t address : addresses) {
      const Allocation *found = find(address);
      launched.parameters.push_back(
          {hostOf(address), found ? found->bytes - (address - found->address) : 0});
    }
    call.done();
    body = [launched, image = function->image, name = function->name, who = &call.who,
            line = call.line] {
      pmrt::ptx::Launch own = launched;
      pmrt::ptx::Touched touched;
      if (who->trace.isOn())
        own.touched = &touched;
      std::string problem = image->emulator->run(name, own);
      if (who->trace.isOn()) {
        Object object(true);
        object.add("touched", line)
            .add("reads", touched.ranges(false))
            .add("writes", touched.ranges(true));
        who->trace.write(object.text());
      }
      if (problem.empty())
        return CUDA_SUCCESS;
      complain(*who, line, problem);
      return CUDA_ERROR_LAUNCH_FAILED;
    };
  } else {
    call.done();
  }
  launch(stream, body, call.isStuck());
  return CUDA_SUCCESS;
}

} // extern "C"

} // namespace pipemesh::cuda
