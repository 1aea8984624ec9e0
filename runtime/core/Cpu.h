//===- Cpu.h - What the processor of this machine can do ------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_CPU_H
#define PIPEMESH_RUNTIME_CORE_CPU_H

#include <set>
#include <string>
#include <vector>

namespace pipemesh::runtime {

/// The flags that the kernel reports in /proc/cpuinfo.
std::set<std::string> hostCpuFlags();

/// Those of LLVM's `features` ("avx2", "+avx512f"; "-x" asks for nothing) that
/// a processor with the given flags lacks, unknown ones included. Features of
/// the system, which no instruction of a kernel depends on, are not looked at.
std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &features,
                   const std::set<std::string> &flags);

/// "x86_64", "aarch64", as the first part of a target triple spells it.
std::string hostArchitecture();

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_CPU_H
