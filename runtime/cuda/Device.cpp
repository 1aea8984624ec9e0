//===- Device.cpp - A rank's GPU: memory, streams, code -------------------===//

#include "cuda/Device.h"

#include <cstring>

namespace pipemesh::cuda {

int countDevices(const Libraries &libraries) {
  libraries.check(libraries.cuInit(0), "NVIDIA's driver does not start");
  int count = 0;
  libraries.check(libraries.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count < 1)
    fail("this bundle is for GPUs, but the driver finds none; see nvidia-smi and "
         "CUDA_VISIBLE_DEVICES, or compile with --backend=host");
  return count;
}

Device::Device(const Libraries &libraries, int ordinal) : libraries(libraries) {
  int count = countDevices(libraries);
  if (ordinal < 0 || ordinal >= count)
    fail("a rank wants GPU ", ordinal, ", but this machine has ", count);
  info.ordinal = ordinal;
  libraries.check(libraries.cuDeviceGet(&device, ordinal), "cuDeviceGet of ", ordinal);
  char text[256] = {};
  libraries.check(libraries.cuDeviceGetName(text, sizeof(text), device),
                  "cuDeviceGetName");
  info.name = text;
  libraries.check(libraries.cuDeviceGetPCIBusId(text, sizeof(text), device),
                  "cuDeviceGetPCIBusId");
  info.bus = text;
  auto attribute = [&](int number) {
    int value = 0;
    libraries.check(libraries.cuDeviceGetAttribute(&value, number, device),
                    "cuDeviceGetAttribute");
    return value;
  };
  info.processor = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                   attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  libraries.check(libraries.cuDevicePrimaryCtxRetain(&context, device),
                  "cuDevicePrimaryCtxRetain of GPU ", ordinal);
  enter();
  size_t free = 0, total = 0;
  libraries.check(libraries.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  info.freeBytes = free;
  info.totalBytes = total;
}

Device::~Device() {
  enter();
  for (CUevent event : events)
    libraries.cuEventDestroy_v2(event);
  for (CUstream stream : streams)
    libraries.cuStreamDestroy_v2(stream);
  if (module)
    libraries.cuModuleUnload(module);
  for (CUdeviceptr pointer : memory)
    libraries.cuMemFree_v2(pointer);
  for (void *pointer : hostMemory)
    libraries.cuMemFreeHost(pointer);
  libraries.cuDevicePrimaryCtxRelease_v2(device);
}

void Device::enter() const {
  libraries.check(libraries.cuCtxSetCurrent(context), "cuCtxSetCurrent of GPU ",
                  info.ordinal);
}

CUdeviceptr Device::allocate(uint64_t bytes, const char *use) {
  CUdeviceptr pointer = 0;
  CUresult result = libraries.cuMemAlloc_v2(&pointer, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    libraries.cuMemGetInfo_v2(&free, &total);
    fail("GPU ", info.ordinal, " (", info.name, ") has ", free, " of its ", total,
         " bytes free, but ", use, " takes ", bytes,
         "; use more micro-batches or more ranks, or end what else runs there");
  }
  libraries.check(result, "cuMemAlloc of ", bytes, " bytes for ", use);
  memory.push_back(pointer);
  libraries.check(libraries.cuMemsetD8Async(pointer, 0, bytes, nullptr),
                  "clearing ", use);
  libraries.check(libraries.cuStreamSynchronize(nullptr), "clearing ", use);
  return pointer;
}

std::byte *Device::allocatePinned(uint64_t bytes) {
  void *pointer = nullptr;
  libraries.check(
      libraries.cuMemHostAlloc(&pointer, bytes,
                               CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
      "cuMemHostAlloc of ", bytes, " bytes");
  hostMemory.push_back(pointer);
  std::memset(pointer, 0, bytes);
  return static_cast<std::byte *>(pointer);
}

std::atomic<uint32_t> *Device::allocateShared(uint32_t words, CUdeviceptr &place) {
  static_assert(sizeof(std::atomic<uint32_t>) == 4);
  std::byte *pointer = allocatePinned(words * sizeof(uint32_t));
  libraries.check(libraries.cuMemHostGetDevicePointer_v2(&place, pointer, 0),
                  "cuMemHostGetDevicePointer");
  return reinterpret_cast<std::atomic<uint32_t> *>(pointer);
}

CUstream Device::makeStream() {
  CUstream stream = nullptr;
  libraries.check(libraries.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                  "cuStreamCreate");
  streams.push_back(stream);
  return stream;
}

CUevent Device::makeEvent() {
  CUevent event = nullptr;
  libraries.check(libraries.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                  "cuEventCreate");
  events.push_back(event);
  return event;
}

void Device::load(const pmrt_device_code &code) {
  if (!code.num_images)
    return;
  // Machine code runs on later processors of its generation.
  const pmrt_image *best = nullptr, *text = nullptr;
  for (uint32_t i = 0; i < code.num_images; ++i) {
    const pmrt_image &image = code.images[i];
    auto processor = static_cast<int>(image.processor);
    if (!processor)
      text = &image;
    else if (processor / 10 == info.processor / 10 && processor <= info.processor &&
             (!best || image.processor > best->processor))
      best = &image;
  }
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (best)
    result = libraries.cuModuleLoadData(&module, best->data);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && text)
    result = libraries.cuModuleLoadData(&module, text->data);
  libraries.check(result, "GPU ", info.ordinal, " (", info.name, ", sm_",
                  info.processor, ") does not take the bundle's kernels, which are "
                  "for sm_80 and later");
}

CUfunction Device::function(const char *name) {
  CUfunction function = nullptr;
  libraries.check(libraries.cuModuleGetFunction(&function, module, name), "kernel '",
                  name, "' of the bundle");
  return function;
}

} // namespace pipemesh::cuda
