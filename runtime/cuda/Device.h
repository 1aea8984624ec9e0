//===- Device.h - A rank's GPU: memory, streams, code ---------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_DEVICE_H
#define PIPEMESH_RUNTIME_CUDA_DEVICE_H

#include "cuda/Libraries.h"
#include "pmrt/pmrt.h"

#include <atomic>
#include <map>
#include <vector>

namespace pipemesh::cuda {

/// What is known of a GPU.
struct DeviceInfo {
  int ordinal = 0;
  std::string name, bus; ///< PCI address
  int processor = 0;     ///< 90 for sm_90
  int multiprocessors = 0;
  uint64_t freeBytes = 0, totalBytes = 0;
};

/// A GPU as one rank uses it. All functions are called by the rank's thread, but
/// where said otherwise; the calling thread needs the context, see `enter`.
class Device {
public:
  /// Takes the GPU of this number. Throws an Error that says which there are.
  Device(const Libraries &libraries, int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &getInfo() const { return info; }

  /// Makes the context that of the calling thread.
  void enter() const;

  /// Zeroed memory for the life of the device. Throws an Error with the bytes
  /// that are free where there is less.
  CUdeviceptr allocate(uint64_t bytes, const char *use);
  /// Zeroed memory that both sides see; the address on the device is in `place`.
  std::atomic<uint32_t> *allocateShared(uint32_t words, CUdeviceptr &place);
  /// Memory of the host that copies go through without another copy.
  std::byte *allocatePinned(uint64_t bytes);

  CUstream makeStream();
  CUevent makeEvent();

  /// Loads the best of the images: machine code of this processor's generation,
  /// else the text.
  void load(const pmrt_device_code &code);
  CUfunction function(const char *name);

  const Libraries &libraries;

private:
  DeviceInfo info;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::vector<CUdeviceptr> memory;
  std::vector<void *> hostMemory;
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
};

/// The number of GPUs; throws where the driver finds none.
int countDevices(const Libraries &libraries);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_DEVICE_H
