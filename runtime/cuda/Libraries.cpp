//===- Libraries.cpp - NVIDIA's libraries, opened when a job runs ---------===//

#include "cuda/Libraries.h"

#include "cuda/Loading.h"

#include <cstdlib>

namespace pipemesh::cuda {

void Libraries::Closer::operator()(void *library) const { dlclose(library); }

void *openLibrary(const std::vector<const char *> &names, std::string &problem) {
  const char *folder = std::getenv("PIPEMESH_CUDA_LIBRARIES");
  problem.clear();
  for (const char *name : names) {
    std::string path = folder && *folder ? cat(folder, "/", name) : name;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    // The first name is the one that users know.
    if (problem.empty())
      problem = dlerror();
  }
  return nullptr;
}

Libraries::Libraries() {
  std::string problem;
  driver.reset(openLibrary({"libcuda.so.1"}, problem));
  if (!driver)
    fail("this bundle is for GPUs, but NVIDIA's driver cannot be loaded (", problem,
         "); run it where the driver is installed, or compile with --backend=host");
  blas.reset(openLibrary({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                  problem));
  if (!blas)
    fail("cuBLASLt cannot be loaded (", problem,
         "); install CUDA 13's cuBLAS, or name its folder in LD_LIBRARY_PATH");
#define PIPEMESH_RESOLVE(name, parameters)                                           \
  resolveSymbol(driver.get(), #name, "NVIDIA's driver", name);
  PIPEMESH_CUDA_DRIVER(PIPEMESH_RESOLVE)
#undef PIPEMESH_RESOLVE
#define PIPEMESH_RESOLVE(name, parameters)                                           \
  resolveSymbol(blas.get(), #name, "cuBLASLt", name);
  PIPEMESH_CUBLASLT(PIPEMESH_RESOLVE)
#undef PIPEMESH_RESOLVE
  nccl.reset(openLibrary({"libnccl.so.2", "libnccl.so"}, problem));
  if (!nccl) {
    ncclProblem = problem;
    return;
  }
#define PIPEMESH_RESOLVE(name, parameters) \
  resolveSymbol(nccl.get(), #name, "NCCL", name);
  PIPEMESH_NCCL(PIPEMESH_RESOLVE)
  PIPEMESH_NCCL_TEXTS(PIPEMESH_RESOLVE)
#undef PIPEMESH_RESOLVE
}

Libraries::~Libraries() {
  // Threads of the libraries may outlive the last call.
  (void)driver.release();
  (void)blas.release();
  (void)nccl.release();
}

const Cudnn &Libraries::cudnn() const {
  std::lock_guard lock(opening);
  if (!dnn)
    dnn = std::make_unique<Cudnn>();
  return *dnn;
}

std::string Libraries::textOf(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return cat(text ? text : "unknown error", " (", name ? name : "error ",
             name ? "" : std::to_string(result), ")");
}

std::string Libraries::ncclText(ncclResult_t result,
                                ncclComm_t communicator) const {
  const char *text = ncclGetErrorString(result);
  const char *last = ncclGetLastError(communicator);
  return cat(text ? text : "unknown error", last && *last ? cat(" (", last, ")") : "");
}

} // namespace pipemesh::cuda
