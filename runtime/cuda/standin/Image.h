//===- Image.h - a module's machine code or text --------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_IMAGE_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_IMAGE_H

#include "cuda/Api.h"
#include "cuda/emulate/Emulator.h"

#include <map>
#include <memory>
#include <string>

namespace pipemesh::cuda::standin {

struct Image {
  bool isText = false;
  uint64_t bytes = 0;
  /// How many parameters each kernel has, all of eight bytes.
  std::map<std::string, int> kernels;
  /// Of a text in compute mode.
  std::unique_ptr<pmrt::ptx::Emulator> emulator;
};

/// Reads a cubin or a text that ends with a zero; the size is in it.
CUresult readImage(const void *image, Image &made, std::string &problem);

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_IMAGE_H
