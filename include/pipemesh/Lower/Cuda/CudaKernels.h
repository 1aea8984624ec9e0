//===- CudaKernels.h - the GPU kernels of a program -------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_CUDA_CUDAKERNELS_H
#define PIPEMESH_LOWER_CUDA_CUDAKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace pipemesh {

/// Writes the kernels of a runtime program (`pmrt.role`s and the functions that
/// they call) into a folder, each distinct one once:
///
///   kernels.mlir          functions of the gpu dialect
///   kernels.ptx           text for any processor from sm_80 on
///   kernels.sm_80.cubin   machine code, and kernels.sm_90.cubin; where a toolkit
///                         has an assembler
///   kernels.json          how each is launched, what it takes, and the launches of
///                         each body
///
/// On failure a diagnostic names the ops without code and their number, or what
/// went wrong.
mlir::LogicalResult writeCudaKernels(mlir::ModuleOp module,
                                     const std::string &folder);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_CUDA_CUDAKERNELS_H
