//===- CpuTarget.h - processor, object files, linking -----------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_KERNELS_CPUTARGET_H
#define PIPEMESH_LOWER_KERNELS_CPUTARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace pipemesh {

/// The processor that kernels are compiled for.
struct CpuTarget {
  std::string triple;
  /// As LLVM names it, e.g. "znver3"; "native" is the processor of this
  /// machine.
  std::string cpu;
  /// Features as LLVM spells them, each with its sign: "+avx2".
  std::vector<std::string> features;
  /// float32 elements in a vector register.
  unsigned vectorWidth = 8;
  /// 0 to 3, as in -O3.
  unsigned optimizationLevel = 3;

  /// This machine, with all of its features.
  static CpuTarget getHost();

  /// Resolves a name and features ("+avx512f,-fma") given by the user; an empty
  /// or "native" name is this machine. `vectorWidth` 0 takes the widest that
  /// the features have. Fails on a name that LLVM does not know.
  static llvm::Expected<CpuTarget>
  get(llvm::StringRef cpu, llvm::StringRef features, unsigned vectorWidth);
};

/// Optimises the module and writes it as a relocatable object file.
llvm::Error emitObject(llvm::Module &module, const CpuTarget &target,
                       llvm::StringRef path);

/// Links objects to a shared object with the LLD of the LLVM in use, or the
/// `ld.lld` on PATH.
llvm::Error linkSharedObject(llvm::ArrayRef<std::string> objects,
                             llvm::StringRef path);

} // namespace pipemesh

#endif // PIPEMESH_LOWER_KERNELS_CPUTARGET_H
