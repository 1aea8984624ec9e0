//===- Operations.h - what instructions compute ---------------------------===//

#ifndef PMRT_CUDA_EMULATE_OPERATIONS_H
#define PMRT_CUDA_EMULATE_OPERATIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace pmrt::ptx {

/// Computes from the bits of up to four operands.
using Function = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/// The function of an instruction that neither touches memory nor waits; null when
/// it is not known.
Function findFunction(const std::vector<std::string> &parts);

} // namespace pmrt::ptx

#endif
