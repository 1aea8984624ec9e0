//===- Loading.h - Opens shared libraries of NVIDIA's ---------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_LOADING_H
#define PIPEMESH_RUNTIME_CUDA_LOADING_H

#include "core/Error.h"

#include <dlfcn.h>
#include <string>
#include <vector>

namespace pipemesh::cuda {

using runtime::cat;
using runtime::fail;

/// Opens the first of several names, from the folder that PIPEMESH_CUDA_LIBRARIES
/// names or as the system finds it; null, and why, where none is there.
void *openLibrary(const std::vector<const char *> &names, std::string &problem);

/// Throws where the library `of` has no such symbol.
template <typename Function>
void resolveSymbol(void *library, const char *name, const char *of,
                   Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    fail(of, " has no ", name, "; install a newer one");
}

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_LOADING_H
