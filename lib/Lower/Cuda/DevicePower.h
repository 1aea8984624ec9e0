//===- DevicePower.h - powf on a GPU ----------------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_CUDA_DEVICEPOWER_H
#define PIPEMESH_LIB_LOWER_CUDA_DEVICEPOWER_H

namespace llvm {
class Module;
}

namespace pipemesh {

/// Defines `powf` where the module calls it. The optimizers' corrections need it, so
/// that a model's kernels do without the device library of a toolkit.
///
/// x^y = 2^(y log2 x) in float64: the logarithm of x = m 2^e, m in [sqrt(1/2),
/// sqrt(2)), by the series of artanh((m - 1) / (m + 1)), the power by that of exp,
/// both to less than 1e-13, so that the float32 is the nearest one but for ties. The
/// special cases are those of C (ISO C, F.10.4.4).
void definePower(llvm::Module &module);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_CUDA_DEVICEPOWER_H
