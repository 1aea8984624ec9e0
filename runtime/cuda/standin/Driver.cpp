//===- Driver.cpp - libcuda.so.1: devices, contexts, memory, modules ------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <cstdio>
#include <cstring>

namespace pipemesh::cuda {

using namespace standin;

namespace {

struct ErrorName {
  CUresult error;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE",
     "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     "unspecified launch failure"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorName *nameOf(CUresult error) {
  for (const ErrorName &entry : kErrors)
    if (entry.error == error)
      return &entry;
  return nullptr;
}

CUresult copyText(char *to, int length, const std::string &text) {
  if (!to || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, length, "%s", text.c_str());
  return CUDA_SUCCESS;
}

bool isDevice(int device) { return device >= 0 && device < options().devices; }

} // namespace

extern "C" {

CUresult cuInit(unsigned) {
  Call call("cuInit");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  objects().isInitialized = true;
  return call.done();
}

CUresult cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion");
  if (call.fails())
    return call.failed();
  *version = 13000;
  return call.done();
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  const ErrorName *entry = nameOf(error);
  *text = entry ? entry->name : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  const ErrorName *entry = nameOf(error);
  *text = entry ? entry->text : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  if (call.fails())
    return call.failed();
  if (!objects().isInitialized)
    return call.done(kNotInitialized);
  *count = options().devices;
  return call.done();
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  Call call("cuDeviceGet");
  if (call.fails())
    return call.failed();
  if (!objects().isInitialized)
    return call.done(kNotInitialized);
  if (!isDevice(ordinal))
    return call.done(101);
  *device = ordinal;
  return call.add("device", ordinal).done();
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  Call call("cuDeviceGetName");
  if (call.fails())
    return call.failed();
  if (!isDevice(device))
    return call.done(101);
  return call.done(copyText(name, length, "stand-in for a device"));
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  Call call("cuDeviceGetAttribute");
  if (call.fails())
    return call.failed();
  if (!isDevice(device))
    return call.done(101);
  call.add("attribute", attribute);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = options().capability >= 90 ? 132 : 108;
    return call.done();
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = options().capability / 10;
    return call.done();
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = options().capability % 10;
    return call.done();
  default:
    return call.done(CUDA_ERROR_INVALID_VALUE);
  }
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  Call call("cuDeviceGetPCIBusId");
  if (call.fails())
    return call.failed();
  if (!isDevice(device))
    return call.done(101);
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", (0x10 + device) & 0xff);
  return call.done(copyText(id, length, text));
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice from,
                                 CUdevice to) {
  Call call("cuDeviceGetP2PAttribute");
  if (call.fails())
    return call.failed();
  call.add("attribute", attribute).add("from", from).add("to", to);
  if (!isDevice(from) || !isDevice(to))
    return call.done(101);
  if (from == to)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
               ? options().hasLinks
               : attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
  return call.done();
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().isInitialized)
    return call.done(kNotInitialized);
  if (!isDevice(device))
    return call.done(101);
  CUctx_st &made = objects().contexts[device];
  made.device = device;
  ++made.uses;
  *context = &made;
  return call.add("device", device).done();
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call("cuDevicePrimaryCtxRelease_v2");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  auto it = objects().contexts.find(device);
  if (it == objects().contexts.end() || it->second.uses == 0)
    return call.done(kInvalidContext);
  --it->second.uses;
  return call.add("device", device).done();
}

CUresult cuCtxSetCurrent(CUcontext context) {
  Call call("cuCtxSetCurrent");
  if (call.fails())
    return call.failed();
  call.who.context = context;
  if (context)
    call.add("device", context->device);
  return call.done();
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call("cuMemGetInfo_v2");
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  std::lock_guard guard(theLock());
  *total = options().memory;
  *free = options().memory - call.who.context->bytes;
  return call.done();
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  Call call("cuMemAlloc_v2");
  call.add("bytes", bytes);
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  std::lock_guard guard(theLock());
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  if (bytes == 0)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  uint64_t address = allocate(call.who.context, bytes);
  if (!address)
    return call.done(CUDA_ERROR_OUT_OF_MEMORY);
  *pointer = address;
  return call.add("address", address).done();
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Call call("cuMemFree_v2");
  call.add("address", pointer);
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  if (pointer && !release(pointer, false))
    return call.done(CUDA_ERROR_INVALID_VALUE);
  return call.done();
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  Call call("cuMemHostAlloc");
  call.add("bytes", bytes);
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  std::lock_guard guard(theLock());
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  uint64_t address = bytes ? allocatePinned(call.who.context, bytes) : 0;
  if (!address)
    return call.done(bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
  *pointer = hostOf(address);
  return call.add("host", address).add("device", address).done();
}

CUresult cuMemFreeHost(void *pointer) {
  Call call("cuMemFreeHost");
  call.add("host", reinterpret_cast<uint64_t>(pointer));
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  if (!release(reinterpret_cast<uint64_t>(pointer), true))
    return call.done(CUDA_ERROR_INVALID_VALUE);
  return call.done();
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pointer, void *host, unsigned) {
  Call call("cuMemHostGetDevicePointer_v2");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!isPinned(host, 1))
    return call.done(CUDA_ERROR_INVALID_VALUE);
  *pointer = reinterpret_cast<uint64_t>(host);
  return call.add("host", *pointer).add("device", *pointer).done();
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  Call call("cuModuleLoadData");
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  if (!module || !image)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  auto read = std::make_shared<Image>();
  std::string problem;
  CUresult result = readImage(image, *read, problem);
  std::lock_guard guard(theLock());
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  call.add("kind", std::string(read->isText ? "ptx" : "cubin"))
      .add("bytes", read->bytes);
  if (result) {
    call.done(result);
    if (!problem.empty())
      complain(call.who, call.line, problem);
    return result;
  }
  CUmodule made = objects().modules.make();
  made->image = read;
  *module = made;
  return call.add("module", made->number).done();
}

CUresult cuModuleUnload(CUmodule module) {
  Call call("cuModuleUnload");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().modules.has(module))
    return call.done(kInvalidHandle);
  call.add("module", module->number);
  for (auto &[name, function] : module->functions)
    objects().functions.drop(function);
  objects().modules.drop(module);
  return call.done();
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  Call call("cuModuleGetFunction");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().modules.has(module))
    return call.done(kInvalidHandle);
  call.add("module", module->number).add("name", std::string(name));
  auto it = module->image->kernels.find(name);
  if (it == module->image->kernels.end())
    return call.done(CUDA_ERROR_NOT_FOUND);
  CUfunction &made = module->functions[name];
  if (!made) {
    made = objects().functions.make();
    made->name = name;
    made->parameters = it->second;
    made->image = module->image;
  }
  *function = made;
  return call.add("function", made->number).done();
}

} // extern "C"

} // namespace pipemesh::cuda
